// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/image_io.hpp"

#include <algorithm>
#include <array>

namespace quietvox {

bool is_itk_image_name(const std::filesystem::path& path) {
  static constexpr std::array endings{".nrrd", ".nhdr", ".mha", ".mhd"};
  return std::find(endings.begin(), endings.end(), path.extension()) != endings.end();
}

std::unique_ptr<io::Image> open_itk_image(const std::filesystem::path&) { return nullptr; }

std::unique_ptr<io::ImageWriter> create_itk_image(const std::filesystem::path& output, const io::Geometry&, std::size_t,
                                                  const io::WriteOptions&) {
  throw Error(Errc::output_path, output.string() + ": NRRD and MetaImage files cannot be written yet");
}

}  // namespace quietvox
