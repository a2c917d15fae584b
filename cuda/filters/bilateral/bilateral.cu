// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bilateral.hpp"

#include <cmath>

#include "cuda/filters/bilateral/scaled_voxels.cuh"
#include "cuda/filters/bilateral/symmetric_weights.hpp"
#include "cuda/filters/bilateral/varying_sigma.cuh"
#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/device_noise_map.hpp"
#include "cuda/filters/common/exp2.cuh"
#include "cuda/launch.cuh"

namespace quietvox {
namespace {

using namespace cuda;

constexpr int max_radius = BilateralParams::largest_radius;

/// What a kernel needs to know about the filter. Exponents are powers of two: w = 2^(exponents - d^2), d scaled by
/// sqrt(log2(e) / 2) / range_sigma, or by rated_scale() and a rate.
struct Weights {
  float x[max_radius + 1], y[max_radius + 1], z[max_radius + 1];  ///< exponent of the spatial weight by |offset|
  signed char reach[max_radius + 1][max_radius + 1];              ///< of a row: |x| <= reach[|z|][|y|]; -1: no voxel
  int3 radius;
  float scale, unscale;
  float cut;  ///< smallest difference that has no weight
  Border border;
  RateOfSquares rate_of_squares;    ///< where squares are averaged
  RateOfVariance rate_of_variance;  ///< where outputs have rates, but none are given
};

/// Which variant of the filter a kernel computes.
enum class Kind {
  plain,
  cut,      ///< the range weight has a cut
  rated,    ///< each output has a rate, given or made from the box of 3x3 about it: w = 2^(exponents - (rate d)^2)
  squares,  ///< outputs are rates, made from the mean squared difference
};

Weights make_weights(const BilateralParams& params, const Spacing& spacing) {
  Weights weights{};
  const Radius3 r = params.halo();
  for (int i = 0; i <= max_radius; ++i) {
    weights.x[i] = static_cast<float>(log2_domain_weight(params, spacing, {i, 0, 0}));
    weights.y[i] = static_cast<float>(log2_domain_weight(params, spacing, {0, i, 0}));
    weights.z[i] = static_cast<float>(log2_domain_weight(params, spacing, {0, 0, i}));
  }
  for (int z = 0; z <= r.z; ++z) {
    for (int y = 0; y <= r.y; ++y) {
      int reach = r.x;
      while (reach >= 0 && !in_window(params, {reach, y, z})) --reach;
      weights.reach[z][y] = static_cast<signed char>(reach);
    }
  }
  weights.radius = {r.x, r.y, r.z};
  const RangeScale scale(*params.range_sigma);
  weights.scale = scale.to;
  weights.unscale = scale.from;
  const double cut = params.range_cut * *params.range_sigma;
  weights.cut = static_cast<float>(cut);
  if (weights.cut < cut) weights.cut = std::nextafter(weights.cut, INFINITY);
  weights.border = params.border;
  return weights;
}

Weights make_rated_weights(const BilateralParams& params, const Spacing& spacing) {
  Weights weights = make_weights(params, spacing);
  weights.scale = rated_scale(*params.range_sigma);
  weights.unscale = 1 / weights.scale;
  return weights;
}

/// A voxel in the unit of the weights, but with a cut as it is: differences are compared with the cut before they are
/// scaled, so that those exactly at it fall on the same side everywhere.
template <Kind kind>
__device__ float prepared(float value, float scale) {
  if constexpr (kind == Kind::cut) {
    return is_present(value) ? value : INFINITY;
  } else {
    return scaled_voxel(value, scale);
  }
}

/// Row length of the tile in shared memory: enough for the reads of the last strip, and 4 more than a multiple of the
/// 32 banks.
constexpr int tile_pitch(int radius) { return radius <= 16 ? 68 : 100; }

// A block of 4 warps filters a tile of 32 x 32 voxels of one slice. A lane owns a strip of 8 voxels along x; the 8 rows
// and 4 strips of a warp lie so that its 16-byte reads from shared memory touch every bank once.
constexpr int strip = 8, tile = 32, warps = 4;

/// Taps of a row in groups of 8; those beyond the window get the weight 0.
constexpr int group = 8;
constexpr int padded_taps(int radius) { return (2 * radius + 1 + group - 1) / group * group; }

/// The squared differences in a box of 3x3 add up to less than this if no voxel is missing, otherwise to more.
constexpr float squares_of_missing = 5e35F;

/// The rate of the box of 3x3 about `centre`, some of whose voxels may be missing.
__device__ float rate_of_box(const float* centre, int pitch, const RateOfVariance& rate_of_variance) {
  float sum = 0, squares = 0, count = 0;
  for (int n = 0; n < 9; ++n) {
    const float voxel = centre[(n / 3 - 1) * pitch + n % 3 - 1];
    if (voxel == scaled_missing) continue;
    const float difference = voxel - *centre;
    sum += difference;
    squares = fmaf(difference, difference, squares);
    count += 1;
  }
  return rate_of_variance(sum, squares, count);
}

/// Rates of a strip from the boxes of 3x3 about its voxels. `row` points to the first voxel that the strip's windows
/// see of their middle row.
template <int Radius>
__device__ __forceinline__ void find_rates(const float* row, int radius, int pitch,
                                           const RateOfVariance& rate_of_variance, float (&rate)[strip]) {
  constexpr int skipped = Radius < 0 ? 0 : (Radius - 1) % 4;  // what is read too much, from an aligned place
  float seen[3][(skipped + strip + 2 + 3) / 4 * 4];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    const float* from = row + (j - 1) * pitch + radius - 1 - skipped;
    if constexpr (Radius < 0) {
#pragma unroll
      for (int i = 0; i < strip + 2; ++i) seen[j][i] = from[i];
    } else {
      read_vectors(from, seen[j]);
    }
  }
  bool whole = true;
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    const float centre = seen[1][skipped + i + 1];
    float sum = 0, squares = 0;
#pragma unroll
    for (int n = 0; n < 9; ++n) {
      if (n == 4) continue;
      const float difference = seen[n / 3][skipped + i + n % 3] - centre;
      sum += difference;
      squares = fmaf(difference, difference, squares);
    }
    rate[i] = rate_of_variance(sum, squares, 9);
    whole = whole && squares < squares_of_missing;
  }
  if (whole) return;
#pragma unroll 1
  for (int i = 0; i < strip; ++i) {
    const float again = rate_of_box(row + radius + i, pitch, rate_of_variance);
#pragma unroll
    for (int k = 0; k < strip; ++k) rate[k] = k == i ? again : rate[k];
  }
}

/// Adds the taps [first, first + Taps) of a row to the sums of a strip. `row` points to the first of them for the
/// strip's first voxel, `exponents` to their spatial weights; both are 16-byte aligned. Where there are rates, centres
/// and differences are multiplied by them.
template <int Taps, Kind kind>
__device__ __forceinline__ void add_taps(const float* row, const float (&centre)[strip], const float (&rate)[strip],
                                         float (&sum)[strip], float (&weight)[strip], const Weights& weights,
                                         const float* exponents) {
  float value[(strip + Taps - 1 + 3) / 4 * 4], spatial[(Taps + 3) / 4 * 4];
  read_vectors(row, value);
  read_vectors(exponents, spatial);
#pragma unroll
  for (int tap = 0; tap < Taps; ++tap) {
#pragma unroll
    for (int i = 0; i < strip; ++i) {
      float difference = kind == Kind::rated ? fmaf(rate[i], value[tap + i], -centre[i]) : value[tap + i] - centre[i];
      bool counts = true;
      if constexpr (kind == Kind::cut) {
        counts = fabsf(difference) < weights.cut;
        difference = counts ? difference * weights.scale : 0.0F;
      }
      const float w = counts ? exp2_fast(fmaf(-difference, difference, spatial[tap])) : 0.0F;
      sum[i] = fmaf(kind == Kind::squares ? w * difference : w, difference, sum[i]);
      weight[i] += w;
    }
  }
}

/// Radius < 0: the radius along x is that of `weights`, and rows are taken in groups of 8 taps.
template <int Radius, Kind kind>
__global__ void __launch_bounds__(32 * warps, kind == Kind::rated ? 6 : 7)
    bilateral(DeviceView<const float> in, DeviceView<float> out, const float* rates, int3 offset,
              const __grid_constant__ Weights weights) {
  constexpr int pitch = tile_pitch(Radius < 0 ? max_radius : Radius);
  // Rows of `pitch`, then the spatial weights of half a slice.
  float* const slice = reinterpret_cast<float*>(launched_shared());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int rx = Radius < 0 ? weights.radius.x : Radius, ry = weights.radius.y, rz = weights.radius.z;
  const int width = tile + 2 * rx, rows = tile + 2 * ry;
  const int taps = 2 * rx + 1, taps_pitch = padded_taps(rx);
  float* exponents = slice + rows * pitch;
  const int columns_read = Radius < 0 ? tile + taps_pitch : tile - strip + (strip + 2 * Radius + 3) / 4 * 4;

  const int left = blockIdx.x * tile + offset.x - rx, top = blockIdx.y * tile + offset.y - ry;
  const bool inside = left >= 0 && top >= 0 && left + width <= in.x && top + rows <= in.y;
  const int y = 8 * warp + lane % 8, x = strip * (lane / 8);
  const int centre_z = blockIdx.z + offset.z;
  float centre[strip], rate[strip] = {}, sum[strip] = {}, weight[strip] = {};
  if (kind == Kind::rated && rates) {
    const int first_x = blockIdx.x * tile + x, out_y = min(static_cast<int>(blockIdx.y * tile + y), out.y - 1);
    const float* row = rates + (static_cast<std::int64_t>(blockIdx.z) * out.y + out_y) * out.x;
    if (out.x % 4 == 0 && first_x + strip <= out.x) {
      read_vectors(row + first_x, rate);
    } else {
#pragma unroll
      for (int i = 0; i < strip; ++i) rate[i] = row[min(first_x + i, out.x - 1)];
    }
  }

  for (int turn = 0; turn < 2 * rz + 1; ++turn) {
    const int dz = turn == 0 ? 0 : turn - rz - (turn <= rz ? 1 : 0);  // the slice of the centres first
    const int z = device_border_index(weights.border, centre_z + dz, in.z);
    const auto fill = [&](int first_row, int row_step, int column) {
      float* to = slice + first_row * pitch + column;
      if (column >= width) {
        for (int row = first_row; row < rows; row += row_step, to += row_step * pitch) *to = scaled_missing;
      } else if (inside) {
        const float* from = in.row(top + first_row, z) + left + column;
#pragma unroll 4
        for (int row = first_row; row < rows; row += row_step, to += row_step * pitch, from += row_step * in.x) {
          *to = prepared<kind>(*from, weights.scale);
        }
      } else {
        const int from_x = device_border_index(weights.border, left + column, in.x);
        for (int row = first_row; row < rows; row += row_step, to += row_step * pitch) {
          const int from_y = device_border_index(weights.border, top + row, in.y);
          *to = prepared<kind>(in.row(from_y, z)[from_x], weights.scale);
        }
      }
    };
    __syncthreads();
    fill(warp, warps, lane);
    for (int column = tile + lane % 8; column < columns_read; column += 8) fill(threadIdx.x / 8, 4 * warps, column);
    for (int i = threadIdx.x; i < (ry + 1) * taps_pitch; i += 32 * warps) {
      const int row = i / taps_pitch, tap = i % taps_pitch, dx = abs(tap - rx);
      const bool counts = tap < taps && dx <= weights.reach[abs(dz)][row];
      exponents[i] = counts ? weights.z[abs(dz)] + weights.y[row] + weights.x[dx] : -INFINITY;
    }
    __syncthreads();
    if (turn == 0) {
      if constexpr (kind == Kind::rated && Radius != 0) {
        if (!rates) find_rates<Radius>(slice + (y + ry) * pitch + x, rx, pitch, weights.rate_of_variance, rate);
      }
#pragma unroll
      for (int i = 0; i < strip; ++i) {
        centre[i] = slice[(y + ry) * pitch + x + rx + i];
        if (kind == Kind::rated) centre[i] *= rate[i];
      }
    }
    float plane_sum[strip] = {}, plane_weight[strip] = {};
    for (int dy = -ry; dy <= ry; ++dy) {
      if (weights.reach[abs(dz)][abs(dy)] < 0) continue;
      const float* row = slice + (y + ry + dy) * pitch + x;
      const float* row_exponents = exponents + abs(dy) * taps_pitch;
      if constexpr (Radius < 0) {
        for (int first = 0; first < taps; first += group) {
          add_taps<group, kind>(row + first, centre, rate, plane_sum, plane_weight, weights, row_exponents + first);
        }
      } else {
        add_taps<2 * Radius + 1, kind>(row, centre, rate, plane_sum, plane_weight, weights, row_exponents);
      }
    }
#pragma unroll
    for (int i = 0; i < strip; ++i) sum[i] += plane_sum[i], weight[i] += plane_weight[i];
  }

  float own[strip] = {};
  if (kind == Kind::rated && rz == 0) {
    const float* row = slice + (y + ry) * pitch + x + rx;
#pragma unroll
    for (int i = 0; i < strip; ++i) own[i] = row[i];
  } else if (kind == Kind::rated) {
    const int at_y = min(static_cast<int>(blockIdx.y * tile + y + offset.y), in.y - 1);
    const float* row = in.row(at_y, centre_z);
#pragma unroll
    for (int i = 0; i < strip; ++i) {
      const int at_x = min(static_cast<int>(blockIdx.x * tile + x + i + offset.x), in.x - 1);
      own[i] = prepared<kind>(row[at_x], weights.scale);
    }
  }

  // Results go through shared memory, so that whole rows are written.
  __syncthreads();
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    float mean = __fdividef(sum[i], weight[i]);
    if constexpr (kind == Kind::rated) {
      // Every difference, that of the centre to itself too, is too large by what rounding took from the centre.
      const float excess = fmaf(rate[i], own[i], -centre[i]);
      const float change = __fdividef(__fsub_rn(mean, excess), rate[i]);  // rounded alike for all i
      mean = weight[i] > 0 ? change : 0.0F;  // no weight: floats lie so far apart that none but equals count
    }
    slice[y * pitch + x + i] = kind == Kind::squares ? weights.rate_of_squares(mean) : mean * weights.unscale;
  }
  __syncthreads();
  const int out_x = blockIdx.x * tile + lane, at_x = out_x + offset.x;
  if (out_x >= out.x) return;
  const bool copies = weights.border == Border::copy;
  const bool leaves = at_x < rx || centre_z < rz || at_x + rx >= in.x || centre_z + rz >= in.z;
#pragma unroll 4
  for (int row = warp; row < tile; row += warps) {
    const int out_y = blockIdx.y * tile + row, at_y = out_y + offset.y;
    if (out_y >= out.y) return;
    if (kind == Kind::squares) {
      out.row(out_y, blockIdx.z)[out_x] = slice[row * pitch + lane];
      continue;
    }
    const float original = in.row(at_y, centre_z)[at_x];
    const bool keeps = copies && (leaves || at_y < ry || at_y + ry >= in.y);
    const float change = keeps ? 0.0F : slice[row * pitch + lane];
    out.row(out_y, blockIdx.z)[out_x] = is_present(original) ? original + change + 0.0F : original;
  }
}

template <int Radius, Kind kind>
void launch(const DeviceView<const float>& in, const DeviceView<float>& out, const float* rates, int3 offset,
            const Weights& weights, const LaunchContext& context) {
  const dim3 grid(ceil_div(out.x, tile), ceil_div(out.y, tile), out.z);
  const int3 r = weights.radius;
  const std::size_t bytes =
      sizeof(float) * (tile_pitch(Radius < 0 ? max_radius : Radius) * (tile + 2 * r.y) + padded_taps(r.x) * (r.y + 1));
  cuda::launch(bilateral<Radius, kind>, grid, 32 * warps, bytes, context, in, out, rates, offset, weights);
}

template <Kind kind, int... Radius>
void launch_for_radius(std::integer_sequence<int, Radius...>, const DeviceView<const float>& in,
                       const DeviceView<float>& out, const float* rates, int3 offset, const Weights& weights,
                       const LaunchContext& context) {
  const bool found =
      ((weights.radius.x == Radius && (launch<Radius, kind>(in, out, rates, offset, weights, context), true)) || ...);
  if (!found) launch<-1, kind>(in, out, rates, offset, weights, context);
}

__global__ void bound_each_rate(DeviceView<float> rates, Index3 origin, const __grid_constant__ CoarseFieldView map,
                                float lowest_rate, float highest_rate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= rates.x || y >= rates.y) return;
  const float precision = 1 / static_cast<float>(map.at(origin.x + x, origin.y + y, origin.z + z));
  float& rate = rates.row(y, z)[x];
  rate = fminf(fmaxf(rate, lowest_rate * precision), fminf(highest_rate * precision, largest_rate));
}

/// Each output has the range sigma times its noise.
void bilateral_by_noise(const VolumeView<const float>& in, const VolumeView<float>& out, const BilateralParams& params,
                        const LaunchContext& context) {
  const auto voxels = static_cast<std::size_t>(out.extent.voxels());
  const DeviceBuffer<float> buffer(voxels, context);
  QV_CUDA(cudaMemsetAsync(buffer.get(), 0, voxels * sizeof(float), context.stream));
  VolumeView<float> rates = out;
  rates.data = buffer.get();
  const auto rate = static_cast<float>(rate_of(*params.range_sigma, *params.range_sigma));
  bound_rates(rates, rate, rate, params.map, params.volume, context);
  bilateral_with_rates(in, out, params, rates.data, context);
}

}  // namespace

void bilateral_cuda(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                    const LaunchContext& context) {
  const int3 offset = offset_within(in, out);
  if (*params.range_sigma == 0) {
    copy_voxels(in, out, context);
  } else if (params.map.varies()) {
    bilateral_by_noise(in, out, params, context);
  } else if (!bilateral_symmetric_weights(in, out, params, context)) {
    const Weights weights = make_weights(params, in.spacing);
    if (params.range_cut > 0) {
      launch<-1, Kind::cut>(in, out, nullptr, offset, weights, context);
    } else {
      launch_for_radius<Kind::plain>(std::make_integer_sequence<int, 10>{}, in, out, nullptr, offset, weights, context);
    }
  }
}

namespace cuda {

void bound_rates(VolumeView<float> rates, float lowest_rate, float highest_rate, const CoarseField& map,
                 const Extent& volume, const LaunchContext& context) {
  const DeviceNoiseMap noise(map, volume, context);
  const dim3 block(32, 4);
  const dim3 grid(ceil_div(rates.extent.x, block.x), ceil_div(rates.extent.y, block.y), rates.extent.z);
  launch(bound_each_rate, grid, block, 0, context, rates, rates.origin, noise.view(), lowest_rate, highest_rate);
}

void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const float* rates, const LaunchContext& context) {
  launch_for_radius<Kind::rated>(std::make_integer_sequence<int, 6>{}, in, out, rates, offset_within(in, out),
                                 make_rated_weights(params, in.spacing), context);
}

void bilateral_with_rates(VolumeView<const float> in, VolumeView<float> out, const BilateralParams& params,
                          const RateOfVariance& rate, const LaunchContext& context) {
  Weights weights = make_rated_weights(params, in.spacing);
  weights.rate_of_variance = rate;
  launch_for_radius<Kind::rated>(std::make_integer_sequence<int, 6>{}, in, out, nullptr, offset_within(in, out),
                                 weights, context);
}

void rates_of_squares(VolumeView<const float> in, VolumeView<float> rates, const BilateralParams& params,
                      const RateOfSquares& rate, const LaunchContext& context) {
  Weights weights = make_weights(params, in.spacing);
  weights.rate_of_squares = rate;
  launch_for_radius<Kind::squares>(std::make_integer_sequence<int, 6>{}, in, rates, nullptr, offset_within(in, rates),
                                   weights, context);
}

}  // namespace cuda
}  // namespace quietvox
