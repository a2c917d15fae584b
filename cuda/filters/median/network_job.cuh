// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "cuda/filters/common/device_view.cuh"

namespace quietvox::cuda {

/// A box of outputs.
struct Part {
  int3 first, count;
};

/// Groups of outputs that a selection network leaves to the general path because their windows hold missing voxels.
/// Each is given by the index of its first output in the memory of `out`.
struct RecomputeList {
  unsigned* starts;
  unsigned* count;
};

/// Networks read 16-bit voxels in aligned pairs, so they start this many voxels ahead of a window.
template <class T>
constexpr int pair_lead(int radius_x) {
  return sizeof(T) == 2 ? radius_x % 2 : 0;
}

/// A part of the output, no smaller than a group, whose windows lie within `in`. For 16-bit voxels, all of these are
/// aligned to pairs: `in`, its rows, the first voxel read for the first output (see pair_lead), `part.count.x`.
template <class T>
struct NetworkPart {
  DeviceView<const T> in;
  int3 corner;  ///< in `in`: first voxel of the window of the part's first output
  Part part;
};

/// The work of a selection network in one launch: first the parts at the edges of the output, last its inside.
template <class T>
struct NetworkJob {
  static constexpr int most_parts = 7;

  DeviceView<T> out;
  int3 radius;
  bool has_missing;  ///< integers only
  T missing;
  RecomputeList recompute;
  int count = 0, padded = 0;  ///< parts; the first `padded` of them read what the preceding kernel writes
  std::array<NetworkPart<T>, most_parts> parts{};
};

/// A compiled selection network, or a kernel that takes its place.
struct MedianNetwork {
  Triple<int> window;
  Triple<int> group_f32, group_16;  ///< the outputs that are recomputed together; no part is smaller
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
