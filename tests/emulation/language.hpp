// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#include "emulation/machine.hpp"

/// The words and functions of CUDA C++ that kernels of this project use, for a compiler that knows C++ only.

// NOLINTBEGIN(bugprone-reserved-identifier): these names are those of CUDA.

#define __device__
#define __global__
#define __shared__ static  // one block runs after another
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__

using std::max;
using std::min;

namespace quietvox::emulation {

template <class T>
std::uint64_t to_bits(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

/// One bit a lane: whether `holds` of what it has put in.
template <class Holds>
unsigned lanes_where(const std::uint64_t* values, const Holds& holds) {
  unsigned lanes = 0;
  for (int i = 0; i < warp_lanes; ++i) lanes |= static_cast<unsigned>(holds(values[i])) << i;
  return lanes;
}

}  // namespace quietvox::emulation

// Each is called by all lanes of a warp.

template <class T>
T __shfl_sync(unsigned, T value, int from, quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  return from_bits<T>(exchange_values(to_bits(value), place)[from % warp_lanes]);
}

template <class T>
T __shfl_xor_sync(unsigned, T value, int apart,
                  quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  return from_bits<T>(exchange_values(to_bits(value), place)[lane() ^ apart]);
}

template <class T>
T __shfl_up_sync(unsigned, T value, int apart,
                 quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  return from_bits<T>(exchange_values(to_bits(value), place)[lane() >= apart ? lane() - apart : lane()]);
}

template <class T>
T __shfl_down_sync(unsigned, T value, int apart,
                   quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  const int from = lane() + apart;
  return from_bits<T>(exchange_values(to_bits(value), place)[from < warp_lanes ? from : lane()]);
}

inline unsigned __ballot_sync(unsigned, bool holds,
                              quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  return lanes_where(exchange_values(to_bits(holds), place), [](std::uint64_t bits) { return bits != 0; });
}

inline bool __any_sync(unsigned lanes, bool holds,
                       quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  return __ballot_sync(lanes, holds, place) != 0;
}

inline unsigned __reduce_or_sync(unsigned, unsigned value,
                                 quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  const std::uint64_t* const values = exchange_values(value, place);
  return static_cast<unsigned>(std::reduce(values, values + warp_lanes, std::uint64_t{0}, std::bit_or()));
}

inline unsigned __match_any_sync(unsigned, int value,
                                 quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  using namespace quietvox::emulation;
  const std::uint64_t own = to_bits(value);
  return lanes_where(exchange_values(own, place), [&](std::uint64_t bits) { return bits == own; });
}

inline void __syncwarp(quietvox::emulation::Place place = quietvox::emulation::Place::current()) {
  quietvox::emulation::exchange_values(0, place);
}

inline void __syncthreads() { quietvox::emulation::wait_for_block(); }
inline int __syncthreads_or(bool value) { return quietvox::emulation::wait_for_block(value); }

inline unsigned long long atomicAdd(unsigned long long* to, unsigned long long value) {
  const unsigned long long before = *to;
  *to += value;
  return before;
}

template <class T>
T __ldg(const T* from) {
  return *from;
}

inline int __popc(unsigned value) { return std::popcount(value); }
inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
inline int __ffs(int value) { return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1; }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __int_as_float(int value) { return std::bit_cast<float>(value); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __saturatef(float value) { return value > 0 ? std::min(value, 1.0F) : 0; }  // 0 for NaN
inline float rsqrtf(float value) { return 1 / std::sqrt(value); }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float __frcp_rn(float value) { return 1 / value; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline long long __double2ll_rn(double value) { return std::llrint(value); }

// NOLINTEND(bugprone-reserved-identifier)
