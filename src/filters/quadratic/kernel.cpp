// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic/kernel.hpp"

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/quadratic/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::quadratic_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;

template <int Radius, int Vectors>
HWY_INLINE void filter_vectors(const std::array<const float*, 5>& rows, std::int64_t x, const QuadraticForm& form,
                               const Scale& scales, float* results) {
  constexpr int size = 2 * Radius + 1, neighbours = size * size - 1;
  const Tag d;
  using Vector = hn::Vec<Tag>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, scales.scale), unscale = hn::Set(d, scales.unscale);
  const auto largest = hn::Set(d, hwy::HighestValue<float>());
  Vector voxel[Vectors], centre[Vectors], difference[neighbours][Vectors], sum[Vectors];
  for (int v = 0; v < Vectors; ++v) {
    voxel[v] = hn::LoadU(d, rows[Radius] + x + v * lanes);
    centre[v] = hn::Mul(hn::Sub(voxel[v], hn::Set(d, scales.origin)), scale);
    sum[v] = hn::MulAdd(hn::MulAdd(hn::Set(d, form.square), centre[v], hn::Set(d, form.linear)), centre[v],
                        hn::Set(d, form.constant));
  }
  int count = 0;
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      if (row == Radius && column == Radius) continue;
      for (int v = 0; v < Vectors; ++v) {
        const auto neighbour = hn::LoadU(d, rows[static_cast<std::size_t>(row)] + x + v * lanes + column - Radius);
        const auto present = hn::Le(hn::Abs(neighbour), largest);
        difference[count][v] = hn::IfThenElseZero(present, hn::Mul(hn::Sub(neighbour, voxel[v]), scale));
      }
      ++count;
    }
  }
  const float* pair = form.of_pair.data();
  for (int i = 0; i < neighbours; ++i) {
    Vector factor[Vectors];
    const auto own = hn::Set(d, form.of_difference[static_cast<std::size_t>(i)]);
    const auto with_centre = hn::Set(d, form.of_centre[static_cast<std::size_t>(i)]);
    for (int v = 0; v < Vectors; ++v) factor[v] = hn::MulAdd(with_centre, centre[v], own);
    for (int j = i; j < neighbours; ++j) {
      const auto of_pair = hn::Set(d, *pair++);
      for (int v = 0; v < Vectors; ++v) factor[v] = hn::MulAdd(of_pair, difference[j][v], factor[v]);
    }
    for (int v = 0; v < Vectors; ++v) sum[v] = hn::MulAdd(factor[v], difference[i][v], sum[v]);
  }
  for (int v = 0; v < Vectors; ++v) {
    const auto result = hn::Add(hn::MulAdd(sum[v], unscale, voxel[v]), hn::Zero(d));
    const auto present = hn::Le(hn::Abs(voxel[v]), largest);
    hn::StoreU(hn::IfThenElse(present, result, voxel[v]), d, results + x + v * lanes);
  }
}

template <int Radius>
HWY_INLINE void filter_row(const std::array<const float*, 5>& rows, std::int64_t width, const QuadraticForm& form,
                           const Scale& scale, float* results) {
  constexpr int together = 2;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  std::int64_t x = 0;
  for (; x + together * lanes <= width; x += together * lanes) {
    filter_vectors<Radius, together>(rows, x, form, scale, results);
  }
  for (; x < width; x += lanes) filter_vectors<Radius, 1>(rows, x, form, scale, results);
}

void filter_row_of_any_size(const std::array<const float*, 5>& rows, std::int64_t width, const QuadraticForm& form,
                            const Scale& scale, float* results) {
  if (form.radius() == 1) {
    filter_row<1>(rows, width, form, scale, results);
  } else {
    filter_row<2>(rows, width, form, scale, results);
  }
}

}  // namespace
}  // namespace quietvox::quadratic_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::quadratic_kernel {
namespace {
HWY_EXPORT(filter_row_of_any_size);
}  // namespace

void filter_row(const std::array<const float*, 5>& rows, std::int64_t width, const QuadraticForm& form,
                const Scale& scale, float* results) {
  HWY_DYNAMIC_DISPATCH(filter_row_of_any_size)(rows, width, form, scale, results);
}

}  // namespace quietvox::quadratic_kernel
#endif  // HWY_ONCE
