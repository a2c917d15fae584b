// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"

namespace quietvox::io {

std::string to_string(Format format) {
  switch (format) {
    case Format::dicom: return "DICOM";
    case Format::nifti: return "NIfTI";
    case Format::nrrd: return "NRRD";
    case Format::metaimage: return "MetaImage";
  }
  return "";
}

std::unique_ptr<Image> open_image(const std::filesystem::path& path, const ReadOptions& options) {
  if (!std::filesystem::exists(path)) {
    throw Error(Errc::input_path, path.string() + ": no such file or folder");
  }
  if (auto image = open_nifti(path)) return image;
  return open_dicom(path, options);
}

}  // namespace quietvox::io
