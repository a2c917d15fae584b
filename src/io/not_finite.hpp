// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/error.hpp"

namespace quietvox::io {

/// For voxels that are no numbers, or infinite, where an integer type such as `int16` is to hold them.
inline Error not_finite(const std::string& type) {
  return {Errc::unsupported, "the image holds voxels that are not finite, which " + type + " cannot store",
          "use float32"};
}

}  // namespace quietvox::io
