// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "filters/bilateral_window.hpp"

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/bilateral.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef QUIETVOX_BILATERAL_SHARED
#define QUIETVOX_BILATERAL_SHARED
namespace quietvox {
namespace {

/// Multiplication by a power of two that need not be a float itself.
struct PowerOfTwo {
  float first, second;
  explicit PowerOfTwo(int exponent)
      : first(std::ldexp(1.0F, exponent / 2)), second(std::ldexp(1.0F, exponent - exponent / 2)) {}
};

/// The range weight, for differences scaled by the power of two that brings range_sigma into [1, 2). So scaled, voxels
/// beyond `limit` differ either not at all or by so much that they have no weight, and may be clamped to it; `missing`
/// is as far away from every present voxel.
struct RangeWeight {
  static constexpr float limit = 0x1p61F, missing = 0x1p62F;

  PowerOfTwo scale, unscale;
  float rate;  ///< log2 weight = -rate difference^2
  bool has_cut;
  float cut;  ///< smallest scaled difference without weight

  explicit RangeWeight(const BilateralParams& params)
      : RangeWeight(*params.range_sigma, params.range_cut, std::ilogb(*params.range_sigma)) {}

 private:
  RangeWeight(double sigma, double relative_cut, int exponent) : scale(-exponent), unscale(exponent) {
    const double scaled_sigma = std::ldexp(sigma, -exponent), scaled_cut = relative_cut * scaled_sigma;
    rate = static_cast<float>(0.5 * std::numbers::log2e / (scaled_sigma * scaled_sigma));
    has_cut = relative_cut > 0;
    cut = static_cast<float>(scaled_cut);
    if (cut < scaled_cut) cut = std::nextafter(cut, INFINITY);
  }
};

/// Rows of scaled voxels about rows of outputs, borders and all, padded so that vectors may read past their end.
/// `centre` stands at the first output.
struct Tile {
  const float* centre;
  std::int64_t pitch;
};

/// Floats that a vector may read or write past the end of a row.
constexpr std::int64_t kSlack = 64;

}  // namespace
}  // namespace quietvox
#endif

HWY_BEFORE_NAMESPACE();
namespace quietvox::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

/// 2^x for x <= 0, relative error below 2e-7; exactly 1 at 0 and exactly 0 from -127 down. Near -126 results are tiny
/// but not accurate. Splits x into a whole number n and f in [-1/2, 1/2]; the polynomial is the minimax one with
/// p(0) = 1; n is added to the exponent bits. Several vectors go step by step together, to keep the pipelines full.
template <int kCount>
HWY_INLINE void exp2(Tag d, Vector (&x)[kCount]) {
  const hn::RebindToSigned<Tag> bits;
  const auto to_integer = hn::Set(d, 0x1.8p23F);  // a sum with it has the whole number in its low bits
  const auto smallest = hn::Set(d, -127.0F);
  const float coefficients[] = {1.3264228e-3F, 9.6715149e-3F, 5.5507351e-2F, 2.4022242e-1F, 6.9314700e-1F, 1.0F};
  Vector whole[kCount], p[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = hn::Max(x[i], smallest);
  for (int i = 0; i < kCount; ++i) whole[i] = hn::Add(x[i], to_integer);
  for (int i = 0; i < kCount; ++i) x[i] = hn::Sub(x[i], hn::Sub(whole[i], to_integer));
  for (int i = 0; i < kCount; ++i) p[i] = hn::Set(d, coefficients[0]);
  for (int k = 1; k < 6; ++k) {
    for (int i = 0; i < kCount; ++i) p[i] = hn::MulAdd(p[i], x[i], hn::Set(d, coefficients[k]));
  }
  for (int i = 0; i < kCount; ++i) {
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, whole[i]));
    x[i] = hn::BitCast(d, hn::Add(hn::BitCast(bits, p[i]), exponent));
  }
}

/// A long sum that loses nothing to its length (Kahan 1965).
struct LongSum {
  Vector sum, lost;

  HWY_INLINE void add(Vector part) {
    const auto term = hn::Sub(part, lost);
    const auto next = hn::Add(sum, term);
    lost = hn::Sub(hn::Sub(next, sum), term);
    sum = next;
  }
};

/// sum w (v - p) / sum w for one vector of outputs in each of `kRows` rows, the first of which starts at `centres`. The
/// order of the sums depends on the window alone.
template <int kRows, bool kCut>
HWY_INLINE void average(const float* centres, std::int64_t pitch, std::span<const BilateralTap> taps,
                        const RangeWeight& range, float* means, std::int64_t means_pitch) {
  constexpr std::size_t group = 128;  // sums in float stay accurate over as many taps
  const Tag d;
  const auto rate = hn::Set(d, range.rate), cut = hn::Set(d, range.cut), zero = hn::Zero(d);
  Vector centre[kRows];
  LongSum total[kRows], total_weight[kRows];
  for (int i = 0; i < kRows; ++i) {
    centre[i] = hn::LoadU(d, centres + i * pitch);
    total[i] = {zero, zero};
    total_weight[i] = {hn::Set(d, 1.0F), zero};  // the centre's own
  }
  while (!taps.empty()) {
    Vector sum[kRows], weight[kRows];
    for (int i = 0; i < kRows; ++i) sum[i] = weight[i] = zero;
    for (const BilateralTap& tap : taps.first(std::min(group, taps.size()))) {
      const float* neighbours = centres + tap.offset;
      const auto log2_weight = hn::Set(d, tap.log2_weight);
      Vector difference[kRows], w[kRows];
      for (int i = 0; i < kRows; ++i) difference[i] = hn::Sub(hn::LoadU(d, neighbours + i * pitch), centre[i]);
      for (int i = 0; i < kRows; ++i) w[i] = hn::Mul(difference[i], rate);
      for (int i = 0; i < kRows; ++i) w[i] = hn::NegMulAdd(w[i], difference[i], log2_weight);
      exp2(d, w);
      for (int i = 0; i < kRows; ++i) {
        if constexpr (kCut) w[i] = hn::IfThenZeroElse(hn::Ge(hn::Abs(difference[i]), cut), w[i]);
        sum[i] = hn::MulAdd(w[i], difference[i], sum[i]);
        weight[i] = hn::Add(weight[i], w[i]);
      }
    }
    for (int i = 0; i < kRows; ++i) {
      total[i].add(sum[i]);
      total_weight[i].add(weight[i]);
    }
    taps = taps.subspan(std::min(group, taps.size()));
  }
  for (int i = 0; i < kRows; ++i) hn::StoreU(hn::Div(total[i].sum, total_weight[i].sum), d, means + i * means_pitch);
}

template <bool kCut>
HWY_INLINE void average_rows(const Tile& tile, std::span<const BilateralTap> taps, const RangeWeight& range,
                             std::int64_t width, std::int64_t rows, float* means, std::int64_t pitch) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  constexpr int kTogether = 3;
  std::int64_t y = 0;
  for (; y + kTogether <= rows; y += kTogether) {
    for (std::int64_t x = 0; x < width; x += lanes) {
      average<kTogether, kCut>(tile.centre + y * tile.pitch + x, tile.pitch, taps, range, means + y * pitch + x, pitch);
    }
  }
  for (; y < rows; ++y) {
    for (std::int64_t x = 0; x < width; x += lanes) {
      average<1, kCut>(tile.centre + y * tile.pitch + x, tile.pitch, taps, range, means + y * pitch + x, pitch);
    }
  }
}

/// The mean scaled difference of each output voxel to its neighbours; each row of `means` has room for kSlack more.
void mean_differences(const Tile& tile, std::span<const BilateralTap> taps, const RangeWeight& range,
                      std::int64_t width, std::int64_t rows, float* means, std::int64_t pitch) {
  if (range.has_cut) {
    average_rows<true>(tile, taps, range, width, rows, means, pitch);
  } else {
    average_rows<false>(tile, taps, range, width, rows, means, pitch);
  }
}

/// Adds the mean differences to `count` centres. Missing centres stay as they are to the bit; -0 becomes +0.
void add_means(const float* centres, const float* means, std::int64_t count, const RangeWeight& range, float* results) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto first = hn::Set(d, range.unscale.first), second = hn::Set(d, range.unscale.second);
  const auto largest = hn::Set(d, hwy::HighestValue<float>());
  std::int64_t x = 0;
  for (; x + lanes <= count; x += lanes) {
    const auto centre = hn::LoadU(d, centres + x);
    const auto change = hn::Mul(hn::Mul(hn::LoadU(d, means + x), first), second);
    const auto result = hn::Add(hn::Add(centre, change), hn::Zero(d));
    hn::StoreU(hn::IfThenElse(hn::Le(hn::Abs(centre), largest), result, centre), d, results + x);
  }
  for (; x < count; ++x) {
    const float change = means[x] * range.unscale.first * range.unscale.second;
    results[x] = std::isfinite(centres[x]) ? centres[x] + change + 0.0F : centres[x];
  }
}

/// Scales `count` voxels and replaces what is missing; may write up to kSlack floats more.
void pack(const float* voxels, std::int64_t count, const RangeWeight& range, float* packed) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto first = hn::Set(d, range.scale.first), second = hn::Set(d, range.scale.second);
  const auto limit = hn::Set(d, range.limit), missing = hn::Set(d, range.missing);
  const auto largest = hn::Set(d, hwy::HighestValue<float>());
  const auto one_vector = [&](Vector v) HWY_ATTR {
    const auto scaled = hn::Mul(hn::Mul(v, first), second);
    const auto clamped = hn::Max(hn::Min(scaled, limit), hn::Neg(limit));
    return hn::IfThenElse(hn::Le(hn::Abs(v), largest), clamped, missing);
  };
  std::int64_t x = 0;
  for (; x + lanes <= count; x += lanes) hn::StoreU(one_vector(hn::LoadU(d, voxels + x)), d, packed + x);
  if (x == count) return;
  std::array<float, kSlack> rest{};
  std::copy(voxels + x, voxels + count, rest.begin());
  hn::StoreU(one_vector(hn::LoadU(d, rest.data())), d, packed + x);
}

}  // namespace
}  // namespace quietvox::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox {
namespace {

[[noreturn]] void throw_too_wide(const BilateralParams& params, const Spacing& spacing, int axis) {
  throw Error(Errc::invalid_argument,
              "bilateral: --domain-sigma = " + FieldType<Triple<double>>::format(*params.domain_sigma) +
                  " reaches further than " + std::to_string(BilateralParams::largest_radius) + " voxels along " +
                  "xyz"[axis] + "; give at most " +
                  FieldType<double>::format(BilateralParams::largest_radius * spacing[axis] / params.truncate) +
                  " (mm), or a --radius");
}

}  // namespace

BilateralParams BilateralParams::resolved(const VolumeFacts& facts) const {
  BilateralParams params = *this;
  if (!domain_sigma) {
    const double sigma = 1.5 * facts.spacing.x;
    params.domain_sigma = {sigma, sigma, sigma};
  }
  if (!range_sigma) params.range_sigma = 2 * facts.noise_sigma();
  if (!radius) {
    params.radius.emplace();
    for (int axis = 0; axis < 3; ++axis) {
      if (facts.extent[axis] == 1) continue;
      // Less a trifle, so that 3.0000000000000004 voxels of decimal fractions are 3.
      const double reach = std::ceil(truncate * (*params.domain_sigma)[axis] / facts.spacing[axis] - 1e-9);
      if (reach > largest_radius) throw_too_wide(params, facts.spacing, axis);
      (*params.radius)[axis] = static_cast<int>(reach);
    }
  }
  params.radius = flattened(*params.radius, facts.extent);
  return params;
}

namespace {

HWY_EXPORT(mean_differences);
HWY_EXPORT(pack);
HWY_EXPORT(add_means);

/// A voxel that keeps its value: -0 becomes +0, missing voxels stay as they are to the bit.
float unchanged(float voxel) { return std::isfinite(voxel) ? voxel + 0.0F : voxel; }

/// What a thread works in: a tile, and the mean differences of its outputs.
struct Scratch {
  std::vector<float> tile, means;
};

/// Lends scratch to as many threads as work at once, and keeps it for the next piece.
class ScratchPool {
 public:
  Scratch take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {};
    Scratch scratch = std::move(idle_.back());
    idle_.pop_back();
    return scratch;
  }
  void give_back(Scratch scratch) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }

 private:
  std::mutex mutex_;
  std::vector<Scratch> idle_;
};

/// Filters the voxels of a volume piece by piece.
class BilateralRun {
 public:
  BilateralRun(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params)
      : in_(in),
        out_(out),
        params_(params),
        range_(params),
        r_(params.halo()),
        columns_(std::min(out.extent.x, tile_columns(r_))),
        pitch_(columns_ + 2 * r_.x + kSlack),
        plane_(pitch_ * (kRows + 2 * r_.y)),
        taps_(bilateral_taps(params, in.spacing, pitch_, plane_)) {
    for (int axis = 0; axis < 3; ++axis) shift_[axis] = out.origin[axis] - in.origin[axis];
  }

  /// Bands of rows of one slice.
  std::int64_t bands_per_slice() const { return (out_.extent.y + kRows - 1) / kRows; }

  void filter_band(std::int64_t band, Scratch& scratch) const {
    const std::int64_t z = band / bands_per_slice(), y = band % bands_per_slice() * kRows;
    const std::int64_t rows = std::min(kRows, out_.extent.y - y);
    for (std::int64_t x = 0; x < out_.extent.x; x += columns_) {
      filter_tile({x, y, z}, std::min(columns_, out_.extent.x - x), rows, scratch);
    }
  }

 private:
  static constexpr std::int64_t kRows = 18;

  /// As many as leave a tile in the L2 cache; long rows are read from memory at a better rate.
  static std::int64_t tile_columns(Radius3 r) {
    constexpr std::int64_t tile_voxels = 1 << 16;
    const std::int64_t rows = (kRows + 2 * r.y) * (2 * r.z + 1);
    return std::max<std::int64_t>(tile_voxels / rows - 2 * r.x - kSlack, 128);
  }

  void filter_tile(Index3 at, std::int64_t width, std::int64_t rows, Scratch& scratch) const {
    auto& [tile, means] = scratch;
    tile.resize(static_cast<std::size_t>(plane_ * (2 * r_.z + 1)));
    const Index3 first{at.x + shift_.x - r_.x, at.y + shift_.y - r_.y, at.z + shift_.z - r_.z};
    for (std::int64_t z = 0; z < 2 * r_.z + 1; ++z) {
      for (std::int64_t y = 0; y < rows + 2 * r_.y; ++y) {
        pack_row(first.x, first.y + y, first.z + z, width + 2 * r_.x, tile.data() + z * plane_ + y * pitch_);
      }
    }
    means.resize(static_cast<std::size_t>(kRows * pitch_));
    const Tile packed{tile.data() + r_.z * plane_ + r_.y * pitch_ + r_.x, pitch_};
    HWY_DYNAMIC_DISPATCH(mean_differences)(packed, taps_, range_, width, rows, means.data(), pitch_);
    for (std::int64_t y = 0; y < rows; ++y) apply(means.data() + y * pitch_, {at.x, at.y + y, at.z}, width);
  }

  /// Fills a row of a tile with `count` voxels from (x, y, z) of the input on, some of which lie beyond the border.
  void pack_row(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t count, float* packed) const {
    const float* voxels =
        in_.row(border_index(params_.border, y, in_.extent.y), border_index(params_.border, z, in_.extent.z));
    const std::int64_t begin = std::max<std::int64_t>(x, 0), end = std::min(x + count, in_.extent.x);
    HWY_DYNAMIC_DISPATCH(pack)(voxels + begin, end - begin, range_, packed + (begin - x));
    for (std::int64_t i = x; i < begin; ++i) packed[i - x] = packed[border_index(params_.border, i, in_.extent.x) - x];
    for (std::int64_t i = end; i < x + count; ++i) {
      packed[i - x] = packed[border_index(params_.border, i, in_.extent.x) - x];
    }
    std::fill(packed + count, packed + count + kSlack, RangeWeight::missing);
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
    std::transform(centres, centres + first, results, unchanged);
    HWY_DYNAMIC_DISPATCH(add_means)(centres + first, means + first, last - first, range_, results + first);
    std::transform(centres + last, centres + width, results + last, unchanged);
  }

  VolumeView<const float> in_;
  VolumeView<float> out_;
  BilateralParams params_;
  RangeWeight range_;
  Radius3 r_;
  std::int64_t columns_, pitch_, plane_;  ///< of a tile
  std::vector<BilateralTap> taps_;
  Index3 shift_;
};

void copy_volume(VolumeView<const float> in, VolumeView<float> out) {
  const Index3 shift{out.origin.x - in.origin.x, out.origin.y - in.origin.y, out.origin.z - in.origin.z};
  for (std::int64_t z = 0; z < out.extent.z; ++z) {
    for (std::int64_t y = 0; y < out.extent.y; ++y) {
      const float* row = in.row(y + shift.y, z + shift.z) + shift.x;
      std::transform(row, row + out.extent.x, out.row(y, z), unchanged);
    }
  }
}

}  // namespace

void bilateral_cpu(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                   const Execution& execution) {
  // The smallest difference of floats, 2^-149, has no weight then.
  if (*params.range_sigma < 0x1p-155) {
    copy_volume(in, out);
    return;
  }
  const BilateralRun run(in, out, params);
  ScratchPool pool;
  parallel_for(execution, run.bands_per_slice() * out.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch = pool.take();
    for (std::int64_t band = begin; band < end; ++band) run.filter_band(band, scratch);
    pool.give_back(std::move(scratch));
  });
}

}  // namespace quietvox
#endif  // HWY_ONCE
