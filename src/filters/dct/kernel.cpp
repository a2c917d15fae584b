// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/dct/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/dct/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filters/simd/dct.hpp"

#ifndef QUIETVOX_DCT_LAYOUT
#define QUIETVOX_DCT_LAYOUT
namespace quietvox::dct_kernel {

/// Block places of a tile along x and y, and how its rings lie in memory.
struct Layout {
  static constexpr std::int64_t places_x = 64;  ///< a multiple of every vector
  static constexpr std::int64_t pitch = 80;     ///< voxels of a row that blocks of 8 see, and a vector more

  explicit Layout(Radius3 lengths)
      : x(lengths.x), y(lengths.y), z(lengths.z), places_y(y == 8 ? 32 : 24), rows(places_y + y - 1) {}

  std::int64_t plane() const { return rows * x * pitch; }  ///< rows transformed along x, of a slice
  std::int64_t slot(std::int64_t slice) const { return ((slice % z) + z) % z; }

  std::int64_t x, y, z;         ///< voxels of a block
  std::int64_t places_y, rows;  ///< rows that blocks begin in, and that they see
};

}  // namespace quietvox::dct_kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace quietvox::dct_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;

using vectors::HWY_NAMESPACE::inverse_transform;
using vectors::HWY_NAMESPACE::transform;

HWY_INLINE Vector constant(float value) { return hn::Set(Tag(), value); }

/// Voxels [x, x + count) of a row, NaN where the box has none.
void read_row(const VolumeView<const float>& box, std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t count,
              float* to) {
  const Index3 p{x - box.origin.x, y - box.origin.y, z - box.origin.z};
  std::fill_n(to, count, std::numeric_limits<float>::quiet_NaN());
  if (p.y < 0 || p.y >= box.extent.y || p.z < 0 || p.z >= box.extent.z) return;
  const std::int64_t first = std::max<std::int64_t>(p.x, 0), last = std::min(p.x + count, box.extent.x);
  if (first < last) std::copy_n(box.row(p.y, p.z) + first, last - first, to + (first - p.x));
}

/// A slice of a box as the tile's blocks see it, transformed along x: [row][coefficient][place].
template <int X>
HWY_INLINE void transform_slice(const VolumeView<const float>& box, const Layout& layout, const Tile& tile,
                                std::int64_t z, float* row, float* to) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t y = 0; y < layout.rows; ++y) {
    read_row(box, tile.first.x - (X - 1), tile.first.y - (layout.y - 1) + y, z, Layout::pitch, row);
    for (std::int64_t x = 0; x < Layout::places_x; x += lanes, to += lanes) {
      Vector v[X];
      for (int n = 0; n < X; ++n) v[n] = hn::LoadU(d, row + x + n);
      transform(Tag(), v);
      for (int k = 0; k < X; ++k) hn::StoreU(v[k], d, to + k * Layout::pitch);
    }
    to += X * Layout::pitch - Layout::places_x;
  }
}

/// Coefficients of the blocks at one place of a tile, [x][z][y][lane], from rows transformed along x.
template <int Y, int Z>
HWY_INLINE void transform_blocks(const float* const (&slices)[Z], std::int64_t row_pitch, std::int64_t x_count,
                                 float* to) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t x = 0; x < x_count; ++x) {
    Vector v[Z][Y];
    for (int z = 0; z < Z; ++z) {
      for (int y = 0; y < Y; ++y) v[z][y] = hn::LoadU(d, slices[z] + x * Layout::pitch + y * row_pitch);
      transform(Tag(), v[z]);
    }
    for (int y = 0; y < Y; ++y) {
      Vector column[Z];
      for (int z = 0; z < Z; ++z) column[z] = v[z][y];
      transform(Tag(), column);
      for (int z = 0; z < Z; ++z) hn::Store(column[z], d, to + (z * Y + y) * lanes);
    }
    to += Y * Z * lanes;
  }
}

/// Adds blocks to the sums, transformed back along z and y.
template <int Y, int Z>
HWY_INLINE void add_blocks(const float* from, std::int64_t row_pitch, std::int64_t x_count, float* const (&sums)[Z]) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t x = 0; x < x_count; ++x) {
    Vector v[Z][Y];
    for (int y = 0; y < Y; ++y) {
      Vector column[Z];
      for (int z = 0; z < Z; ++z) column[z] = hn::Load(d, from + (z * Y + y) * lanes);
      inverse_transform(Tag(), column);
      for (int z = 0; z < Z; ++z) v[z][y] = column[z];
    }
    for (int z = 0; z < Z; ++z) {
      inverse_transform(Tag(), v[z]);
      for (int y = 0; y < Y; ++y) {
        float* const sum = sums[z] + x * Layout::pitch + y * row_pitch;
        hn::StoreU(hn::Add(hn::LoadU(d, sum), v[z][y]), d, sum);
      }
    }
    from += Y * Z * lanes;
  }
}

/// r^n / (1 + r^n) for r = rate value; where r^n is beyond all floats, 1.
template <int Order>
HWY_INLINE Vector gain(Vector value, Vector rate) {
  const auto one = constant(1);
  const auto ratio = hn::Mul(value, rate);
  auto power = hn::Mul(ratio, ratio);
  for (int order = 2; order < Order; order *= 2) power = hn::Mul(power, power);
  return hn::Sub(one, hn::Div(one, hn::Add(one, power)));
}

/// Makes, shrinks and adds the blocks whose first slice is z.
template <int Y, int Z, bool HasOracle>
HWY_INLINE void shrink_blocks(const Pass& pass, const Layout& layout, std::int64_t z, Scratch& scratch) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t most = 64;
  HWY_ALIGN float coefficients[most * 16];
  HWY_ALIGN float gains[HasOracle ? most * 16 : 16];
  const std::int64_t count = layout.x * Y * Z, row_pitch = layout.x * Layout::pitch;
  const auto rate = hn::Set(d, pass.rate), one = constant(1);
  const float *signal[Z], *oracle[Z];
  float* sums[Z];
  const auto at = [&](std::int64_t x, std::int64_t y) {
    for (int k = 0; k < Z; ++k) {
      const std::int64_t place = layout.slot(z + k) * layout.plane() + y * row_pitch + x;
      signal[k] = scratch.signal.data() + place;
      if (HasOracle) oracle[k] = scratch.oracle.data() + place;
      sums[k] = scratch.sums.data() + place;
    }
  };
  float* weights = scratch.weights.data() + layout.slot(z) * layout.places_y * Layout::pitch;
  for (std::int64_t y = 0; y < layout.places_y; ++y, weights += Layout::pitch) {
    for (std::int64_t x = 0; x < Layout::places_x; x += lanes) {
      at(x, y);
      transform_blocks<Y, Z>(signal, row_pitch, layout.x, coefficients);
      const auto mean = hn::Load(d, coefficients);
      const auto present = hn::Eq(hn::Sub(mean, mean), hn::Zero(d));  // finite: no voxel is missing
      if (hn::AllFalse(d, present)) {
        hn::StoreU(hn::Zero(d), d, weights + x);
        continue;
      }
      auto squares = one;
      if (HasOracle) {
        transform_blocks<Y, Z>(oracle, row_pitch, layout.x, gains);
        for (std::int64_t i = 1; i < count; ++i) {
          const auto g = gain<second_pass_order>(hn::Load(d, gains + i * lanes), rate);
          squares = hn::MulAdd(g, g, squares);
          hn::Store(hn::Mul(g, hn::Load(d, coefficients + i * lanes)), d, coefficients + i * lanes);
        }
      } else {
        for (std::int64_t i = 1; i < count; ++i) {
          const auto value = hn::Load(d, coefficients + i * lanes);
          const auto g = gain<first_pass_order>(value, rate);
          squares = hn::MulAdd(g, g, squares);
          hn::Store(hn::Mul(g, value), d, coefficients + i * lanes);
        }
      }
      const auto weight = hn::IfThenElseZero(present, hn::Div(one, hn::Add(one, squares)));
      hn::StoreU(weight, d, weights + x);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto value = hn::Mul(weight, hn::Load(d, coefficients + i * lanes));
        hn::Store(hn::IfThenElseZero(present, value), d, coefficients + i * lanes);
      }
      add_blocks<Y, Z>(coefficients, row_pitch, layout.x, sums);
    }
  }
}

/// Writes the outputs of a slice.
template <int X>
HWY_INLINE void write_slice(const Pass& pass, const Layout& layout, const Tile& tile, std::int64_t z,
                            Scratch& scratch) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t row_pitch = X * Layout::pitch, weights_plane = layout.places_y * Layout::pitch;
  const float* sums = scratch.sums.data() + layout.slot(z) * layout.plane();
  float* const inverted = scratch.inverted.data();
  float* const results = inverted + X * Layout::pitch;
  float* const total = results + Layout::pitch;
  for (std::int64_t y = tile.first.y; y < tile.last.y; ++y) {
    const std::int64_t row = y - tile.first.y + layout.y - 1;
    for (std::int64_t x = 0; x < Layout::places_x; x += lanes) {
      Vector v[X];
      for (int k = 0; k < X; ++k) v[k] = hn::LoadU(d, sums + row * row_pitch + k * Layout::pitch + x);
      inverse_transform(Tag(), v);
      for (int n = 0; n < X; ++n) hn::StoreU(v[n], d, inverted + n * Layout::pitch + x);
      auto sum = hn::Zero(d);
      for (std::int64_t k = z - layout.z + 1; k <= z; ++k) {
        for (std::int64_t j = row - layout.y + 1; j <= row; ++j) {
          const float* from = scratch.weights.data() + layout.slot(k) * weights_plane + j * Layout::pitch + x;
          sum = hn::Add(sum, hn::LoadU(d, from));
        }
      }
      hn::StoreU(sum, d, total + x);
    }
    const std::int64_t count = tile.last.x - tile.first.x;
    for (std::int64_t x = 0; x < count; x += lanes) {
      auto sum = hn::Zero(d), weight = hn::Zero(d);
      for (int n = X - 1; n >= 0; --n) {  // blocks by their places
        sum = hn::Add(sum, hn::LoadU(d, inverted + n * Layout::pitch + x + X - 1 - n));
        weight = hn::Add(weight, hn::LoadU(d, total + x + X - 1 - n));
      }
      hn::StoreU(hn::Div(sum, weight), d, results + x);
    }
    const Index3 from{tile.first.x - pass.in.origin.x, y - pass.in.origin.y, z - pass.in.origin.z};
    const Index3 to{tile.first.x - pass.out.origin.x, y - pass.out.origin.y, z - pass.out.origin.z};
    const float* const original = pass.in.row(from.y, from.z) + from.x;
    float* const out = pass.out.row(to.y, to.z) + to.x;
    for (std::int64_t x = 0; x < count; ++x) {
      const bool kept = !std::isfinite(original[x]) || !std::isfinite(results[x]);  // missing, or in no block
      out[x] = (kept ? original[x] : results[x]) + 0.0F;
    }
  }
}

template <int Y, int Z>
void shrink_at(const Pass& pass, const Layout& layout, std::int64_t z, Scratch& scratch) {
  if (pass.oracle) {
    shrink_blocks<Y, Z, true>(pass, layout, z, scratch);
  } else {
    shrink_blocks<Y, Z, false>(pass, layout, z, scratch);
  }
}

template <int X>
HWY_INLINE void filter_with(const Pass& pass, const Layout& layout, const Tile& tile, Scratch& scratch) {
  const std::int64_t slice_weights = layout.places_y * Layout::pitch;
  const auto load = [&](std::int64_t z) HWY_ATTR {
    const std::int64_t place = layout.slot(z) * layout.plane();
    transform_slice<X>(pass.in, layout, tile, z, scratch.row.data(), scratch.signal.data() + place);
    if (!pass.oracle) return;
    transform_slice<X>(*pass.oracle, layout, tile, z, scratch.row.data(), scratch.oracle.data() + place);
  };
  std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0F);
  std::int64_t z = tile.first.z - layout.z + 1;
  for (std::int64_t k = 0; k < layout.z - 1; ++k) load(z + k);
  for (; z < tile.last.z; ++z) {
    load(z + layout.z - 1);
    if (z >= pass.in.origin.z && z + layout.z <= pass.in.origin.z + pass.in.extent.z) {
      switch (layout.y * 8 + layout.z) {
        case 8 * 1 + 1: shrink_at<1, 1>(pass, layout, z, scratch); break;
        case 8 * 1 + 2: shrink_at<1, 2>(pass, layout, z, scratch); break;
        case 8 * 1 + 4: shrink_at<1, 4>(pass, layout, z, scratch); break;
        case 8 * 2 + 1: shrink_at<2, 1>(pass, layout, z, scratch); break;
        case 8 * 2 + 2: shrink_at<2, 2>(pass, layout, z, scratch); break;
        case 8 * 2 + 4: shrink_at<2, 4>(pass, layout, z, scratch); break;
        case 8 * 4 + 1: shrink_at<4, 1>(pass, layout, z, scratch); break;
        case 8 * 4 + 2: shrink_at<4, 2>(pass, layout, z, scratch); break;
        case 8 * 4 + 4: shrink_at<4, 4>(pass, layout, z, scratch); break;
        default: shrink_at<8, 1>(pass, layout, z, scratch); break;
      }
    } else {
      std::fill_n(scratch.weights.begin() + layout.slot(z) * slice_weights, slice_weights, 0.0F);
    }
    if (z >= tile.first.z) write_slice<X>(pass, layout, tile, z, scratch);
    std::fill_n(scratch.sums.begin() + layout.slot(z) * layout.plane(), layout.plane(), 0.0F);
  }
}

void filter_tile(const Pass& pass, const Tile& tile, Scratch& scratch) {
  const Layout layout(pass.lengths);
  switch (layout.x) {
    case 1: return filter_with<1>(pass, layout, tile, scratch);
    case 2: return filter_with<2>(pass, layout, tile, scratch);
    case 4: return filter_with<4>(pass, layout, tile, scratch);
    default: return filter_with<8>(pass, layout, tile, scratch);
  }
}

}  // namespace
}  // namespace quietvox::dct_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::dct_kernel {

Extent largest_tile(Radius3 lengths) {
  const Layout layout(lengths);
  return {{Layout::places_x - layout.x + 1, layout.places_y - layout.y + 1, 32}};
}

namespace {
HWY_EXPORT(filter_tile);

void grow(std::vector<float>& buffer, std::int64_t size) {
  if (buffer.size() < static_cast<std::size_t>(size)) buffer.resize(static_cast<std::size_t>(size));
}
}  // namespace

std::size_t scratch_bytes(Radius3 lengths) {
  const Layout layout(lengths);
  const std::int64_t ring = layout.z * layout.plane(), weights = layout.z * layout.places_y * Layout::pitch;
  return static_cast<std::size_t>(3 * ring + weights + (layout.x + 3) * Layout::pitch) * sizeof(float);
}

void filter_tile(const Pass& pass, const Tile& tile, Scratch& scratch) {
  const Layout layout(pass.lengths);
  grow(scratch.row, Layout::pitch);
  grow(scratch.signal, layout.z * layout.plane());
  if (pass.oracle) grow(scratch.oracle, layout.z * layout.plane());
  grow(scratch.sums, layout.z * layout.plane());
  grow(scratch.weights, layout.z * layout.places_y * Layout::pitch);
  grow(scratch.inverted, (layout.x + 2) * Layout::pitch);
  HWY_DYNAMIC_DISPATCH(filter_tile)(pass, tile, scratch);
}

}  // namespace quietvox::dct_kernel
#endif  // HWY_ONCE
