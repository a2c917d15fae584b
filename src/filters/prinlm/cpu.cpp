// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/prinlm.hpp"

#include <algorithm>
#include <any>
#include <cmath>
#include <numbers>
#include <vector>

#include "filters/common/tiles.hpp"
#include "filters/common/two_passes.hpp"
#include "filters/common/unfiltered_voxels.hpp"
#include "filters/prinlm/kernel.hpp"

namespace quietvox {
namespace {

using namespace prinlm_kernel;

constexpr Extent largest_tile{{128, 8, 8}};
constexpr double usual_strength = 0.45;  // best for white noise

struct Scratch {
  Region region;
  std::vector<float> changes;
};

Extent seen(const Extent& tile, Radius3 search) {
  return {{tile.x + 2 * search.x, tile.y + 2 * search.y, tile.z + 2 * search.z}};
}

/// The mean of a voxel of the guide and its neighbours along the axes that are searched.
float local_mean(const VolumeView<const float>& guide, std::int64_t x, std::int64_t y, std::int64_t z,
                 const Radius3& search) {
  const float centre = guide.at(x, y, z);
  const auto neighbour = [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    if (i < 0 || i >= guide.extent.x || j < 0 || j >= guide.extent.y || k < 0 || k >= guide.extent.z) return centre;
    const float value = guide.at(i, j, k);
    return std::isfinite(value) ? value : centre;
  };
  const float along_x = search.x > 0 ? neighbour(x - 1, y, z) + neighbour(x + 1, y, z) : 2 * centre;
  const float along_y = search.y > 0 ? neighbour(x, y - 1, z) + neighbour(x, y + 1, z) : 2 * centre;
  const float along_z = search.z > 0 ? neighbour(x, y, z - 1) + neighbour(x, y, z + 1) : 2 * centre;
  return 0.125F * (((2 * centre + along_x) + along_y) + along_z);
}

/// Fills what windows of the tile see.
void fill(const VolumeView<const float>& in, const VolumeView<const float>& guide, const Tile& tile,
          const PrinlmParams& params, Region& region) {
  const Radius3 search = *params.search_radius;
  const Extent size{{tile.last.x - tile.first.x, tile.last.y - tile.first.y, tile.last.z - tile.first.z}};
  region.reset(seen(size, search));
  const double scale = std::sqrt(std::numbers::log2e) / params.h();
  const auto of_centre = static_cast<float>(std::min(scale / 2, 1e38)),
             of_mean = static_cast<float>(std::min(scale, 1e38));
  constexpr float limit = 3e38F;
  for (std::int64_t z = 0; z < region.size.z; ++z) {
    const std::int64_t at_z = tile.first.z - search.z + z;
    if (at_z < in.origin.z || at_z >= in.origin.z + in.extent.z) continue;
    for (std::int64_t y = 0; y < region.size.y; ++y) {
      const std::int64_t at_y = tile.first.y - search.y + y;
      if (at_y < in.origin.y || at_y >= in.origin.y + in.extent.y) continue;
      const std::int64_t from = tile.first.x - search.x, row = region.row(y, z);
      const std::int64_t first = std::max(in.origin.x, from),
                         last = std::min(in.origin.x + in.extent.x, from + region.size.x);
      for (std::int64_t x = first; x < last; ++x) {
        const float voxel = in.at(x - in.origin.x, at_y - in.origin.y, at_z - in.origin.z);
        if (!std::isfinite(voxel)) continue;
        const Index3 p{x - guide.origin.x, at_y - guide.origin.y, at_z - guide.origin.z};
        const auto place = static_cast<std::size_t>(row + x - from);
        region.value[place] = voxel;
        region.centre[place] = std::clamp(guide.at(p.x, p.y, p.z) * of_centre, -limit, limit);
        region.mean[place] = std::clamp(local_mean(guide, p.x, p.y, p.z, search) * of_mean, -limit, limit);
      }
    }
  }
}

void filter_tile(const VolumeView<const float>& in, const VolumeView<const float>& guide, const VolumeView<float>& out,
                 const Tile& tile, const PrinlmParams& params, Scratch& scratch) {
  fill(in, guide, tile, params, scratch.region);
  const std::int64_t count = tile.last.x - tile.first.x;
  scratch.changes.resize(static_cast<std::size_t>(count + slack));
  for (std::int64_t z = tile.first.z; z < tile.last.z; ++z) {
    for (std::int64_t y = tile.first.y; y < tile.last.y; ++y) {
      filter_row(scratch.region, *params.search_radius, y - tile.first.y, z - tile.first.z, count,
                 scratch.changes.data());
      const float* const original = in.row(y - in.origin.y, z - in.origin.z) + (tile.first.x - in.origin.x);
      float* const results = out.row(y - out.origin.y, z - out.origin.z) + (tile.first.x - out.origin.x);
      for (std::int64_t x = 0; x < count; ++x) {
        const float voxel = original[x];
        results[x] = std::isfinite(voxel) ? voxel + scratch.changes[static_cast<std::size_t>(x)] + 0.0F : voxel;
      }
    }
  }
}

void average_alike(const VolumeView<const float>& in, const VolumeView<const float>& guide,
                   const VolumeView<float>& out, const PrinlmParams& params, const Execution& execution) {
  for_each_tile(
      out, largest_tile, execution, [] { return Scratch(); },
      [&](Scratch& scratch, const Tile& tile) { filter_tile(in, guide, out, tile, params, scratch); });
}

/// The guide, and then the averages, for one piece of a volume after another.
class PrinlmRun {
 public:
  PrinlmRun(const VolumeView<const float>& in, const VolumeView<float>& out, const PrinlmParams& params)
      : params_(params), guides_(in, out, params.reach()) {}

  void make(const VolumeView<const float>& in, const VolumeView<float>& out, const Execution& execution) {
    const bool by_bm4d = params_.guide == PrinlmGuide::bm4d;
    const double share = by_bm4d ? 0.8 : 0.2;  // of the time
    const VolumeView<const float> guide = guides_.slices(in, out, [&](const VolumeView<float>& slices) {
      Execution of_guide = execution.part(0, share);
      of_guide.kept = &kept_by_guide_;
      if (by_bm4d) {
        bm4d_cpu(in, slices, params_.bm4d, of_guide);
      } else {
        dct_cpu(in, slices, params_.dct, of_guide);
      }
    });
    average_alike(in, guide, out, params_, execution.part(share, 1));
  }

 private:
  PrinlmParams params_;
  Intermediate guides_;
  std::any kept_by_guide_;
};

}  // namespace

PrinlmParams PrinlmParams::resolved(const VolumeFacts& facts) const {
  PrinlmParams params = *this;
  if (search_radius) {
    params.search_radius = flattened(*search_radius, facts.extent);
  } else {
    params.search_radius = facts.default_radius(facts.takes_part(2) ? 4 : 7, 15);
  }
  if (guide == PrinlmGuide::dct) {
    std::optional<NoiseModel> noise;
    VolumeFacts of_guide = facts;
    if (facts.noise) of_guide.noise = [&] { return noise ? *noise : noise.emplace(facts.noise()); };
    params.dct = DctParams{sigma, guide_strength, guide_block}.resolved(of_guide);
    params.sigma = params.dct.sigma;
    params.guide_block = params.dct.block;
    if (strength) return params;
    if (sigma) {
      params.strength = usual_strength;
    } else if (const auto measured = of_guide.noise_for("strength")) {
      // What is weaker than the noise is no ridge to be worn.
      const double sigma_of_noise = measured->trusted_sigma(), coarse = *params.sigma;
      const double clear = coarse > 0 ? std::clamp(measured->contrast / sigma_of_noise - 1, 0.0, 1.0) : 0;
      params.strength = usual_strength * (clear > 0 ? std::pow(sigma_of_noise / coarse, 0.5 * clear) : 1);
    }
  } else {
    params.bm4d.sigma = sigma;
    params.bm4d.strength = guide_strength;
    params.bm4d.block = guide_block;
    params.bm4d = params.bm4d.resolved(facts);
    params.sigma = params.bm4d.sigma;
    params.guide_block = params.bm4d.block;
    if (!strength) params.strength = usual_strength;
  }
  return params;
}

std::size_t PrinlmParams::working_bytes(const Extent& extent, int threads) const {
  const std::size_t region = 3 * static_cast<std::size_t>(seen(largest_tile, *search_radius).voxels()) * sizeof(float);
  return Intermediate::bytes(extent, reach()) + static_cast<std::size_t>(threads) * region +
         (guide == PrinlmGuide::dct ? dct.working_bytes(extent, threads) : bm4d.working_bytes(extent, threads));
}

void prinlm_cpu(VolumeView<const float> in, VolumeView<float> out, const PrinlmParams& params,
                const Execution& execution) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_unfiltered(in, out);
    return;
  }
  run_or_go_on<PrinlmRun>(in, out, params, execution);
}

}  // namespace quietvox
