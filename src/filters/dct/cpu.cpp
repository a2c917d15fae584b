// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/dct.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "filters/common/tiles.hpp"
#include "filters/common/two_passes.hpp"
#include "filters/common/unfiltered_voxels.hpp"
#include "filters/dct/kernel.hpp"

namespace quietvox {
namespace {

using namespace dct_kernel;

/// Fills the output of a pass.
void run_pass(const Pass& pass, const Execution& execution) {
  for_each_tile(
      pass.out, largest_tile(pass.lengths), execution, [] { return Scratch(); },
      [&](Scratch& scratch, const Tile& tile) { filter_tile(pass, tile, scratch); });
}

float rate_of(double threshold) {
  return static_cast<float>(std::min<double>(1 / threshold, std::numeric_limits<float>::max()));
}

/// Both passes, for one piece of a volume after another.
class DctRun {
 public:
  DctRun(const VolumeView<const float>& in, const VolumeView<float>& out, const DctParams& params)
      : params_(params), basic_(in, out, params.reach()) {}

  void make(const VolumeView<const float>& in, const VolumeView<float>& out, const Execution& execution) {
    const VolumeView<const float> oracle = basic_.slices(in, out, [&](const VolumeView<float>& slices) {
      run_pass({in, nullptr, slices, params_.lengths, rate_of(DctParams::first_threshold * params_.h())},
               execution.part(0, 0.5));
    });
    run_pass({in, &oracle, out, params_.lengths, rate_of(params_.h())}, execution.part(0.5, 1));
  }

 private:
  DctParams params_;
  Intermediate basic_;
};

}  // namespace

DctParams DctParams::resolved(const VolumeFacts& facts) const {
  DctParams params = *this;
  constexpr double thick = 5;  // chris_t1 with its slices averaged by n: cubes win at 4, squares at 6
  if (!block) params.block = default_block(facts, thick);
  params.lengths = block_lengths(*params.block, facts.extent);
  if (const auto noise = sigma ? std::nullopt : facts.noise_for("sigma")) {
    params.sigma = noise->coarse_sigma(params.lengths);
  }
  return params;
}

std::size_t DctParams::working_bytes(const Extent& extent, int threads) const {
  return Intermediate::bytes(extent, reach()) + static_cast<std::size_t>(threads) * scratch_bytes(lengths);
}

void dct_cpu(VolumeView<const float> in, VolumeView<float> out, const DctParams& params, const Execution& execution) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_unfiltered(in, out);
    return;
  }
  run_or_go_on<DctRun>(in, out, params, execution);
}

}  // namespace quietvox
