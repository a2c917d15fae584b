// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"

namespace quietvox::io {
std::unique_ptr<Image> open_dicom(const std::filesystem::path&, const ReadOptions&) { return nullptr; }
}  // namespace quietvox::io
