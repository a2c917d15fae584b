// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>

#include "filters/bm4d/restore_small_features.hpp"
#include "filters/bm4d/stage_setup.hpp"
#include "filters/common/two_passes.hpp"
#include "filters/common/unfiltered_voxels.hpp"

namespace quietvox {
namespace {

using namespace bm4d_kernel;

/// References of a tile along each axis.
constexpr Extent tile_references{{16, 4, 2}};
/// Layers of references, along z, that are grouped before results are written.
constexpr std::size_t layers_together = 4;

/// One stage, for one slab of results after another: what groups say about slices that are not complete yet is kept.
class StageRun {
 public:
  /// Of results that lie in `place` and beyond it along z.
  StageRun(const Bm4dParams& params, const Stage& stage, const VolumeView<const float>& place)
      : stage_(stage), origin_(place.origin), extent_(place.extent), done_(place.origin.z) {
    extent_.z = params.volume.z - origin_.z;
    for (int axis = 0; axis < 3; ++axis) {
      places_[axis] = reference_places(params, axis, origin_[axis], origin_[axis] + extent_[axis]);
    }
    slices_ = held_slices(params, extent_);
    const auto voxels = static_cast<std::size_t>(slices_ * extent_.slice());
    changes_.resize(voxels);
    weights_.resize(voxels);
    locks_ = std::deque<std::mutex>(static_cast<std::size_t>(slices_));
  }

  static std::size_t bytes(const Bm4dParams& params, const Extent& extent) {
    return static_cast<std::size_t>(held_slices(params, extent) * extent.slice()) * 2 * sizeof(double);
  }

  /// Fills `out`, the slices after those of the call before. References are compared by `pilot`. It and `noisy` hold
  /// all that lies within the reach of `out`, as far as the volume goes.
  void make(const VolumeView<const float>& noisy, const VolumeView<const float>& pilot, const VolumeView<float>& out,
            const Execution& execution) {
    stage_.noisy = noisy;
    stage_.pilot = pilot;
    const std::int64_t last = out.origin.z + out.extent.z, begin = done_;
    while (done_ < last) {
      std::size_t until = layer_;  // layers that the slices before `last` wait for
      while (until < places_[2].size() && until < layer_ + layers_together &&
             places_[2][until] - stage_.search.z < last) {
        ++until;
      }
      const auto fraction = [&](std::int64_t z) {
        return static_cast<double>(z - begin) / static_cast<double>(last - begin);
      };
      const bool more = until < places_[2].size();
      const std::int64_t complete = more ? std::min(places_[2][until] - stage_.search.z, last) : last;
      group_layers(until, execution.part(fraction(done_), fraction(std::max(complete, done_))));
      layer_ = until;
      if (complete > done_) write(complete, out, execution);
    }
  }

 private:
  /// Of results of this extent.
  static std::int64_t held_slices(const Bm4dParams& params, const Extent& extent) {
    const std::int64_t grouped =
        params.step(2) * static_cast<std::int64_t>(layers_together) + 2 * params.search_radius->z + params.lengths.z;
    return std::min(grouped, extent.z);
  }
  std::int64_t slot(std::int64_t z) const { return z % slices_; }

  /// The groups of the layers of references from layer_ on.
  void group_layers(std::size_t until, const Execution& execution) {
    const auto count = [](std::size_t places, std::int64_t together) {
      return (static_cast<std::int64_t>(places) + together - 1) / together;
    };
    const Extent tiles{{count(places_[0].size(), tile_references.x), count(places_[1].size(), tile_references.y),
                        count(until - layer_, tile_references.z)}};
    parallel_for_with_scratch(
        execution, tiles.voxels(), [] { return Scratch(); },
        [&](Scratch& scratch, std::int64_t i) {
          const auto part = [](const Places& places, std::int64_t index, std::int64_t together, std::size_t end) {
            const auto first = static_cast<std::size_t>(index * together);
            return std::span(places).subspan(first, std::min(static_cast<std::size_t>(together), end - first));
          };
          const Tile tile{part(places_[0], i % tiles.x, tile_references.x, places_[0].size()),
                          part(places_[1], i / tiles.x % tiles.y, tile_references.y, places_[1].size()),
                          std::span(places_[2])
                              .subspan(layer_, until - layer_)
                              .subspan(static_cast<std::size_t>(i / tiles.slice() * tile_references.z))};
          Tile cut = tile;
          cut.z = tile.z.first(std::min(tile.z.size(), static_cast<std::size_t>(tile_references.z)));
          filter_tile(stage_, cut, scratch);
          add(scratch.sums);
        });
  }

  /// Adds what the groups of a tile say. The sums are exact: their order does not matter.
  void add(const Sums& sums) {
    Index3 first, last;
    for (int axis = 0; axis < 3; ++axis) {
      first[axis] = std::max(sums.origin[axis], axis == 2 ? done_ : origin_[axis]);
      last[axis] = std::min(sums.origin[axis] + sums.extent[axis], origin_[axis] + extent_[axis]);
    }
    for (std::int64_t z = first.z; z < last.z; ++z) {
      const std::lock_guard lock(locks_[static_cast<std::size_t>(slot(z))]);
      for (std::int64_t y = first.y; y < last.y; ++y) {
        const std::int64_t from = sums.row(y - sums.origin.y, z - sums.origin.z) + first.x - sums.origin.x;
        const std::int64_t to = slot(z) * extent_.slice() + (y - origin_.y) * extent_.x + first.x - origin_.x;
        for (std::int64_t x = 0; x < last.x - first.x; ++x) {
          changes_[static_cast<std::size_t>(to + x)] += sums.changes[static_cast<std::size_t>(from + x)];
          weights_[static_cast<std::size_t>(to + x)] += sums.weights[static_cast<std::size_t>(from + x)];
        }
      }
    }
  }

  /// Writes the slices from done_ to `until`, and makes room for others.
  void write(std::int64_t until, const VolumeView<float>& out, const Execution& execution) {
    const std::int64_t first = done_;
    const VolumeView<const float>& in = stage_.noisy;
    parallel_for(execution.silent(), (until - first) * extent_.y, 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t y = row % extent_.y, z = first + row / extent_.y;
        const auto from = static_cast<std::size_t>(slot(z) * extent_.slice() + y * extent_.x);
        const float* const voxels = in.row(y + origin_.y - in.origin.y, z - in.origin.z) + (origin_.x - in.origin.x);
        float* const results = out.row(y, z - out.origin.z);
        for (std::int64_t x = 0; x < extent_.x; ++x) {
          double &change = changes_[from + static_cast<std::size_t>(x)],
                 &weight = weights_[from + static_cast<std::size_t>(x)];
          const bool changes = weight > 0 && std::isfinite(voxels[x]);
          const double bounded = bounded_change(change / weight, stage_.most_change);
          results[x] = changes ? static_cast<float>(static_cast<double>(voxels[x]) + bounded) : voxels[x];
          results[x] += 0.0F;
          change = weight = 0;
        }
      }
    });
    done_ = until;
  }

  Stage stage_;
  Index3 origin_;
  Extent extent_;
  Places places_[3];
  std::size_t layer_ = 0;    ///< of references that are not grouped yet
  std::int64_t done_;        ///< slices before are written
  std::int64_t slices_ = 0;  ///< held in a ring
  std::vector<double> changes_, weights_;
  std::deque<std::mutex> locks_;  ///< of the slices of the ring
};

/// One stage or both, and then what is put back, for one piece of a volume after another.
class Bm4dRun {
 public:
  Bm4dRun(const VolumeView<const float>& in, const VolumeView<float>& out, const Bm4dParams& params)
      : params_(params),
        of_wavelets_(covariances(Basis::wavelets)),
        first_(params_, make_stage(params_, in, false, of_wavelets_),
               expanded(out, params_.stages == 2 ? params_.halo_of(1) : params_.neighbours(), in)),
        filtered_(in, out, params_.neighbours()) {
    if (params_.stages == 1) return;
    of_cosines_.emplace(covariances(Basis::cosines));
    second_.emplace(params_, make_stage(params_, in, true, *of_cosines_), expanded(out, params_.neighbours(), in));
    basic_.emplace(in, out, params_.halo_of(1));
  }
  Bm4dRun(const Bm4dRun&) = delete;
  Bm4dRun& operator=(const Bm4dRun&) = delete;

  void make(const VolumeView<const float>& in, const VolumeView<float>& out, const Execution& execution) {
    const auto filter = [&](const VolumeView<float>& slices) {
      if (!second_) return first_.make(in, in, slices, execution);
      const auto make_basic = [&](const VolumeView<float>& more) { first_.make(in, in, more, execution.part(0, 0.4)); };
      second_->make(in, basic_->slices(in, out, make_basic), slices, execution.part(0.4, 1));
    };
    restore_small_features(in, filtered_.slices(in, out, filter), out, params_, execution.silent());
  }

 private:
  Covariances covariances(Basis basis) const {
    return covariances_of(params_.spectrum, basis, params_.lengths, *params_.search_radius);
  }

  Bm4dParams params_;
  Covariances of_wavelets_;
  StageRun first_;
  std::optional<Covariances> of_cosines_;
  std::optional<StageRun> second_;
  std::optional<Intermediate> basic_;
  Intermediate filtered_;
};

}  // namespace

namespace bm4d_kernel {

Places reference_places(const Bm4dParams& params, int axis, std::int64_t first, std::int64_t last) {
  Places places;
  const int length = params.lengths[axis], search = (*params.search_radius)[axis];
  const std::int64_t end = params.volume[axis] - length;
  for (std::int64_t place = 0;; place = std::min(place + params.step(axis), end)) {
    if (place + search + length > first && place - search < last) places.push_back(place);
    if (place == end) return places;
  }
}

Stage make_stage(const Bm4dParams& params, const VolumeView<const float>& noisy, bool second,
                 const Covariances& covariances) {
  const double h = params.h();
  return {noisy,
          noisy,
          second,
          params.lengths,
          *params.search_radius,
          &covariances,
          params.map.varies() ? &params.map : nullptr,
          params.volume,
          params.threshold() * h,
          1 / h,
          params.ratio(),
          16 / h,
          std::ldexp(1.0, std::ilogb(h) - 27),
          0x1p-36,
          second || params.stages == 1 ? params.most_change() : std::numeric_limits<double>::infinity()};
}

}  // namespace bm4d_kernel

double Bm4dParams::most_change() const { return 5 * most_noise() * map.largest(); }

Bm4dParams Bm4dParams::resolved(const VolumeFacts& facts) const {
  Bm4dParams params = *this;
  constexpr double thick = 3.5;  // chris_t1 with its slices averaged by n: cubes win at 2, squares at 4
  if (!block) params.block = default_block(facts, thick);
  params.lengths = block_lengths(*params.block, facts.extent);
  params.volume = facts.extent;
  if (!search_radius) {
    const int radius = quality == Bm4dQuality::fast ? 3 : quality == Bm4dQuality::standard ? 5 : 7;
    const bool cubes = *params.block == DctBlock::cube;
    const int in_plane = cubes ? radius : 2 * radius - 1, across = cubes ? radius : 1;
    params.search_radius = {in_plane, in_plane, facts.header.slices_are_even ? across : 0};
  }
  params.search_radius = flattened(*params.search_radius, facts.extent);
  if (!sigma) {
    if (const auto noise = facts.noise_for("sigma")) {
      params.sigma = noise->trusted_sigma();
      params.spectrum = noise->spectrum;
      params.map = noise->map;
    }
  }
  return params;
}

double Bm4dParams::correlated() const {
  const Triple<double> lengths_of_noise = spectrum.length();
  return std::clamp(lengths_of_noise.x * lengths_of_noise.y * lengths_of_noise.z - 1, 0.0, 1.0);
}

std::size_t Bm4dParams::working_bytes(const Extent& extent, int threads) const {
  return static_cast<std::size_t>(stages) * StageRun::bytes(*this, extent) + Intermediate::bytes(extent, neighbours()) +
         (stages == 1 ? 0 : Intermediate::bytes(extent, halo_of(1))) +
         static_cast<std::size_t>(stages) * covariances_bytes(lengths, *search_radius) +
         static_cast<std::size_t>(threads) * scratch_bytes(lengths, *search_radius, tile_references);
}

void bm4d_cpu(VolumeView<const float> in, VolumeView<float> out, const Bm4dParams& params, const Execution& execution) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_unfiltered(in, out);
    return;
  }
  run_or_go_on<Bm4dRun>(in, out, params, execution);
}

}  // namespace quietvox
