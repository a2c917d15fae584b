// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/pipeline.hpp"
#include "phantom/noise.hpp"

namespace quietvox {

/// Adds noise of any kind to a volume, a few slices at a time. What it adds depends on the seed and the clean volume
/// only, not on threads or on how the volume is cut.
class NoiseAdder {
 public:
  /// Reads `clean`, which must outlive this, for its extremes and for where the object is: the voxels that are brighter
  /// than the darkest by more than a twentieth of the range.
  NoiseAdder(VolumeSource& clean, const NoiseParams&, const Execution&);
  ~NoiseAdder();

  /// Adds to slices that `clean` delivered. Missing voxels stay as they are. Ascending order is cheapest.
  void add(VolumeView<float> slices);

  class Kind;

 private:
  std::unique_ptr<Kind> kind_;
};

}  // namespace quietvox
