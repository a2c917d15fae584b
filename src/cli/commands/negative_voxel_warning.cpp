// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/negative_voxel_warning.hpp"

#include <algorithm>

namespace quietvox::cli {

void NegativeVoxelWarning::look_at(VolumeView<const float> clean) {
  if (!makes_magnitudes(kind_) && kind_ != NoiseKind::poisson) return;
  negative_ += std::count_if(clean.data, clean.data + clean.extent.voxels(), [](float voxel) { return voxel < 0; });
}

void NegativeVoxelWarning::warn(Console& console) const {
  if (negative_ == 0) return;
  console.warning(std::to_string(negative_) + (negative_ == 1 ? " voxel was" : " voxels were") + " negative; " +
                  FieldType<NoiseKind>::format(kind_) +
                  (makes_magnitudes(kind_) ? " noise is that of magnitudes, and the sign is lost"
                                           : " noise is that of counts, and none was added there"));
}

}  // namespace quietvox::cli
