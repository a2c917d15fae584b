// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cuda/filters/box.cuh"

namespace quietvox::cuda {

/// A box of outputs in groups of one size. The last group of an axis overlaps its neighbour instead of leaving the box.
struct Groups {
  int3 first;  ///< in the output box
  int3 count;  ///< outputs per axis, no fewer than in a group
  int3 size;   ///< outputs per axis of a group

  __host__ __device__ static int number(int outputs, int size) { return (outputs + size - 1) / size; }
  __host__ __device__ int3 number() const {
    return {number(count.x, size.x), number(count.y, size.y), number(count.z, size.z)};
  }
  /// First output of a group, counted from `first`.
  __device__ int3 start(int3 group) const {
    return {min(group.x * size.x, count.x - size.x), min(group.y * size.y, count.y - size.y),
            min(group.z * size.z, count.z - size.z)};
  }
};

/// The groups that a selection network left to the general path because their windows hold missing voxels: numbered
/// along x first, then y, then z.
struct MendList {
  unsigned* groups;
  unsigned* count;
};

/// What a selection network is to do: all outputs of a box whose windows lie within the input.
template <class T>
struct NetworkJob {
  Box<const T> in;
  Box<T> out;
  int3 corner;  ///< in `in`: first voxel of the first window
  Groups groups;
  bool has_missing;  ///< integers only
  T missing;
  MendList mend;
};

/// One compiled selection network.
struct MedianNetwork {
  Triple<int> window;
  Triple<int> group_f32, group_16;  ///< outputs per thread
  void (*f32)(const NetworkJob<float>&, cudaStream_t);
  void (*i16)(const NetworkJob<std::int16_t>&, cudaStream_t);
  void (*u16)(const NetworkJob<std::uint16_t>&, cudaStream_t);
};

/// Every network of this build.
const std::vector<MedianNetwork>& median_networks();

}  // namespace quietvox::cuda
