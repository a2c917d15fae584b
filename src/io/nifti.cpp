// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"

namespace quietvox::io {
std::unique_ptr<Image> open_nifti(const std::filesystem::path&) { return nullptr; }
}  // namespace quietvox::io
