// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/nifti/nearest_integers.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "io/nifti/nearest_integers.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::io::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

/// Rounds as many values as a vector of the tag holds. Returns how many lie beyond the type.
template <class D, class T>
HWY_INLINE std::size_t round_vector(D d, const float* values, T* integers) {
  const hn::RebindToSigned<D> wide;
  const hn::Rebind<T, D> narrow;
  constexpr float far = 1 << 17;  // is beyond both types
  const auto value = hn::Min(hn::Max(hn::LoadU(d, values), hn::Set(d, -far)), hn::Set(d, far));
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
std::int64_t round_all(std::span<const float> values, T* integers) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t beyond = 0, i = 0;
  for (; i + lanes <= values.size(); i += lanes) beyond += round_vector(d, values.data() + i, integers + i);
  for (; i < values.size(); ++i) beyond += round_vector(hn::CappedTag<float, 1>(), values.data() + i, integers + i);
  return static_cast<std::int64_t>(beyond);
}

std::int64_t to_int16(std::span<const float> values, std::int16_t* integers) { return round_all(values, integers); }
std::int64_t to_uint16(std::span<const float> values, std::uint16_t* integers) { return round_all(values, integers); }

}  // namespace
}  // namespace quietvox::io::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::io {

HWY_EXPORT(to_int16);
HWY_EXPORT(to_uint16);

std::int64_t nearest_integers(std::span<const float> values, std::span<std::int16_t> integers) {
  return HWY_DYNAMIC_DISPATCH(to_int16)(values, integers.data());
}

std::int64_t nearest_integers(std::span<const float> values, std::span<std::uint16_t> integers) {
  return HWY_DYNAMIC_DISPATCH(to_uint16)(values, integers.data());
}

}  // namespace quietvox::io
#endif  // HWY_ONCE
