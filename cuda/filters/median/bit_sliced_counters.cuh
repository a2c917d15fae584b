// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

/// 32 counters side by side: bit k of counter i is bit i of plane k. They count to 2^11 - 1, and tell when they reach
/// 2^11.
struct BitCounts {
  static constexpr int planes = 12, top = planes - 1, batch = 16;
  static constexpr int largest_window = (1 << top) - 1;  ///< in voxels
  unsigned plane[planes] = {};

  /// Counters that start below 2^11 and reach it with the lower middle one of `window - missing` sorted voxels.
  static __device__ BitCounts until_median(int window, const BitCounts& missing) {
    BitCounts present{};  // window + 1 - missing, as window + 1 + ~missing + 1
    unsigned carry = ~0U;
#pragma unroll
    for (int k = 0; k < planes; ++k) {
      const unsigned constant = (window + 1) >> k & 1 ? ~0U : 0U;
      present.plane[k] = constant ^ ~missing.plane[k] ^ carry;
      carry = majority(constant, ~missing.plane[k], carry);
    }
    BitCounts start{};  // 2^11 - present / 2, as 2^11 + ~(present / 2) + 1
    carry = ~0U;
#pragma unroll
    for (int k = 0; k < planes; ++k) {
      const unsigned inverse = k < top ? ~present.plane[k + 1] : 0U;
      start.plane[k] = inverse ^ carry;
      carry &= inverse;
    }
    return start;
  }

  __device__ void add(const BitCounts& other) {
    unsigned carry = 0;
#pragma unroll
    for (int k = 0; k < planes; ++k) {
      const unsigned a = plane[k], b = other.plane[k];
      plane[k] = a ^ b ^ carry;
      carry = majority(a, b, carry);
    }
  }

  /// Adds 1 to counter i for each word that has bit i set, by a tree of full adders.
  __device__ void add(unsigned (&words)[batch]) {
    unsigned carry = add_words<0>(words);
#pragma unroll
    for (int k = 4; k < planes; ++k) {
      const unsigned next = plane[k] & carry;
      plane[k] ^= carry;
      carry = next;
    }
  }

  __device__ unsigned reached() const { return plane[top]; }
  /// The four lowest bits of a counter.
  __device__ unsigned low_bits(int counter) const {
    unsigned bits = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) bits |= (plane[k] >> counter & 1U) << k;
    return bits;
  }

 private:
  static __device__ unsigned majority(unsigned a, unsigned b, unsigned c) { return (a & b) | (c & (a | b)); }

  /// Adds words of weight 2^K to plane K, two at a time, and their carries to the planes above. Returns the carries
  /// into plane 4.
  template <int K, int Count>
  __device__ unsigned add_words(const unsigned (&words)[Count]) {
    if constexpr (Count == 1) {
      return words[0];
    } else {
      unsigned carries[Count / 2];
#pragma unroll
      for (int i = 0; i < Count / 2; ++i) {
        const unsigned held = plane[K], a = words[2 * i], b = words[2 * i + 1];
        plane[K] = held ^ a ^ b;
        carries[i] = majority(held, a, b);
      }
      return add_words<K + 1>(carries);
    }
  }
};

}  // namespace quietvox::cuda
