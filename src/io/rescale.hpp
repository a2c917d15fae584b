// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::io {

/// Real value = slope * stored + inter.
struct Rescale {
  double slope = 1, inter = 0;
  bool identity() const { return slope == 1 && inter == 0; }
};

}  // namespace quietvox::io
