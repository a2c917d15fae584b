// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filters/bilateral/kernel.hpp"
#include "filters/common/expected_error.hpp"
#include "filters/common/unfiltered_voxels.hpp"
#include "filters/nlm/kernel.hpp"

namespace quietvox {
namespace {

using namespace nlm_kernel;
using bilateral_kernel::PowerOfTwo;

/// Voxels of a box grown by `reach`, scaled, borders and all, and the noise of each where that varies.
class PackedBox {
 public:
  void fill(const VolumeView<const float>& in, const NlmParams& params, const Index3& first, const Extent& size,
            Radius3 reach, const PowerOfTwo& scale) {
    pitch_ = size.x + 2 * reach.x;
    plane_ = pitch_ * (size.y + 2 * reach.y);
    origin_ = reach.z * plane_ + reach.y * pitch_ + reach.x;
    has_missing_ = false;
    const auto room = static_cast<std::size_t>(plane_ * (size.z + 2 * reach.z) + slack);
    const bool varies = params.map.varies();
    voxels_.resize(room);
    variances_.resize(varies ? room : 0);
    const std::int64_t left = first.x - reach.x, seen = std::max<std::int64_t>(left, 0);
    const auto place = [&](std::int64_t i) { return border_index(params.border, left + i, in.extent.x); };
    noise_.resize(varies ? static_cast<std::size_t>(std::min(left + pitch_, in.extent.x) - seen) : 0);
    std::int64_t row = 0;
    for (std::int64_t z = first.z - reach.z; z < first.z + size.z + reach.z; ++z) {
      for (std::int64_t y = first.y - reach.y; y < first.y + size.y + reach.y; ++y, row += pitch_) {
        const std::int64_t at_y = border_index(params.border, y, in.extent.y);
        const std::int64_t at_z = border_index(params.border, z, in.extent.z);
        const float* from = in.row(at_y, at_z);
        float* const voxels = voxels_.data() + row;
        for (std::int64_t i = 0; i < pitch_; ++i) voxels[i] = scaled(from[place(i)], scale);
        if (!varies) continue;
        params.map.row({in.origin.x + seen, in.origin.y + at_y, in.origin.z + at_z}, params.volume, noise_);
        float* const variances = variances_.data() + row;
        for (std::int64_t i = 0; i < pitch_; ++i) {
          const float noise = noise_[static_cast<std::size_t>(place(i) - seen)];
          variances[i] = noise * noise;
        }
      }
    }
  }

  /// As a tile sees it whose first output lies at `place` of the box.
  Region region(const Index3& place) const {
    const std::int64_t at = origin_ + place.z * plane_ + place.y * pitch_ + place.x;
    return {voxels_.data() + at, pitch_, plane_, has_missing_, variances_.empty() ? nullptr : variances_.data() + at};
  }

 private:
  /// Sums of squared differences stay finite; voxels beyond the limit differ from all others by more than any h.
  float scaled(float voxel, const PowerOfTwo& scale) {
    constexpr float limit = 0x1p60F;
    if (std::isfinite(voxel)) return std::clamp(voxel * scale.first * scale.second, -limit, limit);
    has_missing_ = true;
    return std::numeric_limits<float>::quiet_NaN();
  }

  std::vector<float> voxels_, variances_;
  std::vector<float> noise_;  ///< of a row within the volume
  std::int64_t pitch_ = 0, plane_ = 0, origin_ = 0;
  bool has_missing_ = false;
};

/// What a thread works in.
struct TileScratch {
  PackedBox voxels;
  Scratch sums_of_patches;
  TileSums sums;
  std::vector<double> difference, weight;  ///< what has been added up before
};

/// A tile and what a window reaches around it stay in the L2 cache as long as windows are not large. Vectors are
/// filled best where a row of a tile with its reach is a multiple of them.
Extent largest_tile(const NlmParams& params) {
  const OrAll<Radius3>& search = params.search_window();
  if (!search) return {{128, 32, 1}};
  const std::int64_t reach = search->x + 2 * params.widest_patch().x;
  const bool flat = search->z == 0;
  return {{reach < 64 ? 128 - reach : 128, flat ? 64 : 16, flat ? 1 : 12}};
}

/// How outputs are cut into tiles.
struct Tiling {
  Tiling(const NlmParams& params, const Extent& outputs) : tile(largest_tile(params)) {
    for (int axis = 0; axis < 3; ++axis) {
      tile[axis] = std::min(tile[axis], outputs[axis]);
      count[axis] = (outputs[axis] + tile[axis] - 1) / tile[axis];
    }
  }

  Extent tile, count;
};

/// Filters the voxels of a volume tile by tile.
class NlmRun {
 public:
  NlmRun(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params)
      : in_(in),
        out_(out),
        params_(params),
        exponent_(std::ilogb(params.h())),
        scale_(-exponent_),
        tiling_(params, out.extent),
        weighting_(make_weighting()) {
    for (int axis = 0; axis < 3; ++axis) shift_[axis] = out.origin[axis] - in.origin[axis];
  }

  void run(const Execution& execution) const {
    if (params_.search_window()) {
      for_tiles(tiling_.count.voxels(), 0, execution,
                [&](const Box& tile, TileScratch& scratch) { search_window(tile, scratch, execution.stop); });
      return;
    }
    PackedBox slice;  // what all tiles of one slice share
    for (std::int64_t z = 0; z < out_.extent.z; ++z) {
      const Extent size{{in_.extent.x, in_.extent.y, 1}};
      slice.fill(in_, params_, {0, 0, z + shift_.z}, size, *params_.patch_radius, scale_);
      const auto fraction = [&](std::int64_t done) {
        return static_cast<double>(done) / static_cast<double>(out_.extent.z);
      };
      for_tiles(tiling_.count.slice(), z * tiling_.count.slice(), execution.part(fraction(z), fraction(z + 1)),
                [&](const Box& tile, TileScratch& scratch) { search_slice(slice, tile, scratch, execution.stop); });
    }
  }

 private:
  Weighting make_weighting() const {
    const Radius3 f = *params_.patch_radius;
    const double voxels = static_cast<double>((2 * f.x + 1) * (2 * f.y + 1) * (2 * f.z + 1));
    const double h = std::ldexp(params_.h(), -exponent_), rate = std::numbers::log2e / (h * h);
    double intensity_rate = 0;
    if (params_.intensity_sigma > 0) {
      const double sigma = std::ldexp(params_.intensity_sigma, -exponent_);
      intensity_rate = std::min(0.5 * std::numbers::log2e / (sigma * sigma), 0x1p126);
    }
    return {f, static_cast<float>(rate / voxels),
            static_cast<float>(std::numbers::log2e * params_.noise_bias / (*params_.strength * *params_.strength)),
            static_cast<float>(intensity_rate), params_.noise_model == NlmNoise::rician};
  }

  template <class Body>
  void for_tiles(std::int64_t count, std::int64_t first, const Execution& execution, const Body& body) const {
    parallel_for_with_scratch(
        execution, count, [] { return TileScratch(); },
        [&](TileScratch& scratch, std::int64_t item) {
          const std::int64_t i = first + item;
          Box tile;
          const Index3 index{i % tiling_.count.x, i / tiling_.count.x % tiling_.count.y, i / tiling_.count.slice()};
          for (int axis = 0; axis < 3; ++axis) {
            tile.first[axis] = index[axis] * tiling_.tile[axis];
            tile.last[axis] = std::min(tile.first[axis] + tiling_.tile[axis], out_.extent[axis]);
          }
          scratch.sums.reset(tile.size());
          scratch.difference.clear();
          body(tile, scratch);
          write(tile, scratch);
        });
  }

  float log2_spatial(const Index3& o) const {
    if (params_.spatial_sigma == 0) return 0;
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double distance = static_cast<double>(o[axis]) * in_.spacing[axis] / params_.spatial_sigma;
      sum += distance * distance;
    }
    return static_cast<float>(-0.5 * std::numbers::log2e * sum);
  }

  void search_window(const Box& tile, TileScratch& scratch, const std::stop_token& stop) const {
    const Radius3 v = *params_.search_window();
    scratch.voxels.fill(in_, params_, place_in(tile.first), tile.size(), params_.halo().radius, scale_);
    const Region region = scratch.voxels.region({0, 0, 0});
    int added = 0;
    Index3 o;
    for (o.z = 0; o.z <= v.z; ++o.z) {  // one of each pair of offsets
      for (o.y = o.z == 0 ? 0 : -v.y; o.y <= v.y; ++o.y) {
        check_stop(stop);
        for (o.x = o.y == 0 && o.z == 0 ? 1 : -v.x; o.x <= v.x; ++o.x) {
          add_both(region, {o, log2_spatial(o)}, weighting_, scratch.sums_of_patches, scratch.sums);
          if (++added % sums_hold == 0) put_aside(scratch);
        }
      }
    }
    put_aside(scratch);
  }

  void search_slice(const PackedBox& slice, const Box& tile, TileScratch& scratch, const std::stop_token& stop) const {
    const Index3 place = place_in(tile.first);
    const Extent size = tile.size();
    const Region region = slice.region({place.x, place.y, 0});
    put_aside(scratch);  // the weights of the voxels themselves
    Index3 o;
    for (o.y = -place.y - size.y + 1; o.y < in_.extent.y - place.y; ++o.y) {
      check_stop(stop);
      for (o.x = -place.x - size.x + 1; o.x < in_.extent.x - place.x; ++o.x) {
        if (o.x == 0 && o.y == 0) continue;
        Box inside{{0, 0, 0}, {size.x, size.y, 1}};  // the outputs whose neighbour lies in the slice
        for (int axis = 0; axis < 2; ++axis) {
          inside.first[axis] = std::max<std::int64_t>(0, -o[axis] - place[axis]);
          inside.last[axis] = std::min(size[axis], in_.extent[axis] - o[axis] - place[axis]);
        }
        add_forward(region, inside, {o, log2_spatial(o)}, weighting_, scratch.sums_of_patches, scratch.sums);
        // At the same neighbours of an output, wherever its tile begins.
        if ((o.x + sums_hold / 2) % sums_hold == 0) put_aside(scratch);
      }
      put_aside(scratch);
    }
  }

  /// Sums in float stay accurate over as many offsets.
  static constexpr int sums_hold = 512;

  /// Adds the sums of a tile to what has been added up before, and starts anew.
  static void put_aside(TileScratch& scratch) {
    auto& [size, pitch, difference, weight] = scratch.sums;
    if (scratch.difference.empty()) {
      scratch.difference.assign(difference.size(), 0);
      scratch.weight.assign(weight.size(), 0);
    }
    for (std::size_t i = 0; i < difference.size(); ++i) {
      scratch.difference[i] += static_cast<double>(difference[i]);
      scratch.weight[i] += static_cast<double>(weight[i]);
      difference[i] = weight[i] = 0;
    }
  }

  Index3 place_in(const Index3& output) const {
    return {output.x + shift_.x, output.y + shift_.y, output.z + shift_.z};
  }

  /// True where a window leaves the volume, which the border `copy` leaves as it is.
  bool leaves(const Index3& place) const {
    const Radius3 reach = params_.search_window() ? params_.halo().radius : *params_.patch_radius;
    for (int axis = 0; axis < 3; ++axis) {
      if (place[axis] < reach[axis] || place[axis] + reach[axis] >= in_.extent[axis]) return true;
    }
    return false;
  }

  /// Of squares of voxels, by the noise model `rician`.
  double bias_at(const Index3& place) const {
    const Index3 voxel{in_.origin.x + place.x, in_.origin.y + place.y, in_.origin.z + place.z};
    const double sigma = *params_.sigma * (params_.map.varies() ? params_.map.at(voxel, params_.volume) : 1);
    return 2 * sigma * sigma;
  }

  void write(const Box& tile, const TileScratch& scratch) const {
    const bool rician = params_.noise_model == NlmNoise::rician;
    const int power = rician ? 2 * exponent_ : exponent_;
    Index3 p;
    for (p.z = tile.first.z; p.z < tile.last.z; ++p.z) {
      for (p.y = tile.first.y; p.y < tile.last.y; ++p.y) {
        const std::int64_t row = scratch.sums.row(p.y - tile.first.y, p.z - tile.first.z);
        for (p.x = tile.first.x; p.x < tile.last.x; ++p.x) {
          const Index3 place = place_in(p);
          const float voxel = in_.at(place.x, place.y, place.z);
          float& result = out_.at(p.x, p.y, p.z);
          result = canonical_zero(voxel);
          if (!std::isfinite(voxel) || (params_.border == Border::copy && leaves(place))) continue;
          const auto i = static_cast<std::size_t>(row + p.x - tile.first.x);
          const double change = std::ldexp(scratch.difference[i] / scratch.weight[i], power), u = voxel;
          result = static_cast<float>(rician ? std::sqrt(std::max(u * u + change - bias_at(place), 0.0)) : u + change) +
                   0.0F;
        }
      }
    }
  }

  VolumeView<const float> in_;
  VolumeView<float> out_;
  const NlmParams& params_;
  int exponent_;  ///< voxels are scaled by 2^-exponent, which brings h into [1, 2)
  PowerOfTwo scale_;
  Tiling tiling_;
  Weighting weighting_;
  Index3 shift_;
};

}  // namespace

namespace {

bool lies_in_a_plane(Radius3 window) { return std::min({window.x, window.y, window.z}) == 0; }

/// Throws Error(invalid_argument) where voxels are no magnitudes, whose squares would lose their sign.
void check_magnitudes(const VolumeFacts& facts) {
  facts.need_true_values("nlm: " + Parameter{"noise-model"} + " = rician");
  const auto refuse = [](const std::string& why) {
    throw Error(
        Errc::invalid_argument,
        "nlm: " + Parameter{"noise-model"} + " = rician is for magnitudes, which are never negative, but " + why,
        "give " + Parameter{"noise-model", "gaussian"});
  };
  const HeaderFacts& header = facts.header;
  if (header.kind && header.kind != DataKind::magnitude) refuse(header.kind_source);
  const auto range = facts.intensities_for("noise-model");
  if (range && range->min < 0) refuse("the smallest value is " + FieldType<double>::format(range->min));
}

}  // namespace

NlmParams NlmParams::resolved(const VolumeFacts& facts) const {
  NlmParams params = *this;
  params.resolve_window(facts);
  params.resolve_by_noise(facts, search_radius.has_value());
  if (noise_model == NlmNoise::rician) check_magnitudes(facts);
  return params;
}

/// By default the patch leaves the search at least half of the room along each axis; both leave alone what was asked
/// for. The search does not depend on the noise: it leaves room for the widest patch.
void NlmParams::resolve_window(const VolumeFacts& facts) {
  constexpr int in_volumes = 3, in_slices = 5;
  const bool searches_all = search_radius && !*search_radius, is_given = search_radius && *search_radius;
  const auto at_most = [](int wanted, int room) { return std::clamp(room, 0, wanted); };
  Radius3 patch =
      patch_radius ? flattened(*patch_radius, facts.extent) : facts.default_radius(wide_patch, largest_patch_radius);
  const Radius3 usual = facts.default_radius(in_volumes, largest_search_radius);
  Radius3 window = is_given                 ? flattened(**search_radius, facts.extent)
                   : lies_in_a_plane(usual) ? facts.default_radius(in_slices, largest_search_radius)
                                            : usual;
  for (int axis = 0; axis < 3; ++axis) {
    const int room = facts.room(axis);
    const int left = searches_all ? room : is_given ? room - window[axis] : room / 2;
    if (!patch_radius) patch[axis] = at_most(patch[axis], left);
    if (!is_given) window[axis] = at_most(window[axis], room - patch[axis]);
  }
  if (patch_radius) patch_radius = patch;
  widest_patch_ = patch;
  search_radius = searches_all ? OrAll<Radius3>() : OrAll<Radius3>(window);
}

/// What was best for noise of every kind of `add-noise` at four levels on a head: bench/NOTES.md.
void NlmParams::resolve_by_noise(const VolumeFacts& facts, bool is_search_given) {
  constexpr double clearest = 5, usual = 4, least = 0.5, most = 1.5;
  std::optional<NoiseModel> noise;
  const auto needed_for = [&](std::string_view field) {
    if (!noise) noise = facts.noise_for(field);
  };
  if (!sigma) needed_for("sigma");
  if (!patch_radius) needed_for("patch-radius");
  if (!strength) needed_for("strength");
  if (!noise) return;
  const bool follows_map = !sigma;
  if (follows_map) {
    sigma = noise->trusted_sigma();
    map = noise->map;
    volume = facts.extent;
  }
  const bool in_a_plane = search_window() && lies_in_a_plane(*search_window());
  double clearness = usual, correlated = 1, weakest = 1, strongest = 1;  // where the noise is not known
  if (noise->trusted_sigma() > 0 && *sigma > 0) {
    clearness = std::min(noise->contrast / *sigma, clearest);
    const Triple<double> length = noise->spectrum.length();
    for (int axis = 0; axis < 3; ++axis) {
      if (widest_patch_[axis] > 0) correlated *= length[axis];
    }
    if (!follows_map) {
      const auto [low, high] = std::minmax_element(noise->map.values.begin(), noise->map.values.end());
      weakest = static_cast<double>(*low);
      strongest = static_cast<double>(*high);
    }
  }
  if (!patch_radius) {
    const Radius3 narrow = facts.default_radius(1, largest_patch_radius);
    patch_radius = widest_patch_;
    for (int axis = 0; axis < 3 && clearness >= weakest * std::max(correlated, 1.2); ++axis) {
      (*patch_radius)[axis] = std::min(widest_patch_[axis], narrow[axis]);
    }
  }
  if (!strength) {
    const double typical =
        (in_a_plane ? 0.9 * std::pow(clearness, 0.38) : 0.66 * std::pow(clearness, 0.45)) * std::pow(correlated, 0.12);
    strength = std::clamp(typical * strongest, least, most);
    if (follows_map && search_window()) try_out(*noise, facts, is_search_given);
  }
}

void NlmParams::try_out(const NoiseModel& noise, const VolumeFacts& facts, bool is_search_given) {
  if (noise_model == NlmNoise::rician) return;  // pieces have no true values
  const auto error = ExpectedError::of(noise, facts, halo().radius);
  if (!error) return;
  std::vector<NlmParams> others;
  for (const double times : {0.8, 1.25}) others.emplace_back(*this).strength = times * *strength;
  if (!is_search_given) {
    NlmParams near = others.back();
    Radius3& window = **near.search_radius;
    for (int axis = 0; axis < 3; ++axis) window[axis] = std::min(window[axis], 2);
    if (window != **search_radius) others.push_back(near);
  }
  *this = best_of(*error, *this, others, nlm_cpu, {&NlmParams::sigma}, facts.execution);
}

std::size_t NlmParams::working_bytes(const Extent& extent, int threads) const {
  const auto [tile, tiles] = Tiling(*this, extent);
  const Radius3 search = search_window().value_or(Radius3{}), patch = widest_patch();
  Extent seen, weighed;
  for (int axis = 0; axis < 3; ++axis) {
    seen[axis] = tile[axis] + 2 * (search[axis] + patch[axis]);
    weighed[axis] = tile[axis] + search[axis] + (axis < 2 ? 2 * patch[axis] : 0);
  }
  const std::int64_t voxels = 2 * seen.voxels();  // and the noise of each
  const std::int64_t weights = 2 * weighed.voxels(), patches = (4 + 3 * (2 * patch.z + 1)) * weighed.slice();
  const std::int64_t sums = 2 * tile.voxels(), sums_aside = 2 * tile.voxels();
  const std::size_t of_thread = static_cast<std::size_t>(voxels + weights + patches + sums) * sizeof(float) +
                                static_cast<std::size_t>(sums_aside) * sizeof(double);
  const std::int64_t at_once = search_window() ? tiles.voxels() : tiles.slice();
  return of_thread * static_cast<std::size_t>(std::min<std::int64_t>(threads, at_once));
}

void nlm_cpu(VolumeView<const float> in, VolumeView<float> out, const NlmParams& params, const Execution& execution) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_unfiltered(in, out);
    return;
  }
  NlmRun(in, out, params).run(execution);
}

}  // namespace quietvox
