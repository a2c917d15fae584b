// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "cuda/filters/common/box.cuh"

namespace quietvox::cuda {

/// A box of outputs.
struct Part {
  int3 first, count;
};

/// The groups of outputs that a selection network left to the general path because their windows hold missing voxels:
/// the place of the first output of each in `out`, counted from the start of its memory.
struct MendList {
  unsigned* starts;
  unsigned* count;
};

/// Networks read 16-bit voxels in aligned pairs: from this many voxels ahead of a window.
template <class T>
constexpr int pair_lead(int radius_x) {
  return sizeof(T) == 2 ? radius_x % 2 : 0;
}

/// A part of the output, no smaller than a group, whose windows lie within `in`. Of 16-bit voxels, `in`, its rows, what
/// is read for the first output (pair_lead) and `part.count.x` are aligned to pairs.
template <class T>
struct NetworkPart {
  Box<const T> in;
  int3 corner;  ///< in `in`: first voxel of the window of the part's first output
  Part part;
};

/// What a selection network is to do, in one launch: the parts at the edges of the output, and its inside last.
template <class T>
struct NetworkJob {
  static constexpr int most_parts = 7;

  Box<T> out;
  int3 radius;
  bool has_missing;  ///< integers only
  T missing;
  MendList mend;
  int count = 0, padded = 0;  ///< parts; the first `padded` of them read what the preceding kernel writes
  std::array<NetworkPart<T>, most_parts> parts{};
};

/// One compiled selection network, or what stands in for one.
struct MedianNetwork {
  Triple<int> window;
  Triple<int> group_f32, group_16;  ///< the outputs that are mended together; no part is smaller
  void (*f32)(const NetworkJob<float>&, cudaStream_t);
  void (*i16)(const NetworkJob<std::int16_t>&, cudaStream_t);
  void (*u16)(const NetworkJob<std::uint16_t>&, cudaStream_t);

  template <class T>
  int3 group() const {
    const Triple<int>& size = sizeof(T) == 2 ? group_16 : group_f32;
    return {size.x, size.y, size.z};
  }
  void run(const NetworkJob<float>& job, cudaStream_t stream) const { f32(job, stream); }
  void run(const NetworkJob<std::int16_t>& job, cudaStream_t stream) const { i16(job, stream); }
  void run(const NetworkJob<std::uint16_t>& job, cudaStream_t stream) const { u16(job, stream); }
};

/// Every network of this build.
const std::vector<MedianNetwork>& median_networks();

}  // namespace quietvox::cuda
