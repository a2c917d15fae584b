// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral/kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/bilateral/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filters/simd/exp2.hpp"

HWY_BEFORE_NAMESPACE();
namespace quietvox::bilateral_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

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

/// What is averaged, and whether the range weight has a cut.
struct Differences {
  static constexpr bool squares = false, cut = false;
};
struct CutDifferences {
  static constexpr bool squares = false, cut = true;
};
struct Squares {
  static constexpr bool squares = true, cut = false;
};

/// sum w (v - p) / sum w, or of (v - p)^2, for one vector of outputs in each of `Rows` rows, the first of which starts
/// at `centres`. `rates` holds those of the outputs, or is null where all have that of `range`. The order of the sums
/// depends on the window alone.
template <int Rows, class What>
HWY_INLINE void average(const float* centres, std::int64_t pitch, std::span<const Tap> taps, const RangeWeight& range,
                        const float* rates, float* means, std::int64_t means_pitch) {
  constexpr std::size_t group = 128;  // sums in float stay accurate over as many taps
  const Tag d;
  const auto cut = hn::Set(d, range.cut), zero = hn::Zero(d);
  Vector centre[Rows], rate[Rows];
  LongSum total[Rows], total_weight[Rows];
  for (int i = 0; i < Rows; ++i) {
    centre[i] = hn::LoadU(d, centres + i * pitch);
    rate[i] = rates ? hn::LoadU(d, rates + i * means_pitch) : hn::Set(d, range.rate);
    total[i] = {zero, zero};
    total_weight[i] = {hn::Set(d, 1.0F), zero};  // the centre's own
  }
  while (!taps.empty()) {
    Vector sum[Rows], weight[Rows];
    for (int i = 0; i < Rows; ++i) sum[i] = weight[i] = zero;
    for (const Tap& tap : taps.first(std::min(group, taps.size()))) {
      const float* neighbours = centres + tap.offset;
      const auto log2_weight = hn::Set(d, tap.log2_weight);
      Vector difference[Rows], w[Rows];
      for (int i = 0; i < Rows; ++i) difference[i] = hn::Sub(hn::LoadU(d, neighbours + i * pitch), centre[i]);
      for (int i = 0; i < Rows; ++i) w[i] = hn::Mul(difference[i], rate[i]);
      for (int i = 0; i < Rows; ++i) w[i] = hn::NegMulAdd(w[i], difference[i], log2_weight);
      vectors::HWY_NAMESPACE::exp2(d, w);
      for (int i = 0; i < Rows; ++i) {
        if constexpr (What::cut) w[i] = hn::IfThenZeroElse(hn::Ge(hn::Abs(difference[i]), cut), w[i]);
        const auto weighted = What::squares ? hn::Mul(w[i], difference[i]) : w[i];
        sum[i] = hn::MulAdd(weighted, difference[i], sum[i]);
        weight[i] = hn::Add(weight[i], w[i]);
      }
    }
    for (int i = 0; i < Rows; ++i) {
      total[i].add(sum[i]);
      total_weight[i].add(weight[i]);
    }
    taps = taps.subspan(std::min(group, taps.size()));
  }
  for (int i = 0; i < Rows; ++i) hn::StoreU(hn::Div(total[i].sum, total_weight[i].sum), d, means + i * means_pitch);
}

template <class What>
HWY_INLINE void average_rows(const Tile& tile, std::span<const Tap> taps, const RangeWeight& range, const float* rates,
                             std::int64_t width, std::int64_t rows, float* means, std::int64_t pitch) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  constexpr int together = 3;
  const auto average_at = [&]<int Rows>(std::integral_constant<int, Rows>, std::int64_t x, std::int64_t y) HWY_ATTR {
    const std::int64_t at = y * pitch + x;
    average<Rows, What>(tile.centre + y * tile.pitch + x, tile.pitch, taps, range, rates ? rates + at : nullptr,
                        means + at, pitch);
  };
  std::int64_t y = 0;
  for (; y + together <= rows; y += together) {
    for (std::int64_t x = 0; x < width; x += lanes) average_at(std::integral_constant<int, together>(), x, y);
  }
  for (; y < rows; ++y) {
    for (std::int64_t x = 0; x < width; x += lanes) average_at(std::integral_constant<int, 1>(), x, y);
  }
}

void mean_differences(const Tile& tile, std::span<const Tap> taps, const RangeWeight& range, const float* rates,
                      std::int64_t width, std::int64_t rows, float* means, std::int64_t pitch) {
  if (range.has_cut) {
    average_rows<CutDifferences>(tile, taps, range, rates, width, rows, means, pitch);
  } else {
    average_rows<Differences>(tile, taps, range, rates, width, rows, means, pitch);
  }
}

void mean_squares(const Tile& tile, std::span<const Tap> taps, const RangeWeight& range, std::int64_t width,
                  std::int64_t rows, float* means, std::int64_t pitch) {
  average_rows<Squares>(tile, taps, range, nullptr, width, rows, means, pitch);
}

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
  std::array<float, slack> rest{};
  std::copy(voxels + x, voxels + count, rest.begin());
  hn::StoreU(one_vector(hn::LoadU(d, rest.data())), d, packed + x);
}

}  // namespace
}  // namespace quietvox::bilateral_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::bilateral_kernel {

RangeWeight::RangeWeight(double sigma, double relative_cut, int power)
    : scale(-power), unscale(power), exponent(power) {
  const double scaled_cut = relative_cut * scaled(sigma);
  rate = rate_of(scaled(sigma));
  has_cut = relative_cut > 0;
  cut = static_cast<float>(scaled_cut);
  if (cut < scaled_cut) cut = std::nextafter(cut, INFINITY);
}

namespace {
HWY_EXPORT(pack);
HWY_EXPORT(mean_differences);
HWY_EXPORT(mean_squares);
HWY_EXPORT(add_means);
}  // namespace

void pack(const float* voxels, std::int64_t count, const RangeWeight& range, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack)(voxels, count, range, packed);
}

void mean_differences(const Tile& tile, std::span<const Tap> taps, const RangeWeight& range, const float* rates,
                      std::int64_t width, std::int64_t rows, float* means, std::int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(mean_differences)(tile, taps, range, rates, width, rows, means, pitch);
}

void mean_squares(const Tile& tile, std::span<const Tap> taps, const RangeWeight& range, std::int64_t width,
                  std::int64_t rows, float* means, std::int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(mean_squares)(tile, taps, range, width, rows, means, pitch);
}

void add_means(const float* centres, const float* means, std::int64_t count, const RangeWeight& range, float* results) {
  HWY_DYNAMIC_DISPATCH(add_means)(centres, means, count, range, results);
}

}  // namespace quietvox::bilateral_kernel
#endif  // HWY_ONCE
