// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/voxel_loops.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/voxel_loops.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::io::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int32_t infinity_bits = 0x7f800000;  // NaNs have greater magnitudes

/// Rounds as many values as a vector of the tag holds. Returns how many lie beyond the type. `greatest` becomes their
/// magnitudes, as bits, where these are greater.
template <class D, class T>
HWY_INLINE std::size_t round_vector(D d, const float* values, T* integers,
                                    hn::VFromD<hn::RebindToSigned<D>>& greatest) {
  const hn::RebindToSigned<D> wide;
  const hn::Rebind<T, D> narrow;
  constexpr float far = 1 << 17;  // is beyond both types
  const auto given = hn::LoadU(d, values);
  greatest = hn::Max(greatest, hn::BitCast(wide, hn::Abs(given)));
  const auto value = hn::Min(hn::Max(given, hn::Set(d, -far)), hn::Set(d, far));
  // Twice the value is exact. Cut to an integer, its magnitude is odd from a half on.
  const auto halves = hn::ConvertTo(wide, hn::Add(value, value));
  const auto sign = hn::ShiftRight<31>(halves);
  const auto magnitude = hn::Sub(hn::Xor(halves, sign), sign);
  const auto rounded = hn::ShiftRight<1>(hn::Add(magnitude, hn::Set(wide, 1)));
  const auto number = hn::Sub(hn::Xor(rounded, sign), sign);
  const auto stored = hn::DemoteTo(narrow, number);
  hn::StoreU(stored, narrow, integers);
  return hn::CountTrue(wide, hn::Ne(hn::PromoteTo(wide, stored), number));
}

template <class T>
Rounded round_all(std::span<const float> values, T* integers) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const hn::RebindToSigned<decltype(d)> wide;
  const hn::RebindToSigned<decltype(one)> wide_one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t beyond = 0, i = 0;
  auto greatest = hn::Zero(wide);
  auto greatest_of_rest = hn::Zero(wide_one);
  for (; i + lanes <= values.size(); i += lanes) beyond += round_vector(d, values.data() + i, integers + i, greatest);
  for (; i < values.size(); ++i) beyond += round_vector(one, values.data() + i, integers + i, greatest_of_rest);
  const bool are_finite = hn::AllTrue(wide, hn::Lt(greatest, hn::Set(wide, infinity_bits))) &&
                          hn::GetLane(greatest_of_rest) < infinity_bits;
  return {static_cast<std::int64_t>(beyond), are_finite};
}

Rounded to_int16(std::span<const float> values, std::int16_t* integers) { return round_all(values, integers); }
Rounded to_uint16(std::span<const float> values, std::uint16_t* integers) { return round_all(values, integers); }

template <class T>
void widen_all(const T* integers, std::span<float> values) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> wide;
  const hn::Rebind<T, decltype(d)> narrow;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    hn::StoreU(hn::ConvertTo(d, hn::PromoteTo(wide, hn::LoadU(narrow, integers + i))), d, values.data() + i);
  }
  for (; i < values.size(); ++i) values[i] = integers[i];
}

void from_int16(const std::int16_t* integers, std::span<float> values) { widen_all(integers, values); }
void from_uint16(const std::uint16_t* integers, std::span<float> values) { widen_all(integers, values); }

Magnitudes magnitudes_of(std::span<const float> values) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto without_sign = hn::Set(d, 0x7fffffff);
  const auto* bits = reinterpret_cast<const std::uint32_t*>(values.data());
  auto least = hn::Set(d, Magnitudes().least), greatest = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto magnitude = hn::And(hn::LoadU(d, bits + i), without_sign);
    least = hn::Min(least, magnitude);
    greatest = hn::Max(greatest, magnitude);
  }
  Magnitudes found{hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, greatest))};
  for (; i < values.size(); ++i) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffff;
    found = {std::min(found.least, magnitude), std::max(found.greatest, magnitude)};
  }
  return found;
}

std::pair<float, float> range_of(std::span<const float> values) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto above = hn::Set(d, infinity), below = hn::Set(d, -infinity);
  auto least = above, greatest = below;
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    const auto value = hn::LoadU(d, values.data() + i);
    const auto is_finite = hn::Lt(hn::Abs(value), above);
    least = hn::Min(least, hn::IfThenElse(is_finite, value, above));
    greatest = hn::Max(greatest, hn::IfThenElse(is_finite, value, below));
  }
  std::pair found{hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, greatest))};
  for (; i < values.size(); ++i) {
    if (std::isfinite(values[i])) found = {std::min(found.first, values[i]), std::max(found.second, values[i])};
  }
  return found;
}

}  // namespace
}  // namespace quietvox::io::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::io {

HWY_EXPORT(to_int16);
HWY_EXPORT(to_uint16);
HWY_EXPORT(from_int16);
HWY_EXPORT(from_uint16);
HWY_EXPORT(magnitudes_of);
HWY_EXPORT(range_of);

Rounded nearest_integers(std::span<const float> values, std::span<std::int16_t> integers) {
  return HWY_DYNAMIC_DISPATCH(to_int16)(values, integers.data());
}

Rounded nearest_integers(std::span<const float> values, std::span<std::uint16_t> integers) {
  return HWY_DYNAMIC_DISPATCH(to_uint16)(values, integers.data());
}

void to_floats(std::span<const std::int16_t> integers, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(from_int16)(integers.data(), values);
}

void to_floats(std::span<const std::uint16_t> integers, std::span<float> values) {
  HWY_DYNAMIC_DISPATCH(from_uint16)(integers.data(), values);
}

Magnitudes magnitudes(std::span<const float> values) { return HWY_DYNAMIC_DISPATCH(magnitudes_of)(values); }

std::pair<float, float> finite_range(std::span<const float> values) { return HWY_DYNAMIC_DISPATCH(range_of)(values); }

}  // namespace quietvox::io
#endif  // HWY_ONCE
