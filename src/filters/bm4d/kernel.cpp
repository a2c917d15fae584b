// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d/kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/bm4d/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filters/simd/dct.hpp"

#ifndef QUIETVOX_BM4D_REGION
#define QUIETVOX_BM4D_REGION
namespace quietvox::bm4d_kernel {

constexpr std::int64_t slack = 32;    ///< floats that vectors may read past the end of a row
constexpr std::int64_t together = 4;  ///< offsets along x that are compared together

/// The box of voxels that a tile sees, and blocks within it.
struct Region {
  Region(const Stage& stage, const Tile& tile) : lengths(stage.lengths), search(stage.search) {
    const std::span<const std::int64_t> places[3] = {tile.x, tile.y, tile.z};
    for (int axis = 0; axis < 3; ++axis) {
      origin[axis] = places[axis].front() - search[axis];
      size[axis] = places[axis].back() + lengths[axis] + search[axis] - origin[axis];
    }
    pitch = size.x + slack;
    plane = pitch * size.y;
    block_voxels = std::int64_t{lengths.x} * lengths.y * lengths.z;
    block_rows = std::int64_t{lengths.y} * lengths.z;
    window = {{2 * search.x + 1, 2 * search.y + 1, 2 * search.z + 1}};
    offsets = (window.voxels() + 15) / 16 * 16;
  }

  std::int64_t at(const Index3& p) const { return p.z * plane + p.y * pitch + p.x; }
  /// How far row `i` of a block lies from the first voxel of the block.
  std::int64_t row(std::int64_t i) const { return i / lengths.y * plane + i % lengths.y * pitch; }

  Radius3 lengths, search;
  Index3 origin;
  Extent size, window;
  std::int64_t pitch, plane, block_voxels, block_rows;
  std::int64_t offsets;  ///< of a window, and some that fill the last vector
};

/// A group: the blocks' places in the region, the reference first, and how far from it they lie.
struct Group {
  std::array<std::int64_t, most_blocks> places;
  std::array<Index3, most_blocks> steps;
  int count = 0;
};

}  // namespace quietvox::bm4d_kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace quietvox::bm4d_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;

// Matching.

/// For each x, the squared differences between a column of block rows at `from + x` and the column `offset + i` further
/// on, summed over the rows; i = 0..3 go to four rows of `sums`, `pitch` apart.
HWY_INLINE void compare_columns(const Region& region, const float* from, std::int64_t offset, std::int64_t count,
                                float* sums, std::int64_t pitch) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t x = 0; x < count; x += lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::int64_t i = 0; i < region.block_rows; ++i) {
      const float* const row = from + region.row(i) + x;
      const auto voxels = hn::LoadU(d, row);
      const float* const other = row + offset;
      const auto d0 = hn::Sub(hn::LoadU(d, other), voxels), d1 = hn::Sub(hn::LoadU(d, other + 1), voxels);
      const auto d2 = hn::Sub(hn::LoadU(d, other + 2), voxels), d3 = hn::Sub(hn::LoadU(d, other + 3), voxels);
      s0 = hn::MulAdd(d0, d0, s0);
      s1 = hn::MulAdd(d1, d1, s1);
      s2 = hn::MulAdd(d2, d2, s2);
      s3 = hn::MulAdd(d3, d3, s3);
    }
    hn::StoreU(s0, d, sums + x);
    hn::StoreU(s1, d, sums + pitch + x);
    hn::StoreU(s2, d, sums + 2 * pitch + x);
    hn::StoreU(s3, d, sums + 3 * pitch + x);
  }
}

/// Sums of `length` neighbours, in place.
HWY_INLINE void sum_neighbours(float* sums, std::int64_t count, int length) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t x = 0; x < count; x += lanes) {
    auto sum = hn::LoadU(d, sums + x);
    for (int n = 1; n < length; ++n) sum = hn::Add(sum, hn::LoadU(d, sums + x + n));
    hn::StoreU(sum, d, sums + x);
  }
}

/// Fills the distances of the references of a row, at `y` and `z` of the region, to the blocks of their windows.
HWY_INLINE void compare_row(const Region& region, std::span<const std::int64_t> places, std::int64_t y, std::int64_t z,
                            Scratch& scratch) {
  const std::int64_t first = places.front() - region.origin.x, width = places.back() - places.front() + 1;
  const std::int64_t pitch = width + region.lengths.x + slack;
  const Radius3 r = region.search;
  float* const sums = scratch.row_sums.data();
  const float* const from = scratch.compared.data() + region.at({first, y, z});
  std::int64_t n = 0;
  for (int dz = -r.z; dz <= r.z; ++dz) {
    for (int dy = -r.y; dy <= r.y; ++dy, n += region.window.x) {
      for (int dx = -r.x; dx <= r.x; dx += together) {
        compare_columns(region, from, region.at({dx, dy, dz}), width + region.lengths.x - 1, sums, pitch);
        const std::int64_t offsets = std::min<std::int64_t>(together, r.x - dx + 1);
        for (std::int64_t k = 0; k < offsets; ++k) {
          sum_neighbours(sums + k * pitch, width, region.lengths.x);
          float* to = scratch.distances.data() + n + dx + r.x + k;
          for (const std::int64_t place : places) {
            *to = sums[k * pitch + place - places.front()];
            to += region.offsets;
          }
        }
      }
    }
  }
}

/// The reference whose distances these are, and those blocks of its window that are nearest, nearest first.
HWY_INLINE Group nearest(const Region& region, const float* distances, std::int64_t reference) {
  constexpr int most = most_blocks;
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t own = region.window.voxels() / 2;
  std::array<float, most_blocks> nearest_ones;
  std::array<std::int64_t, most_blocks> offsets;
  Group group;
  if (!(distances[own] == 0)) return group;  // a voxel is missing
  int count = 1;
  nearest_ones[0] = -1;
  offsets[0] = own;
  float farthest = std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < region.offsets; i += lanes) {
    const auto nearer = hn::Lt(hn::LoadU(d, distances + i), hn::Set(d, farthest));
    if (hn::AllFalse(d, nearer)) continue;
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, nearer, bits);
    std::uint32_t mask = (std::uint32_t{bits[0]} | std::uint32_t{bits[1]} << 8U) & ((1U << lanes) - 1);
    for (; mask != 0; mask &= mask - 1) {
      const std::int64_t offset = i + __builtin_ctz(mask);
      const float distance = distances[offset];
      if (!(distance < farthest) || offset == own || offset >= region.window.voxels()) continue;
      int place = count < most ? count++ : most - 1;
      for (; place > 1 && nearest_ones[static_cast<std::size_t>(place - 1)] > distance; --place) {
        nearest_ones[static_cast<std::size_t>(place)] = nearest_ones[static_cast<std::size_t>(place - 1)];
        offsets[static_cast<std::size_t>(place)] = offsets[static_cast<std::size_t>(place - 1)];
      }
      nearest_ones[static_cast<std::size_t>(place)] = distance;
      offsets[static_cast<std::size_t>(place)] = offset;
      if (count == most) farthest = nearest_ones[static_cast<std::size_t>(most - 1)];
    }
  }
  group.count = 1;
  while (2 * group.count <= count) group.count *= 2;
  const Radius3 r = region.search;
  for (int i = 0; i < group.count; ++i) {
    const std::int64_t offset = offsets[static_cast<std::size_t>(i)];
    const Index3 step{offset % region.window.x - r.x, offset / region.window.x % region.window.y - r.y,
                      offset / region.window.slice() - r.z};
    group.places[static_cast<std::size_t>(i)] = reference + region.at(step);
    group.steps[static_cast<std::size_t>(i)] = step;
  }
  return group;
}

// Transforms. A pass takes [N][rest] values to [rest][N] ones, transformed along N: after one for each axis, the axes
// are where they were.

/// Haar wavelets of 1, 2, 4 or 8 values, in place, and back: of sums and differences alone, which are exact.
template <class Tag, class Vector, int N>
HWY_INLINE void to_wavelets(Tag d, Vector (&v)[N]) {
  if constexpr (N > 1) {
    Vector low[N / 2], high[N / 2];
    for (int i = 0; i < N / 2; ++i) {
      low[i] = hn::Add(v[2 * i], v[2 * i + 1]);
      high[i] = hn::Sub(v[2 * i], v[2 * i + 1]);
    }
    to_wavelets(d, low);
    for (int i = 0; i < N / 2; ++i) {
      v[i] = low[i];
      v[N / 2 + i] = high[i];
    }
  }
}

template <class Tag, class Vector, int N>
HWY_INLINE void from_wavelets(Tag d, Vector (&v)[N]) {
  if constexpr (N > 1) {
    Vector low[N / 2];
    for (int i = 0; i < N / 2; ++i) low[i] = v[i];
    from_wavelets(d, low);
    Vector high[N / 2];
    for (int i = 0; i < N / 2; ++i) high[i] = v[N / 2 + i];
    for (int i = 0; i < N / 2; ++i) {
      v[2 * i] = hn::Add(low[i], high[i]);
      v[2 * i + 1] = hn::Sub(low[i], high[i]);
    }
  }
}

enum class Direction { forward, back };

/// The first stage transforms by wavelets, in double, the second by cosines, in float.
template <Direction Way, class Tag, class Vector, int N>
HWY_INLINE void transform_vectors(Tag d, Vector (&v)[N]) {
  if constexpr (std::is_same_v<hn::TFromD<Tag>, double>) {
    if constexpr (Way == Direction::forward) {
      to_wavelets(d, v);
    } else {
      from_wavelets(d, v);
    }
  } else {
    if constexpr (Way == Direction::forward) {
      vectors::HWY_NAMESPACE::transform(d, v);
    } else {
      vectors::HWY_NAMESPACE::inverse_transform(d, v);
    }
  }
}

/// Stores vectors so that their lanes follow each other.
template <class Tag, class Vector, int N>
HWY_INLINE void store_turned(Tag d, const Vector (&v)[N], hn::TFromD<Tag>* to) {
  using T = hn::TFromD<Tag>;
  if constexpr (N == 4 && hn::MaxLanes(Tag()) > 1) {
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, to);
  } else {
    constexpr std::size_t most = 16;
    HWY_ALIGN T values[N * most];
    const std::size_t lanes = hn::Lanes(d);
    for (int n = 0; n < N; ++n) hn::Store(v[n], d, values + static_cast<std::size_t>(n) * lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
      for (int n = 0; n < N; ++n) *to++ = values[static_cast<std::size_t>(n) * lanes + i];
    }
  }
}

template <Direction Way, int N, int Lanes, class T>
HWY_INLINE void transform_axis_by(const T* from, T* to, std::int64_t rest) {
  const hn::CappedTag<T, Lanes> d;
  using Vector = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < rest; i += lanes) {
    Vector v[N];
    for (int n = 0; n < N; ++n) v[n] = hn::LoadU(d, from + n * rest + i);
    transform_vectors<Way>(d, v);
    store_turned(d, v, to + N * i);
  }
}

template <Direction Way, int N, class T>
HWY_INLINE void transform_axis(const T* from, T* to, std::int64_t rest) {
  if (rest % 16 == 0) {
    transform_axis_by<Way, N, 16>(from, to, rest);
  } else if (rest % 8 == 0) {
    transform_axis_by<Way, N, 8>(from, to, rest);
  } else {
    transform_axis_by<Way, N, 1>(from, to, rest);
  }
}

/// Transforms a block along z, y and x; `spare` has room for another.
template <Direction Way, class T>
void transform_block(Radius3 lengths, std::int64_t voxels, T* block, T* spare) {
  T *from = block, *to = spare;
  for (const int length : {lengths.z, lengths.y, lengths.x}) {
    switch (length) {
      case 1: continue;
      case 2: transform_axis<Way, 2>(from, to, voxels / 2); break;
      case 4: transform_axis<Way, 4>(from, to, voxels / 4); break;
      default: transform_axis<Way, 8>(from, to, voxels / 8); break;
    }
    std::swap(from, to);
  }
  if (from != block) std::copy_n(from, voxels, block);
}

/// Haar wavelets across the blocks of a group, in place: pairs of blocks, pairs of pairs, ... Of float orthonormal
/// ones.
template <Direction Way, class T>
HWY_INLINE void transform_stack(std::int64_t values, int count, T* group) {
  const hn::CappedTag<T, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto scaled = [&](auto v) HWY_ATTR {
    if constexpr (std::is_same_v<T, float>) {
      return hn::Mul(v, hn::Set(d, 0.70710678118654752F));
    } else {
      return v;
    }
  };
  const auto level = [&](int apart) HWY_ATTR {
    for (int i = 0; i < count; i += 2 * apart) {
      T *const even = group + i * values, *const odd = even + apart * values;
      for (std::int64_t k = 0; k < values; k += lanes) {
        const auto a = hn::LoadU(d, even + k), b = hn::LoadU(d, odd + k);
        hn::StoreU(scaled(hn::Add(a, b)), d, even + k);
        hn::StoreU(scaled(hn::Sub(a, b)), d, odd + k);
      }
    }
  };
  if constexpr (Way == Direction::forward) {
    for (int apart = 1; apart < count; apart *= 2) level(apart);
  } else {
    for (int apart = count / 2; apart > 0; apart /= 2) level(apart);
  }
}

/// Rounds to a multiple of a grid, whose 1.5 x 2^52-fold is `shift`.
template <class Tag, class Vector>
HWY_INLINE Vector on_grid(Tag d, Vector value, double shift) {
  return hn::Sub(hn::Add(value, hn::Set(d, shift)), hn::Set(d, shift));
}

// Groups. Their blocks lie block_room values apart, so that whole vectors are theirs.

template <class T>
HWY_INLINE void load_group(const Region& region, const Group& group, const float* voxels, T* to) {
  for (int m = 0; m < group.count; ++m) {
    T* block = to + m * block_room;
    for (std::int64_t i = 0; i < region.block_rows; ++i) {
      const float* const row = voxels + group.places[static_cast<std::size_t>(m)] + region.row(i);
      for (int x = 0; x < region.lengths.x; ++x) *block++ = static_cast<T>(row[x]);
    }
  }
}

template <Direction Way, class T>
HWY_INLINE void transform_group(const Region& region, int count, T* group, T* spare) {
  if constexpr (Way == Direction::back) transform_stack<Way>(block_room, count, group);
  for (int m = 0; m < count; ++m) {
    transform_block<Way>(region.lengths, region.block_voxels, group + m * block_room, spare);
  }
  if constexpr (Way == Direction::forward) transform_stack<Way>(block_room, count, group);
}

/// Blocks that wavelet `m` across the blocks of a group takes, a power of two: so many is this.
HWY_INLINE int stack_power(int m, int count) { return std::countr_zero(static_cast<unsigned>(m == 0 ? count : 2 * m)); }

/// Fills the variances of the coefficients of a group, of noise of sigma 1, times the blocks that their wavelets take.
HWY_INLINE void find_variances(const Covariances& covariances, const Group& group, std::int32_t* variances) {
  const hn::CappedTag<std::int32_t, 16> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int32_t* const own = covariances.of(0, 0, 0);
  for (int m = 0; m < group.count; ++m) std::copy_n(own, block_room, variances + m * block_room);
  for (int apart = 1; apart < group.count; apart *= 2) {
    for (int first = 0; first < group.count; first += 2 * apart) {
      const std::int32_t* pairs[most_blocks * most_blocks / 4];
      int count = 0;
      for (int a = first; a < first + apart; ++a) {
        const Index3& from = group.steps[static_cast<std::size_t>(a)];
        for (int b = first + apart; b < first + 2 * apart; ++b) {
          const Index3& to = group.steps[static_cast<std::size_t>(b)];
          pairs[count] = covariances.of(to.x - from.x, to.y - from.y, to.z - from.z);
          count += pairs[count] != nullptr;
        }
      }
      std::int32_t *const even = variances + first * block_room, *const odd = even + apart * block_room;
      for (std::int64_t k = 0; k < block_room; k += lanes) {
        auto across = hn::Zero(d);
        for (int i = 0; i < count; ++i) across = hn::Add(across, hn::LoadU(d, pairs[i] + k));
        across = hn::Add(across, across);
        const auto within = hn::Add(hn::LoadU(d, even + k), hn::LoadU(d, odd + k));
        hn::StoreU(hn::Add(within, across), d, even + k);
        hn::StoreU(hn::Sub(within, across), d, odd + k);
      }
    }
  }
  for (int m = 0; m < group.count; ++m) {
    constexpr double least = least_variance / variance_grid;
    const auto floor = hn::Set(d, static_cast<std::int32_t>(least) << stack_power(m, group.count));
    for (std::int64_t i = m * block_room; i < (m + 1) * block_room; i += lanes) {
      hn::StoreU(hn::Max(hn::LoadU(d, variances + i), floor), d, variances + i);
    }
  }
}

/// Turns noisy voxels into changes by the threshold; returns the sum of g^2 variance.
HWY_INLINE double shrink_by_threshold(const Stage& stage, const Region& region, const Group& group, double sigma,
                                      Scratch& scratch) {
  double *const values = scratch.first[0].data(), *const spare = scratch.first[1].data();
  load_group(region, group, scratch.noisy.data(), values);
  transform_group<Direction::forward>(region, group.count, values, spare);
  const hn::CappedTag<double, 16> d;
  const hn::Rebind<std::int32_t, decltype(d)> of_variances;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const double threshold = stage.threshold * sigma;
  const auto limit = hn::Set(d, threshold * threshold * variance_grid);
  values[0] = std::numeric_limits<double>::infinity();  // stays, whatever it is
  auto kept = hn::Zero(d);
  for (int m = 0; m < group.count; ++m) {
    double* const block = values + m * block_room;
    const std::int32_t* const variances = scratch.variances.data() + m * block_room;
    const auto share = hn::Set(d, std::ldexp(1.0, -stack_power(m, group.count)));
    auto sum = hn::Zero(d);
    for (std::int64_t i = 0; i < block_room; i += lanes) {
      const auto value = hn::LoadU(d, block + i), part = hn::LoadU(d, scratch.shares.data() + i);
      const auto variance = hn::PromoteTo(d, hn::LoadU(of_variances, variances + i));
      const auto drops = hn::Lt(hn::Mul(hn::Mul(value, value), part), hn::Mul(variance, limit));
      hn::StoreU(hn::IfThenElseZero(drops, hn::Mul(hn::Mul(value, hn::Neg(share)), part)), d, block + i);
      sum = hn::Add(sum, hn::IfThenZeroElse(drops, variance));
    }
    kept = hn::MulAdd(sum, share, kept);
  }
  transform_group<Direction::back>(region, group.count, values, spare);
  return hn::GetLane(hn::SumOfLanes(d, kept)) * variance_grid;
}

/// Turns noisy voxels into changes by the basic estimate; returns the sum of g^2 variance.
HWY_INLINE double shrink_by_estimate(const Stage& stage, const Region& region, const Group& group, double sigma,
                                     Scratch& scratch) {
  float *const values = scratch.second[0].data(), *const basic = scratch.second[1].data();
  float* const spare = scratch.second[2].data();
  load_group(region, group, scratch.noisy.data(), values);
  load_group(region, group, scratch.basic.data(), basic);
  transform_group<Direction::forward>(region, group.count, values, spare);
  transform_group<Direction::forward>(region, group.count, basic, spare);
  const Floats d;
  const hn::Rebind<std::int32_t, decltype(d)> of_variances;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0F);
  const auto rate =
      hn::Set(d, static_cast<float>(std::min<double>(stage.rate / sigma, std::numeric_limits<float>::max())));
  values[0] = 0;
  basic[0] = std::numeric_limits<float>::infinity();
  auto squares = hn::Zero(d);
  for (int m = 0; m < group.count; ++m) {
    const double grid = std::ldexp(variance_grid, -stack_power(m, group.count));
    const auto ratio = hn::Set(d, static_cast<float>(stage.ratio * grid));
    auto sum = hn::Zero(d);
    for (std::int64_t i = m * block_room; i < (m + 1) * block_room; i += lanes) {
      const auto variance = hn::ConvertTo(d, hn::LoadU(of_variances, scratch.variances.data() + i));
      const auto noise = hn::Mul(ratio, variance);
      const auto b = hn::Mul(hn::LoadU(d, basic + i), rate);
      const auto loss = hn::Div(noise, hn::MulAdd(b, b, noise)), g = hn::Sub(one, loss);
      sum = hn::MulAdd(hn::Mul(g, g), variance, sum);
      hn::StoreU(hn::Neg(hn::Mul(loss, hn::LoadU(d, values + i))), d, values + i);
    }
    squares = hn::MulAdd(sum, hn::Set(d, static_cast<float>(grid)), squares);
  }
  transform_group<Direction::back>(region, group.count, values, spare);
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, squares)));
}

/// Adds the changes of a group to the sums of the tile.
template <int Lanes, class T>
HWY_INLINE void add_group(const Stage& stage, const Region& region, const Group& group, const double* window,
                          double squares, const T* changes, Sums& sums) {
  constexpr double shifts = 0x1.8p52;
  const double change_shift = shifts * stage.change_grid, weight_shift = shifts * stage.weight_grid;
  HWY_ALIGN double weights[block_room], rounded[block_room];
  for (std::int64_t i = 0; i < region.block_voxels; ++i) {
    weights[i] = window[i] / squares;
    rounded[i] = (weights[i] + weight_shift) - weight_shift;
  }
  const hn::CappedTag<double, Lanes> d;
  const hn::Rebind<T, decltype(d)> of_changes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (int m = 0; m < group.count; ++m) {
    const T* change = changes + m * block_room;
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < region.block_rows; ++i) {
      const Index3 p{0, i % region.lengths.y, i / region.lengths.y};
      const std::int64_t place = group.places[static_cast<std::size_t>(m)] + p.z * region.plane + p.y * region.pitch;
      double *const sum = sums.changes.data() + place, *const weight = sums.weights.data() + place;
      for (std::int64_t x = 0; x < region.lengths.x; x += lanes, n += lanes) {
        const auto value = hn::LoadU(of_changes, change + n);
        const auto wide = [&] {
          if constexpr (std::is_same_v<T, double>) {
            return value;
          } else {
            return hn::PromoteTo(d, value);
          }
        }();
        const auto weighted = on_grid(d, hn::Mul(hn::LoadU(d, weights + n), wide), change_shift);
        hn::StoreU(hn::Add(hn::LoadU(d, sum + x), weighted), d, sum + x);
        hn::StoreU(hn::Add(hn::LoadU(d, weight + x), hn::LoadU(d, rounded + n)), d, weight + x);
      }
    }
  }
}

template <class T>
HWY_INLINE void add_group_by_rows(const Stage& stage, const Region& region, const Group& group, const double* window,
                                  double squares, const T* changes, Sums& sums) {
  if (region.lengths.x >= 4) {
    add_group<4>(stage, region, group, window, squares, changes, sums);
  } else {
    add_group<1>(stage, region, group, window, squares, changes, sums);
  }
}

void filter_tile(const Stage& stage, const Tile& tile, const Region& region, const double* window, Scratch& scratch) {
  for (const std::int64_t z : tile.z) {
    for (const std::int64_t y : tile.y) {
      compare_row(region, tile.x, y - region.origin.y, z - region.origin.z, scratch);
      for (std::size_t i = 0; i < tile.x.size(); ++i) {
        const std::int64_t reference =
            region.at({tile.x[i] - region.origin.x, y - region.origin.y, z - region.origin.z});
        const Group group =
            nearest(region, scratch.distances.data() + static_cast<std::int64_t>(i) * region.offsets, reference);
        if (group.count == 0) continue;
        find_variances(*stage.covariances, group, scratch.variances.data());
        const Index3 middle{tile.x[i] + region.lengths.x / 2, y + region.lengths.y / 2, z + region.lengths.z / 2};
        const double sigma = stage.map ? stage.map->at(middle, stage.volume) : 1;
        if (stage.second) {
          const double squares = sigma * sigma * shrink_by_estimate(stage, region, group, sigma, scratch);
          add_group_by_rows(stage, region, group, window, squares, scratch.second[0].data(), scratch.sums);
        } else {
          const double squares = sigma * sigma * shrink_by_threshold(stage, region, group, sigma, scratch);
          add_group_by_rows(stage, region, group, window, squares, scratch.first[0].data(), scratch.sums);
        }
      }
    }
  }
}

}  // namespace
}  // namespace quietvox::bm4d_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::bm4d_kernel {
namespace {

HWY_EXPORT(filter_tile);

/// Of wavelet `k` of `length` voxels, the squared length: the voxels that it spans, each of which it takes once.
int squared_length(int k, int length) {
  return k == 0 ? length : length / static_cast<int>(std::bit_floor(static_cast<unsigned>(k)));
}

/// The modified Bessel function of order 0.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; k < 30; ++k) {
    term *= (x / 2 / k) * (x / 2 / k);
    sum += term;
  }
  return sum;
}

/// Kaiser window of a block's voxel, 1 in the middle.
double kaiser(int n, int length) {
  constexpr double beta = 2;
  const double place = length > 1 ? 2.0 * n / (length - 1) - 1 : 0;
  return bessel_i0(beta * std::sqrt(1 - place * place)) / bessel_i0(beta);
}

template <class T>
void grow(std::vector<T>& buffer, std::int64_t size) {
  if (buffer.size() < static_cast<std::size_t>(size)) buffer.resize(static_cast<std::size_t>(size));
}

/// Voxels of the region; NaN outside the volume.
void fill(const VolumeView<const float>& box, const Region& region, std::vector<float>& to) {
  to.assign(static_cast<std::size_t>(region.plane * region.size.z + slack), std::numeric_limits<float>::quiet_NaN());
  Index3 first, last;  // of the region, in the box
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = std::max(region.origin[axis], box.origin[axis]);
    last[axis] = std::min(region.origin[axis] + region.size[axis], box.origin[axis] + box.extent[axis]);
  }
  for (std::int64_t z = first.z; z < last.z; ++z) {
    for (std::int64_t y = first.y; y < last.y; ++y) {
      const float* const from = box.row(y - box.origin.y, z - box.origin.z) - box.origin.x;
      const std::int64_t row = region.at({-region.origin.x, y - region.origin.y, z - region.origin.z});
      for (std::int64_t x = first.x; x < last.x; ++x) to[static_cast<std::size_t>(row + x)] = from[x];
    }
  }
}

}  // namespace

std::array<double, block_room> shares_of(Radius3 lengths) {
  std::array<double, block_room> shares;
  shares.fill(1);
  std::size_t i = 0;
  for (int z = 0; z < lengths.z; ++z) {
    for (int y = 0; y < lengths.y; ++y) {
      for (int x = 0; x < lengths.x; ++x, ++i) {
        shares[i] = 1.0 / (squared_length(x, lengths.x) * squared_length(y, lengths.y) * squared_length(z, lengths.z));
      }
    }
  }
  return shares;
}

std::vector<double> window_of(Radius3 lengths) {
  std::vector<double> window;
  for (int z = 0; z < lengths.z; ++z) {
    for (int y = 0; y < lengths.y; ++y) {
      for (int x = 0; x < lengths.x; ++x) {
        window.push_back(kaiser(x, lengths.x) * kaiser(y, lengths.y) * kaiser(z, lengths.z));
      }
    }
  }
  return window;
}

std::size_t scratch_bytes(Radius3 lengths, Radius3 search, const Extent& references) {
  Extent size;
  for (int axis = 0; axis < 3; ++axis) size[axis] = 3 * references[axis] + lengths[axis] + 2 * search[axis];
  size.x += slack;
  const Extent window{{2 * search.x + 1, 2 * search.y + 1, 2 * search.z + 1}};
  return static_cast<std::size_t>(size.voxels()) * (3 * sizeof(float) + 2 * sizeof(double)) +
         static_cast<std::size_t>(references.x * window.voxels()) * sizeof(float) +
         most_blocks * block_room * sizeof(double) * 2;
}

void filter_tile(const Stage& stage, const Tile& tile, Scratch& scratch) {
  const Region region(stage, tile);
  fill(stage.noisy, region, scratch.noisy);
  if (stage.second) fill(stage.pilot, region, scratch.basic);
  const std::vector<float>& pilot = stage.second ? scratch.basic : scratch.noisy;
  scratch.compared.resize(pilot.size());
  std::transform(pilot.begin(), pilot.end(), scratch.compared.begin(), [&](float value) {
    if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
    return static_cast<float>(std::rint(static_cast<double>(value) * stage.per_voxel));
  });
  scratch.sums.origin = region.origin;
  scratch.sums.extent = region.size;
  scratch.sums.pitch = region.pitch;
  scratch.sums.changes.assign(scratch.noisy.size(), 0);
  scratch.sums.weights.assign(scratch.noisy.size(), 0);
  const std::int64_t width = tile.x.back() - tile.x.front() + region.lengths.x + 2 * slack;
  grow(scratch.row_sums, together * width);
  const auto references = static_cast<std::int64_t>(tile.x.size());
  if (static_cast<std::int64_t>(scratch.distances.size()) < references * region.offsets) {
    scratch.distances.assign(static_cast<std::size_t>(references * region.offsets), 0);
  }
  scratch.shares = shares_of(stage.lengths);
  grow(scratch.variances, most_blocks * block_room);
  for (auto& buffer : scratch.first) grow(buffer, stage.second ? 0 : most_blocks * block_room);
  for (auto& buffer : scratch.second) grow(buffer, stage.second ? most_blocks * block_room : 0);
  const std::vector<double> window = window_of(stage.lengths);
  HWY_DYNAMIC_DISPATCH(filter_tile)(stage, tile, region, window.data(), scratch);
}

}  // namespace quietvox::bm4d_kernel
#endif  // HWY_ONCE
