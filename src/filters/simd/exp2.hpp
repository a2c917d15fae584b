// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once per instruction set, from sources that Highway compiles so.
#if defined(QUIETVOX_FILTERS_VECTORS_EXP2_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef QUIETVOX_FILTERS_VECTORS_EXP2_HPP
#undef QUIETVOX_FILTERS_VECTORS_EXP2_HPP
#else
#define QUIETVOX_FILTERS_VECTORS_EXP2_HPP
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::vectors::HWY_NAMESPACE {

/// 2^x for x <= 0: relative error below 2e-7 from -126 up, exactly 1 at 0, exactly 0 from -127 down; between these two,
/// tiny but not accurate. Splits x into a whole number n and f in [-1/2, 1/2]; the polynomial is the minimax one with
/// p(0) = 1; n is added to the exponent bits. Several vectors go step by step together, to keep the pipelines full.
template <class Tag, class Vector, int Count>
HWY_INLINE void exp2(Tag d, Vector (&x)[Count]) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<Tag> bits;
  const auto to_integer = hn::Set(d, 0x1.8p23F);  // a sum with it has the whole number in its low bits
  const auto smallest = hn::Set(d, -127.0F);
  const float coefficients[] = {1.3264228e-3F, 9.6715149e-3F, 5.5507351e-2F, 2.4022242e-1F, 6.9314700e-1F, 1.0F};
  Vector whole[Count], p[Count];
  for (int i = 0; i < Count; ++i) x[i] = hn::Max(x[i], smallest);
  for (int i = 0; i < Count; ++i) whole[i] = hn::Add(x[i], to_integer);
  for (int i = 0; i < Count; ++i) x[i] = hn::Sub(x[i], hn::Sub(whole[i], to_integer));
  for (int i = 0; i < Count; ++i) p[i] = hn::Set(d, coefficients[0]);
  for (int k = 1; k < 6; ++k) {
    for (int i = 0; i < Count; ++i) p[i] = hn::MulAdd(p[i], x[i], hn::Set(d, coefficients[k]));
  }
  for (int i = 0; i < Count; ++i) {
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(bits, whole[i]));
    x[i] = hn::BitCast(d, hn::Add(hn::BitCast(bits, p[i]), exponent));
  }
}

}  // namespace quietvox::vectors::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
