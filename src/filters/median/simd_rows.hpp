// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/volume_view.hpp"

/// The CPU's vector code of the median: rows of keys, and networks that run on whole rows.
///
/// Networks work on integer keys that are ordered as the voxels are: there integer minima are quicker than those of
/// floats, and NaN and -0 need no care. A row of keys is stored in phases: with P phases the key of voxel x stands at
/// place x / P of phase x % P. So P neighbouring outputs, which share most of their windows, lie in the same lane of P
/// vectors.
///
/// Floats that all are whole numbers of 16 bits, as most scans store, may have keys of 16 bits, which take half the
/// time.
namespace quietvox::selection {

template <class T>
using Key = std::conditional_t<std::is_same_v<T, float>, std::int32_t, std::int16_t>;

/// Keys in the widest vector there is. Rows are handled in whole vectors of this size, whatever the machine's is.
template <class K>
inline constexpr std::int64_t vector_keys = 64 / static_cast<std::int64_t>(sizeof(K));

enum class RowContent : std::uint8_t {
  present,  ///< no voxel is missing
  missing,  ///< some are; their keys are meaningless
  unfit,    ///< keys of this size cannot hold some voxels
};

/// Rows of voxels to keys and back. `phases` is 1, 2 or 4; `vectors` counts the vectors of each phase.
template <class T, class K>
struct RowCodec {
  using Key = K;
  /// Reads vectors * phases * vector_keys voxels.
  RowContent (*encode)(const T* voxels, std::int64_t vectors, std::int64_t phases, std::ptrdiff_t phase_pitch, K* keys,
                       std::optional<T> missing);
  /// The opposite; a -0 has become +0.
  void (*decode)(const K* keys, std::int64_t vectors, std::int64_t phases, std::ptrdiff_t phase_pitch, T* voxels);
  /// Writes voxels past the caches, which would else read first what is overwritten. flush() must follow the last such
  /// copy.
  void (*stream)(const T* voxels, std::int64_t count, T* to);
  void (*flush)();
  /// Bring voxels into the second-level or the first-level cache, without waiting for them.
  void (*prefetch_l2)(const T* voxels, std::int64_t count);
  void (*prefetch_l1)(const T* voxels, std::int64_t count);
};

/// Input and output of a network for one row of tiles. `in_offsets.x[i]` is where coordinate i along the network's x
/// axis lies, in keys from `in`; likewise y, z and `out_offsets`.
template <class K>
struct TileRow {
  const K* in;
  Triple<const std::ptrdiff_t*> in_offsets;
  K* out;
  Triple<const std::ptrdiff_t*> out_offsets;
  std::int64_t count;  ///< keys per phase, a multiple of vector_keys
};

/// A network for vectors of this machine.
struct RowNetwork {
  Triple<int> window, tile;  ///< sizes along the network's axes, window.x >= window.y >= window.z
  void (*run32)(const TileRow<std::int32_t>&);
  void (*run16)(const TileRow<std::int16_t>&);
};

/// What suits the processor, as Highway chose it: empty where it has none of the vectors that the networks are built
/// for.
struct SimdFunctions {
  std::vector<std::span<const RowNetwork>> networks;
  RowCodec<float, std::int32_t> f32;
  RowCodec<float, std::int16_t> whole_f32;
  RowCodec<std::int16_t, std::int16_t> i16;
  RowCodec<std::uint16_t, std::int16_t> u16;

  /// The network of a window whose sizes are given in any order, or none. A tile of one output is `single`.
  const RowNetwork* find(Triple<int> window, bool single) const;
};
SimdFunctions simd_functions();

}  // namespace quietvox::selection
