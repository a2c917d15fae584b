// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/image.hpp"

namespace quietvox {

/// Opens an NRRD or MetaImage file through ITK. Null where the content is neither.
std::unique_ptr<io::Image> open_itk_image(const std::filesystem::path&);

}  // namespace quietvox
