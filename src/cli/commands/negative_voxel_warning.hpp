// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cli/console.hpp"
#include "phantom/noise.hpp"

namespace quietvox::cli {

/// Counts the negative voxels that get noise of magnitudes or counts, which is not defined for them.
class NegativeVoxelWarning {
 public:
  explicit NegativeVoxelWarning(NoiseKind kind) : kind_(kind) {}
  /// Voxels without their noise.
  void look_at(VolumeView<const float>);
  void warn(Console&) const;

 private:
  NoiseKind kind_;
  std::int64_t negative_ = 0;
};

}  // namespace quietvox::cli
