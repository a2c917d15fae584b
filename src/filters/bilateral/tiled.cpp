// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral/tiled.hpp"

#include <algorithm>
#include <vector>

#include "filters/common/unfiltered_voxels.hpp"

namespace quietvox {
namespace {

using namespace bilateral_kernel;

/// The neighbours of a voxel that have a weight, without itself, in ascending order of z, y, x, for voxels that lie
/// `pitch` apart from row to row and `plane` from slice to slice.
std::vector<Tap> make_taps(const BilateralParams& params, const Spacing& spacing, std::int64_t pitch,
                           std::int64_t plane) {
  constexpr double smallest = -126;  // below, a weight is not a normal float
  const Radius3 r = params.halo();
  std::vector<Tap> taps;
  for (int z = -r.z; z <= r.z; ++z) {
    for (int y = -r.y; y <= r.y; ++y) {
      for (int x = -r.x; x <= r.x; ++x) {
        if (x == 0 && y == 0 && z == 0) continue;
        const double log2_weight = log2_domain_weight(params, spacing, {x, y, z});
        if (!in_window(params, {x, y, z}) || log2_weight < smallest) continue;
        taps.push_back({static_cast<std::int32_t>(z * plane + y * pitch + x), static_cast<float>(log2_weight)});
      }
    }
  }
  return taps;
}

/// What a thread works in: a tile, and the mean differences and rates of its outputs.
struct Scratch {
  std::vector<float> tile, means, rates;
};

/// Filters the voxels of a volume piece by piece.
class BilateralRun {
 public:
  BilateralRun(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
               const RatesOfTile& rates)
      : in_(in),
        out_(out),
        params_(params),
        rates_(rates),
        range_(params),
        r_(params.halo()),
        columns_(std::min(out.extent.x, tile_columns(r_))),
        pitch_(columns_ + 2 * r_.x + slack),
        plane_(pitch_ * (rows_at_once + 2 * r_.y)),
        taps_(make_taps(params, in.spacing, pitch_, plane_)) {
    for (int axis = 0; axis < 3; ++axis) shift_[axis] = out.origin[axis] - in.origin[axis];
  }

  /// Bands of rows of one slice.
  std::int64_t bands_per_slice() const { return (out_.extent.y + rows_at_once - 1) / rows_at_once; }

  void filter_band(std::int64_t band, Scratch& scratch, const std::stop_token& stop) const {
    const std::int64_t z = band / bands_per_slice(), y = band % bands_per_slice() * rows_at_once;
    const std::int64_t rows = std::min(rows_at_once, out_.extent.y - y);
    for (std::int64_t x = 0; x < out_.extent.x; x += columns_) {
      check_stop(stop);
      filter_tile({x, y, z}, std::min(columns_, out_.extent.x - x), rows, scratch);
    }
  }

 private:
  static constexpr std::int64_t rows_at_once = 18;

  /// As many as leave a tile in the L2 cache; long rows are read from memory at a better rate.
  static std::int64_t tile_columns(Radius3 r) {
    constexpr std::int64_t tile_voxels = 1 << 16;
    const std::int64_t rows = (rows_at_once + 2 * r.y) * (2 * r.z + 1);
    return std::max<std::int64_t>(tile_voxels / rows - 2 * r.x - slack, 128);
  }

  void filter_tile(Index3 at, std::int64_t width, std::int64_t rows, Scratch& scratch) const {
    auto& [tile, means, rates] = scratch;
    tile.resize(static_cast<std::size_t>(plane_ * (2 * r_.z + 1)));
    const Index3 first{at.x + shift_.x - r_.x, at.y + shift_.y - r_.y, at.z + shift_.z - r_.z};
    for (std::int64_t z = 0; z < 2 * r_.z + 1; ++z) {
      for (std::int64_t y = 0; y < rows + 2 * r_.y; ++y) {
        pack_row(first.x, first.y + y, first.z + z, width + 2 * r_.x, tile.data() + z * plane_ + y * pitch_);
      }
    }
    means.resize(static_cast<std::size_t>(rows_at_once * pitch_));
    const Tile packed{tile.data() + r_.z * plane_ + r_.y * pitch_ + r_.x,
                      pitch_,
                      plane_,
                      {at.x + out_.origin.x, at.y + out_.origin.y, at.z + out_.origin.z}};
    if (rates_) {
      rates.resize(means.size());
      rates_(packed, taps_, range_, width, rows, rates.data(), pitch_);
    }
    mean_differences(packed, taps_, range_, rates_ ? rates.data() : nullptr, width, rows, means.data(), pitch_);
    for (std::int64_t y = 0; y < rows; ++y) apply(means.data() + y * pitch_, {at.x, at.y + y, at.z}, width);
  }

  /// Fills a row of a tile with `count` voxels from (x, y, z) of the input on, some of which lie beyond the border.
  void pack_row(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t count, float* packed) const {
    const float* voxels =
        in_.row(border_index(params_.border, y, in_.extent.y), border_index(params_.border, z, in_.extent.z));
    const std::int64_t begin = std::max<std::int64_t>(x, 0), end = std::min(x + count, in_.extent.x);
    pack(voxels + begin, end - begin, range_, packed + (begin - x));
    for (std::int64_t i = x; i < begin; ++i) packed[i - x] = packed[border_index(params_.border, i, in_.extent.x) - x];
    for (std::int64_t i = end; i < x + count; ++i) {
      packed[i - x] = packed[border_index(params_.border, i, in_.extent.x) - x];
    }
    std::fill(packed + count, packed + count + slack, RangeWeight::missing);
  }

  /// Writes a row of outputs: centre plus mean difference, or the centre where it is not to change.
  void apply(const float* means, Index3 at, std::int64_t width) const {
    const Index3 place{at.x + shift_.x, at.y + shift_.y, at.z + shift_.z};
    const float* centres = in_.row(place.y, place.z) + place.x;
    float* results = out_.row(at.y, at.z) + at.x;
    std::int64_t first = 0, last = width;  // what lies between changes
    if (params_.border == Border::copy) {
      const bool inside =
          place.y >= r_.y && place.y + r_.y < in_.extent.y && place.z >= r_.z && place.z + r_.z < in_.extent.z;
      first = std::clamp<std::int64_t>(r_.x - place.x, 0, width);
      last = inside ? std::clamp<std::int64_t>(in_.extent.x - r_.x - place.x, first, width) : first;
    }
    std::transform(centres, centres + first, results, canonical_zero<float>);
    add_means(centres + first, means + first, last - first, range_, results + first);
    std::transform(centres + last, centres + width, results + last, canonical_zero<float>);
  }

  VolumeView<const float> in_;
  VolumeView<float> out_;
  BilateralParams params_;
  const RatesOfTile& rates_;
  RangeWeight range_;
  Radius3 r_;
  std::int64_t columns_, pitch_, plane_;  ///< of a tile
  std::vector<Tap> taps_;
  Index3 shift_;
};

}  // namespace

void run_bilateral(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                   const RatesOfTile& rates, const Execution& execution) {
  // The smallest difference of floats, 2^-149, has no weight then.
  if (*params.range_sigma < 0x1p-155) {
    copy_unfiltered(in, out);
    return;
  }
  const BilateralRun run(in, out, params, rates);
  parallel_for_with_scratch(
      execution, run.bands_per_slice() * out.extent.z, [] { return Scratch{}; },
      [&](Scratch& scratch, std::int64_t band) { run.filter_band(band, scratch, execution.stop); });
}

}  // namespace quietvox
