// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "io/image.hpp"

namespace quietvox::io {

/// All that a file says of where a volume lies, Image::geometry() first: NIfTI may say it twice, by sform and qform.
std::vector<Geometry> geometries(const Image&, std::size_t volume);

}  // namespace quietvox::io
