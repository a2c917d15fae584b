// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once per instruction set, from sources that Highway compiles so.
#if defined(QUIETVOX_FILTERS_VECTORS_DCT_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QUIETVOX_FILTERS_VECTORS_DCT_HPP
#undef QUIETVOX_FILTERS_VECTORS_DCT_HPP
#else
#define QUIETVOX_FILTERS_VECTORS_DCT_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::vectors::HWY_NAMESPACE {

/// Orthonormal DCT-II of 1, 2, 4 or 8 values, in place.
template <class Tag, class Vector, int N>
HWY_INLINE void transform(Tag d, Vector (&v)[N]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto constant = [d](double value) HWY_ATTR { return hn::Set(d, static_cast<hn::TFromD<Tag>>(value)); };
  if constexpr (N == 2) {
    const auto half = constant(0.70710678118654752);
    const auto sum = hn::Mul(hn::Add(v[0], v[1]), half);
    v[1] = hn::Mul(hn::Sub(v[0], v[1]), half);
    v[0] = sum;
  } else if constexpr (N == 4) {
    const auto half = constant(0.5), major = constant(0.65328148243818826), minor = constant(0.27059805007309849);
    const auto outer = hn::Add(v[0], v[3]), inner = hn::Add(v[1], v[2]);
    const auto far = hn::Sub(v[0], v[3]), near = hn::Sub(v[1], v[2]);
    v[0] = hn::Mul(hn::Add(outer, inner), half);
    v[2] = hn::Mul(hn::Sub(outer, inner), half);
    v[1] = hn::MulAdd(far, major, hn::Mul(near, minor));
    v[3] = hn::MulSub(far, minor, hn::Mul(near, major));
  } else if constexpr (N == 8) {
    const auto root = constant(0.70710678118654752);
    Vector even[4], odd[4];
    for (int i = 0; i < 4; ++i) {
      even[i] = hn::Mul(hn::Add(v[i], v[7 - i]), root);
      odd[i] = hn::Sub(v[i], v[7 - i]);
    }
    transform(d, even);
    const auto c1 = constant(0.49039264020161522), c3 = constant(0.41573480615127262);
    const auto c5 = constant(0.27778511650980114), c7 = constant(0.09754516100806412);
    for (int i = 0; i < 4; ++i) v[2 * i] = even[i];
    v[1] = hn::MulAdd(c1, odd[0], hn::MulAdd(c3, odd[1], hn::MulAdd(c5, odd[2], hn::Mul(c7, odd[3]))));
    v[3] = hn::MulAdd(c3, odd[0], hn::NegMulAdd(c7, odd[1], hn::NegMulAdd(c1, odd[2], hn::Neg(hn::Mul(c5, odd[3])))));
    v[5] = hn::MulAdd(c5, odd[0], hn::NegMulAdd(c1, odd[1], hn::MulAdd(c7, odd[2], hn::Mul(c3, odd[3]))));
    v[7] = hn::MulAdd(c7, odd[0], hn::NegMulAdd(c5, odd[1], hn::MulAdd(c3, odd[2], hn::Neg(hn::Mul(c1, odd[3])))));
  }
}

/// The inverse.
template <class Tag, class Vector, int N>
HWY_INLINE void inverse_transform(Tag d, Vector (&v)[N]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const auto constant = [d](double value) HWY_ATTR { return hn::Set(d, static_cast<hn::TFromD<Tag>>(value)); };
  if constexpr (N == 2) {
    transform(d, v);
  } else if constexpr (N == 4) {
    const auto half = constant(0.5), major = constant(0.65328148243818826), minor = constant(0.27059805007309849);
    const auto outer = hn::Mul(hn::Add(v[0], v[2]), half), inner = hn::Mul(hn::Sub(v[0], v[2]), half);
    const auto far = hn::MulAdd(v[1], major, hn::Mul(v[3], minor));
    const auto near = hn::MulSub(v[1], minor, hn::Mul(v[3], major));
    v[0] = hn::Add(outer, far);
    v[1] = hn::Add(inner, near);
    v[2] = hn::Sub(inner, near);
    v[3] = hn::Sub(outer, far);
  } else if constexpr (N == 8) {
    const auto root = constant(0.70710678118654752);
    const auto c1 = constant(0.49039264020161522), c3 = constant(0.41573480615127262);
    const auto c5 = constant(0.27778511650980114), c7 = constant(0.09754516100806412);
    Vector even[4], odd[4];
    for (int i = 0; i < 4; ++i) even[i] = hn::Mul(v[2 * i], root);
    inverse_transform(d, even);
    odd[0] = hn::MulAdd(c1, v[1], hn::MulAdd(c3, v[3], hn::MulAdd(c5, v[5], hn::Mul(c7, v[7]))));
    odd[1] = hn::MulAdd(c3, v[1], hn::NegMulAdd(c7, v[3], hn::NegMulAdd(c1, v[5], hn::Neg(hn::Mul(c5, v[7])))));
    odd[2] = hn::MulAdd(c5, v[1], hn::NegMulAdd(c1, v[3], hn::MulAdd(c7, v[5], hn::Mul(c3, v[7]))));
    odd[3] = hn::MulAdd(c7, v[1], hn::NegMulAdd(c5, v[3], hn::MulAdd(c3, v[5], hn::Neg(hn::Mul(c1, v[7])))));
    for (int i = 0; i < 4; ++i) {
      v[i] = hn::Add(even[i], odd[i]);
      v[7 - i] = hn::Sub(even[i], odd[i]);
    }
  }
}

}  // namespace quietvox::vectors::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
