// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/prinlm/kernel.hpp"

#include <limits>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/prinlm/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filters/simd/exp2.hpp"

HWY_BEFORE_NAMESPACE();
namespace quietvox::prinlm_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;

/// Vectors that go through a window together.
constexpr int together = 2;

HWY_INLINE void filter_places(const Region& region, Radius3 search, std::int64_t place, float* changes) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector value[together], centre[together], mean[together], sum[together], weights[together];
  for (int i = 0; i < together; ++i) {
    value[i] = hn::LoadU(d, region.value.data() + place + i * lanes);
    centre[i] = hn::LoadU(d, region.centre.data() + place + i * lanes);
    mean[i] = hn::LoadU(d, region.mean.data() + place + i * lanes);
    sum[i] = weights[i] = hn::Zero(d);
  }
  for (int z = -search.z; z <= search.z; ++z) {
    for (int y = -search.y; y <= search.y; ++y) {
      const std::int64_t first = place + (z * region.size.y + y) * region.pitch - search.x;
      for (std::int64_t other = first; other <= first + 2 * search.x; ++other) {
        Vector weight[together];
        for (int i = 0; i < together; ++i) {
          const auto a = hn::Sub(hn::LoadU(d, region.centre.data() + other + i * lanes), centre[i]);
          const auto b = hn::Sub(hn::LoadU(d, region.mean.data() + other + i * lanes), mean[i]);
          weight[i] = hn::NegMulAdd(a, a, hn::Neg(hn::Mul(b, b)));
        }
        vectors::HWY_NAMESPACE::exp2(d, weight);
        for (int i = 0; i < together; ++i) {
          const auto change = hn::Sub(hn::LoadU(d, region.value.data() + other + i * lanes), value[i]);
          sum[i] = hn::MulAdd(weight[i], change, sum[i]);
          weights[i] = hn::Add(weights[i], weight[i]);
        }
      }
    }
  }
  for (int i = 0; i < together; ++i) hn::StoreU(hn::Div(sum[i], weights[i]), d, changes + i * lanes);
}

void filter_row(const Region& region, Radius3 search, std::int64_t y, std::int64_t z, std::int64_t count,
                float* changes) {
  const auto step = together * static_cast<std::int64_t>(hn::Lanes(Tag()));
  const std::int64_t row = region.row(y + search.y, z + search.z) + search.x;
  for (std::int64_t x = 0; x < count; x += step) filter_places(region, search, row + x, changes + x);
}

}  // namespace
}  // namespace quietvox::prinlm_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::prinlm_kernel {

void Region::reset(const Extent& extent) {
  size = extent;
  pitch = extent.x + slack;
  const auto voxels = static_cast<std::size_t>(pitch * extent.y * extent.z);
  value.assign(voxels, 0);
  centre.assign(voxels, std::numeric_limits<float>::infinity());
  mean.assign(voxels, std::numeric_limits<float>::infinity());
}

namespace {
HWY_EXPORT(filter_row);
}  // namespace

void filter_row(const Region& region, Radius3 search, std::int64_t y, std::int64_t z, std::int64_t count,
                float* changes) {
  HWY_DYNAMIC_DISPATCH(filter_row)(region, search, y, z, count, changes);
}

}  // namespace quietvox::prinlm_kernel
#endif  // HWY_ONCE
