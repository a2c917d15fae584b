// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

// For eight values: cos(k pi / 16) / 2 for k = 1, 3, 5, 7.
constexpr float cosine_1 = 0.49039264020161522F, cosine_3 = 0.41573480615127262F;
constexpr float cosine_5 = 0.27778511650980114F, cosine_7 = 0.09754516100806412F;
constexpr float root_of_half = 0.70710678118654752F;
// For four: cos(pi / 8) / sqrt(2), sin(pi / 8) / sqrt(2).
constexpr float cosine_major = 0.65328148243818826F, cosine_minor = 0.27059805007309849F;

/// Odd coefficients of eight values, from the differences of those that lie opposite.
__device__ __forceinline__ void transform_odd(const float (&odd)[4], float (&to)[4]) {
  constexpr float c1 = cosine_1, c3 = cosine_3, c5 = cosine_5, c7 = cosine_7;
  to[0] = fmaf(c1, odd[0], fmaf(c3, odd[1], fmaf(c5, odd[2], c7 * odd[3])));
  to[1] = fmaf(c3, odd[0], fmaf(-c7, odd[1], fmaf(-c1, odd[2], -(c5 * odd[3]))));
  to[2] = fmaf(c5, odd[0], fmaf(-c1, odd[1], fmaf(c7, odd[2], c3 * odd[3])));
  to[3] = fmaf(c7, odd[0], fmaf(-c5, odd[1], fmaf(c3, odd[2], -(c1 * odd[3]))));
}

__device__ __forceinline__ void inverse_transform_odd(const float (&k)[4], float (&odd)[4]) {
  constexpr float c1 = cosine_1, c3 = cosine_3, c5 = cosine_5, c7 = cosine_7;
  odd[0] = fmaf(c1, k[0], fmaf(c3, k[1], fmaf(c5, k[2], c7 * k[3])));
  odd[1] = fmaf(c3, k[0], fmaf(-c7, k[1], fmaf(-c1, k[2], -(c5 * k[3]))));
  odd[2] = fmaf(c5, k[0], fmaf(-c1, k[1], fmaf(c7, k[2], c3 * k[3])));
  odd[3] = fmaf(c7, k[0], fmaf(-c5, k[1], fmaf(c3, k[2], -(c1 * k[3]))));
}

/// Orthonormal DCT-II of a few values, and back. Products are rounded before they are added to, so that all copies of
/// the code, one for each place in a ring, come to the same bits.
template <int N>
__device__ __forceinline__ void transform(float (&v)[N]) {
  static_assert(N == 1 || N == 2 || N == 4 || N == 8);
  if constexpr (N == 2) {
    const float sum = __fmul_rn(v[0] + v[1], root_of_half);
    v[1] = __fmul_rn(v[0] - v[1], root_of_half);
    v[0] = sum;
  } else if constexpr (N == 4) {
    const float outer = v[0] + v[3], inner = v[1] + v[2], far = v[0] - v[3], near = v[1] - v[2];
    v[0] = (outer + inner) * 0.5F;
    v[2] = (outer - inner) * 0.5F;
    v[1] = fmaf(far, cosine_major, near * cosine_minor);
    v[3] = fmaf(far, cosine_minor, -(near * cosine_major));
  } else if constexpr (N == 8) {
    float even[4], odd[4], turned[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      even[i] = __fmul_rn(v[i] + v[7 - i], root_of_half);
      odd[i] = v[i] - v[7 - i];
    }
    transform<4>(even);
    transform_odd(odd, turned);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[2 * i] = even[i];
      v[2 * i + 1] = turned[i];
    }
  }
}

template <int N>
__device__ __forceinline__ void inverse_transform(float (&v)[N]) {
  static_assert(N == 1 || N == 2 || N == 4 || N == 8);
  if constexpr (N == 2) {
    transform<2>(v);
  } else if constexpr (N == 4) {
    const float outer = (v[0] + v[2]) * 0.5F, inner = (v[0] - v[2]) * 0.5F;
    const float far = fmaf(v[1], cosine_major, v[3] * cosine_minor);
    const float near = fmaf(v[1], cosine_minor, -(v[3] * cosine_major));
    v[0] = outer + far;
    v[1] = inner + near;
    v[2] = inner - near;
    v[3] = outer - far;
  } else if constexpr (N == 8) {
    float even[4], odd[4];
    const float turned[4] = {v[1], v[3], v[5], v[7]};
#pragma unroll
    for (int i = 0; i < 4; ++i) even[i] = __fmul_rn(v[2 * i], root_of_half);
    inverse_transform<4>(even);
    inverse_transform_odd(turned, odd);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v[i] = even[i] + odd[i];
      v[7 - i] = even[i] - odd[i];
    }
  }
}

/// The coefficient k of transform() over that of transform_unscaled().
template <int N>
constexpr float dct_scale(int k) {
  return N != 4 ? 1.0F : k % 2 == 0 ? 0.5F : cosine_major;
}

/// As transform(), but for factors of the coefficients where that saves multiplications.
template <int N>
__device__ __forceinline__ void transform_unscaled(float (&v)[N]) {
  if constexpr (N == 4) {
    constexpr float tangent = cosine_minor / cosine_major;
    const float outer = v[0] + v[3], inner = v[1] + v[2], far = v[0] - v[3], near = v[1] - v[2];
    v[0] = outer + inner;
    v[2] = outer - inner;
    v[1] = fmaf(near, tangent, far);
    v[3] = fmaf(far, tangent, -near);
  } else {
    transform<N>(v);
  }
}

/// Back from transform_unscaled(); four values come out four times as large.
template <int N>
__device__ __forceinline__ void inverse_transform_unscaled(float (&v)[N]) {
  if constexpr (N == 4) {
    constexpr float tangent = cosine_minor / cosine_major, odd = 4 * cosine_major * cosine_major;
    const float outer = v[0] + v[2], inner = v[0] - v[2];
    const float far = fmaf(v[3], tangent, v[1]), near = fmaf(v[1], tangent, -v[3]);
    v[0] = fmaf(far, odd, outer);
    v[1] = fmaf(near, odd, inner);
    v[2] = fmaf(near, -odd, inner);
    v[3] = fmaf(far, -odd, outer);
  } else {
    inverse_transform<N>(v);
  }
}

}  // namespace quietvox::cuda
