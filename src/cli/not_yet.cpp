// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"

// Holds the place of writers that are on their way; theirs win.
namespace quietvox::io {

__attribute__((weak)) std::unique_ptr<ImageWriter> create_dicom(const std::filesystem::path&, const Geometry&,
                                                                std::string, const WriteOptions&) {
  throw Error(Errc::unsupported, "new DICOM series cannot be written yet");
}

}  // namespace quietvox::io
