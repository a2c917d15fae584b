// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/adaptive_bilateral/local_rates.hpp"

#include <array>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/adaptive_bilateral/local_rates.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::bilateral_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

/// Standard deviations about one vector of centres; 0 where no other voxel is present. In two passes over differences
/// from the centre, so that large intensities cost no accuracy.
HWY_INLINE Vector deviations(const float* centres, std::span<const std::int64_t> offsets) {
  const Tag d;
  const auto centre = hn::LoadU(d, centres), zero = hn::Zero(d), one = hn::Set(d, 1.0F);
  const auto missing = hn::Set(d, RangeWeight::missing);
  auto sum = zero, count = zero, squares = zero;
  for (const std::int64_t offset : offsets) {
    const auto voxel = hn::LoadU(d, centres + offset);
    const auto present = hn::Lt(voxel, missing);
    sum = hn::Add(sum, hn::IfThenElseZero(present, hn::Sub(voxel, centre)));
    count = hn::Add(count, hn::IfThenElseZero(present, one));
  }
  const auto mean = hn::Div(sum, hn::Max(count, one));
  for (const std::int64_t offset : offsets) {
    const auto voxel = hn::LoadU(d, centres + offset);
    const auto distance = hn::IfThenElseZero(hn::Lt(voxel, missing), hn::Sub(hn::Sub(voxel, centre), mean));
    squares = hn::MulAdd(distance, distance, squares);
  }
  return hn::Sqrt(hn::Div(squares, hn::Max(hn::Sub(count, one), one)));
}

void local_rates(const Tile& tile, Radius3 box, const VarianceRule& rule, std::int64_t width, std::int64_t rows,
                 float* rates, std::int64_t pitch) {
  std::array<std::int64_t, 27> offsets;
  std::size_t count = 0;
  for (int z = -box.z; z <= box.z; ++z) {
    for (int y = -box.y; y <= box.y; ++y) {
      for (int x = -box.x; x <= box.x; ++x) offsets[count++] = z * tile.plane + y * tile.pitch + x;
    }
  }
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto kappa = hn::Set(d, rule.kappa), lowest = hn::Set(d, rule.lowest), highest = hn::Set(d, rule.highest);
  const auto numerator = hn::Set(d, static_cast<float>(0.5 * std::numbers::log2e));
  const auto largest = hn::Set(d, hwy::HighestValue<float>());
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < width; x += lanes) {
      const auto deviation = deviations(tile.centre + y * tile.pitch + x, {offsets.data(), count});
      const auto sigma = hn::Max(lowest, hn::Min(hn::Mul(kappa, deviation), highest));
      hn::StoreU(hn::Min(hn::Div(numerator, hn::Mul(sigma, sigma)), largest), d, rates + y * pitch + x);
    }
  }
}

}  // namespace
}  // namespace quietvox::bilateral_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::bilateral_kernel {
namespace {
HWY_EXPORT(local_rates);
}  // namespace

void local_rates(const Tile& tile, Radius3 box, const VarianceRule& rule, std::int64_t width, std::int64_t rows,
                 float* rates, std::int64_t pitch) {
  HWY_DYNAMIC_DISPATCH(local_rates)(tile, box, rule, width, rows, rates, pitch);
}

}  // namespace quietvox::bilateral_kernel
#endif  // HWY_ONCE
