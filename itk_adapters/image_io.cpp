// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/image_io.hpp"

namespace quietvox {

std::unique_ptr<io::Image> open_itk_image(const std::filesystem::path&) { return nullptr; }

}  // namespace quietvox
