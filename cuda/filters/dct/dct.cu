// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/dct.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cuda/filters/common/box.cuh"
#include "cuda/filters/common/canonical_zero.cuh"
#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/dct.cuh"
#include "cuda/resources.hpp"

namespace quietvox {
namespace {

using namespace cuda;

// A pass over blocks of one shape. A thread block has a tile of blocks' places along two axes and goes along the third,
// the march. X threads share a place; each has one coefficient along x, and of those along the two other axes all: of
// the voxels, of the oracle's, and of what the blocks so far add to the results, for as many steps as a block is long.
// Results are turned back along x and y through shared memory, once for a step. What is added to a voxel is added in
// the order of the blocks' places, wherever a tile begins.

template <int Lx, int Ly, int Lm, int PlacesX, int PlacesY, bool MarchesAlongZ>
struct Shape {
  static constexpr int x = Lx, y = Ly, march = Lm;  ///< voxels of a block; y: the other axis that is no march
  static constexpr int places_x = PlacesX, places_y = PlacesY;
  static constexpr bool along_z = MarchesAlongZ;  ///< else along y, and the other axis is z
  static constexpr int threads = x * places_x * places_y;
  static constexpr int columns = places_x + x - 1, rows = places_y + y - 1;  ///< of the input
  static constexpr int outputs_x = places_x - x + 1, outputs_y = places_y - y + 1, steps = 128;
  // The places of a warp are 32 / x: coefficients lie so far apart that its threads use all banks.
  static constexpr int pitch = (places_x + 31) / 32 * 32 + 32 / x, row_pitch = x * pitch + (places_x < 32 ? 16 : 0);
  static constexpr int planes = rows * row_pitch;             ///< rows transformed along x
  static constexpr int raw = rows * columns;                  ///< rows as they are read
  static constexpr int exchanged = y * places_y * row_pitch;  ///< results transformed along x, by row of a block
  static constexpr int turned = places_y * row_pitch;         ///< the same, added up
  static constexpr int weights = places_x * places_y;         ///< of blocks
  static constexpr std::size_t shared_floats(bool oracle) {
    return static_cast<std::size_t>((oracle ? 2 : 1) * (planes + raw) + exchanged + turned + 2 * weights);
  }
};
using Cubes = Shape<4, 4, 4, 16, 12, true>;
using Squares = Shape<8, 1, 8, 128, 1, false>;

/// A box as a pass goes through it: `a` runs along x, `b` along the other axis, `m` along the march.
template <class T>
struct Marched {
  T* data;
  int a, b, m;             ///< voxels
  std::int64_t row, step;  ///< from one to the next along b and m
  int3 offset;             ///< of the first output: a, b, m

  __device__ bool holds(int at_a, int at_b, int at_m) const {
    return at_a >= 0 && at_a < a && at_b >= 0 && at_b < b && at_m >= 0 && at_m < m;
  }
  __device__ T& at(int at_a, int at_b, int at_m) const { return data[at_m * step + at_b * row + at_a]; }
  /// NaN outside.
  __device__ float voxel(int at_a, int at_b, int at_m) const {
    return holds(at_a, at_b, at_m) ? at(at_a, at_b, at_m) : NAN;
  }
};

/// Along the axes but x, coefficients are those of transform_unscaled(); by how many of these axes they are odd, these
/// times the scale are those of transform().
constexpr int scales = 3;
template <class S>
constexpr int scale_of(int j, int k) {
  return (S::y == 4 ? j % 2 : 0) + (S::march == 4 ? k % 2 : 0);
}
template <class S>
constexpr float scale(int odd_axes) {
  return dct_scale<S::y>(odd_axes > 0) * dct_scale<S::march>(odd_axes > 1);
}

struct Pass {
  Marched<const float> in, oracle;
  Marched<float> out;
  float rates[scales];  ///< r = rate coefficient
};

/// 1 over a number of at least 1; 0 for those beyond 2^126.
__device__ __forceinline__ float reciprocal(float number) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(number));
  return result;
}

/// 1 - G(r, n) for r = rate coefficient: n = 8, or with the oracle 4.
template <bool Oracle>
__device__ __forceinline__ float loss(float coefficient, float rate) {
  const float ratio = coefficient * rate;
  float power = ratio * ratio;
  power = __fmul_rn(power, power);
  if (!Oracle) power = __fmul_rn(power, power);
  return reciprocal(1.0F + power);
}

/// This thread's voxel of a step, of the rows that begin at (a, b).
template <class S>
__device__ __forceinline__ float read(const Marched<const float>& box, int a, int b, int m) {
  static_assert(S::raw <= S::threads);
  const int i = threadIdx.x;
  return i < S::raw ? box.voxel(a + i % S::columns, b + i / S::columns, m) : NAN;
}

/// Transforms the rows of a step along x.
template <class S>
__device__ void transform_rows(const float* raw, float* plane) {
  for (int i = threadIdx.x; i < S::rows * S::places_x; i += S::threads) {
    const int row = i / S::places_x, place = i % S::places_x;
    float v[S::x];
#pragma unroll
    for (int n = 0; n < S::x; ++n) v[n] = raw[row * S::columns + place + n];
    transform<S::x>(v);
#pragma unroll
    for (int k = 0; k < S::x; ++k) plane[row * S::row_pitch + k * S::pitch + place] = v[k];
  }
}

/// One thread's coefficients of a step: those along y.
template <class S>
__device__ __forceinline__ void load_step(const float* plane, int row, int coefficient, int place, float (&to)[S::y]) {
#pragma unroll
  for (int j = 0; j < S::y; ++j) to[j] = plane[(row + j) * S::row_pitch + coefficient * S::pitch + place];
  transform_unscaled<S::y>(to);
}

template <class S, bool Oracle>
__global__ void __launch_bounds__(S::threads, 1) shrink_blocks(const __grid_constant__ Pass pass) {
  extern __shared__ float4 shared[];
  float* const raw = reinterpret_cast<float*>(shared);
  float* const plane = raw + S::raw;
  float* const oracle_raw = plane + S::planes;
  float* const oracle_plane = oracle_raw + (Oracle ? S::raw : 0);
  float* const exchanged = oracle_plane + (Oracle ? S::planes : 0);
  float* const turned = exchanged + S::exchanged;
  float* const weights = turned + S::turned;
  float* const row_weights = weights + S::weights;

  constexpr int warp_places = 32 / S::x;
  const int lane = threadIdx.x % 32, coefficient = lane / warp_places;
  const int place = threadIdx.x / 32 * warp_places + lane % warp_places;
  const int place_x = place % S::places_x, place_y = place / S::places_x;
  // Outputs: the first of the block, and what its places begin before.
  const int3 first{static_cast<int>(blockIdx.x) * S::outputs_x, static_cast<int>(blockIdx.y) * S::outputs_y,
                   static_cast<int>(blockIdx.z) * S::steps};
  const int end = min(first.z + S::steps, pass.out.m);
  const int3 from{first.x + pass.in.offset.x - (S::x - 1), first.y + pass.in.offset.y - (S::y - 1), pass.in.offset.z};
  const int3 oracle_from{first.x + pass.oracle.offset.x - (S::x - 1), first.y + pass.oracle.offset.y - (S::y - 1),
                         pass.oracle.offset.z};

  // The output of this thread in a step, if it has one.
  const int column = threadIdx.x % S::places_x, row = threadIdx.x / S::places_x;
  const int2 p{first.x + column - (S::x - 1), first.y + row - (S::y - 1)};
  const bool writes =
      column >= S::x - 1 && row >= S::y - 1 && row < S::places_y && p.x < pass.out.a && p.y < pass.out.b;

  float signal[S::march][S::y], oracle[Oracle ? S::march : 1][S::y], sums[S::march][S::y], sum_weights[S::march];
#pragma unroll
  for (int k = 0; k < S::march; ++k) {
    sum_weights[k] = 0;
#pragma unroll
    for (int j = 0; j < S::y; ++j) sums[k][j] = 0;
  }

  // Blocks that begin at m are made when the step m + S::march - 1 is read, and what is then complete, the outputs of
  // m, is written a step later.
  const int first_blocks = first.z - (S::march - 1);
  // What a step reads is asked for a step earlier, while there is something to do.
  const auto read_step = [&](int m) { return read<S>(pass.in, from.x, from.y, from.z + m); };
  const auto read_oracle = [&](int m) {
    return Oracle ? read<S>(pass.oracle, oracle_from.x, oracle_from.y, oracle_from.z + m) : 0;
  };
  float next = read_step(first_blocks), next_of_oracle = read_oracle(first_blocks);
  for (int round = first_blocks - (S::march - 1); round <= end; round += S::march) {
#pragma unroll
    for (int phase = 0; phase < S::march; ++phase) {
      const int m = round + phase;
      if (m > end) break;
      // Of the rings, step m + k lies at (phase + k) % S::march.
      const int newest = m + S::march - 1;
      if (m > first.z) {  // of m - 1
        constexpr int last = S::march - 1;
        float v[S::y];
#pragma unroll
        for (int j = 0; j < S::y; ++j) v[j] = sums[(phase + last) % S::march][j];
        turn_back_scaled<S::y>(v);
#pragma unroll
        for (int j = 0; j < S::y; ++j) {
          exchanged[(j * S::places_y + place_y) * S::row_pitch + coefficient * S::pitch + place_x] = v[j];
        }
        if (coefficient == 0) weights[place] = sum_weights[(phase + last) % S::march];
      }
#pragma unroll
      for (int j = 0; j < S::y; ++j) sums[(phase + S::march - 1) % S::march][j] = 0;
      sum_weights[(phase + S::march - 1) % S::march] = 0;
      if (threadIdx.x < S::raw) {
        raw[threadIdx.x] = next;
        if (Oracle) oracle_raw[threadIdx.x] = next_of_oracle;
      }
      __syncthreads();
      next = read_step(newest + 1);
      next_of_oracle = read_oracle(newest + 1);
      const int3 o = pass.in.offset;
      const float original = m > first.z && writes ? pass.in.at(p.x + o.x, p.y + o.y, m - 1 + o.z) : 0.0F;

      transform_rows<S>(raw, plane);
      if (Oracle) transform_rows<S>(oracle_raw, oracle_plane);
      if (m > first.z && place_y >= S::y - 1) {
        float sum = 0, weight = 0;
#pragma unroll
        for (int j = S::y - 1; j >= 0; --j) {
          sum += exchanged[(j * S::places_y + place_y - j) * S::row_pitch + coefficient * S::pitch + place_x];
          weight += weights[(place_y - j) * S::places_x + place_x];
        }
        turned[place_y * S::row_pitch + coefficient * S::pitch + place_x] = sum;
        if (coefficient == 0) row_weights[place] = weight;
      }
      __syncthreads();

      load_step<S>(plane, place_y, coefficient, place_x, signal[(phase + S::march - 1) % S::march]);
      if constexpr (Oracle) {
        load_step<S>(oracle_plane, place_y, coefficient, place_x, oracle[(phase + S::march - 1) % S::march]);
      }
      if (m >= first_blocks && m < end) {
        float shrunk[S::y][S::march], squares_by_scale[scales] = {}, mean = 0;
#pragma unroll
        for (int j = 0; j < S::y; ++j) {
          float known[S::march];
#pragma unroll
          for (int k = 0; k < S::march; ++k) shrunk[j][k] = signal[(phase + k) % S::march][j];
          transform_unscaled<S::march>(shrunk[j]);
#pragma unroll
          for (int k = 0; k < S::march; ++k) known[k] = Oracle ? oracle[(phase + k) % S::march][j] : shrunk[j][k];
          if constexpr (Oracle) transform_unscaled<S::march>(known);
          if (j == 0) mean = __shfl_sync(~0U, shrunk[0][0], lane % warp_places);
#pragma unroll
          for (int k = 0; k < S::march; ++k) {
            const int c = scale_of<S>(j, k);
            const float square = scale<S>(c) * scale<S>(c);
            float gain = fmaf(loss<Oracle>(known[k], pass.rates[c]), -square, square);  // times the square
            if (j == 0 && k == 0 && coefficient == 0) gain = square;
            squares_by_scale[c] = fmaf(gain, gain, squares_by_scale[c]);
            shrunk[j][k] = __fmul_rn(shrunk[j][k], gain);  // rounded alike in every phase
          }
          turn_back_scaled<S::march>(shrunk[j]);
        }
        float squares = 0;
#pragma unroll
        for (int c = 0; c < scales; ++c) {
          const float square = scale<S>(c) * scale<S>(c);
          squares = fmaf(squares_by_scale[c], 1 / (square * square), squares);
        }
#pragma unroll
        for (int apart = warp_places; apart < 32; apart *= 2) squares += __shfl_xor_sync(~0U, squares, apart);
        if (is_present(mean) && is_present(squares)) {  // no voxel of the block is missing
          const float weight = reciprocal(1.0F + squares);
#pragma unroll
          for (int k = 0; k < S::march; ++k) {
#pragma unroll
            for (int j = 0; j < S::y; ++j) {
              float& sum = sums[(phase + k) % S::march][j];
              sum = fmaf(weight, shrunk[j][k], sum);
            }
            sum_weights[(phase + k) % S::march] += weight;
          }
        }
      }

      if (m > first.z && writes) {
        float sum = 0, total = 0;
#pragma unroll
        for (int n = S::x - 1; n >= 0; --n) {
          float v[S::x];
#pragma unroll
          for (int k = 0; k < S::x; ++k) v[k] = turned[row * S::row_pitch + k * S::pitch + column - n];
          turn_back<S::x>(v);
          sum += v[n];
          total += row_weights[row * S::places_x + column - n];
        }
        const float result = __fdividef(sum, total);
        const bool keeps = !is_present(original) || !is_present(result);  // missing, or in no block
        pass.out.at(p.x, p.y, m - 1) = canonical_zero(keeps ? original : result);
      }
    }
  }
}

/// A pass over blocks of any lengths, an output a thread, which makes every block that holds it.
struct Anywhere {
  Box<const float> in, oracle;
  Box<float> out;
  int3 in_offset, oracle_offset;  ///< of the first output
  int lengths[3];
  float rate;
  float cosines[3][8][8];  ///< by axis, coefficient and voxel
};

/// Transforms the values of a block along all axes, or back.
__device__ void transform_block(const Anywhere& pass, bool back, float* values) {
  int stride = 1;
  const int count = pass.lengths[0] * pass.lengths[1] * pass.lengths[2];
  for (int axis = 0; axis < 3; ++axis) {
    const int length = pass.lengths[axis];
    for (int line = 0; line < count; ++line) {
      if (line / stride % length != 0) continue;
      float v[8];
      for (int k = 0; k < length; ++k) {
        v[k] = 0;
        for (int n = 0; n < length; ++n) {
          v[k] = fmaf(back ? pass.cosines[axis][n][k] : pass.cosines[axis][k][n], values[line + n * stride], v[k]);
        }
      }
      for (int k = 0; k < length; ++k) values[line + k * stride] = v[k];
    }
    stride *= length;
  }
}

/// Voxels of the block at `place` of a box.
__device__ void load_block(const Anywhere& pass, const Box<const float>& box, int3 place, float* to) {
  for (int z = 0; z < pass.lengths[2]; ++z) {
    for (int y = 0; y < pass.lengths[1]; ++y) {
      for (int x = 0; x < pass.lengths[0]; ++x) *to++ = box.row(place.y + y, place.z + z)[place.x + x];
    }
  }
}

template <bool Oracle>
__global__ void shrink_blocks_of_any_length(const __grid_constant__ Anywhere pass) {
  const int3 p{static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
               static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y), static_cast<int>(blockIdx.z)};
  if (p.x >= pass.out.x || p.y >= pass.out.y) return;
  const int3 o = pass.in_offset, q = pass.oracle_offset;
  const float original = pass.in.row(p.y + o.y, p.z + o.z)[p.x + o.x];
  const int count = pass.lengths[0] * pass.lengths[1] * pass.lengths[2];
  float sum = 0, total = 0, values[64], gains[64];
  for (int z = p.z - pass.lengths[2] + 1; z <= p.z; ++z) {
    for (int y = p.y - pass.lengths[1] + 1; y <= p.y; ++y) {
      for (int x = p.x - pass.lengths[0] + 1; x <= p.x; ++x) {
        if (x + o.x < 0 || y + o.y < 0 || z + o.z < 0 || x + o.x + pass.lengths[0] > pass.in.x ||
            y + o.y + pass.lengths[1] > pass.in.y || z + o.z + pass.lengths[2] > pass.in.z) {
          continue;
        }
        load_block(pass, pass.in, {x + o.x, y + o.y, z + o.z}, values);
        transform_block(pass, false, values);
        if (!is_present(values[0])) continue;
        if (Oracle) {
          load_block(pass, pass.oracle, {x + q.x, y + q.y, z + q.z}, gains);
          transform_block(pass, false, gains);
        }
        float squares = 1;
        for (int i = 1; i < count; ++i) {
          const float g = 1 - loss<Oracle>(Oracle ? gains[i] : values[i], pass.rate);
          squares = fmaf(g, g, squares);
          values[i] *= g;
        }
        transform_block(pass, true, values);
        const float weight = __frcp_rn(1.0F + squares);
        const int place = ((p.z - z) * pass.lengths[1] + p.y - y) * pass.lengths[0] + p.x - x;
        sum = fmaf(weight, values[place], sum);
        total += weight;
      }
    }
  }
  pass.out.row(p.y, p.z)[p.x] = canonical_zero(is_present(original) && total > 0 ? sum / total : original);
}

template <class S, class T>
Marched<T> marched(const VolumeView<T>& box, const VolumeView<float>& out) {
  const Box<T> sizes(box);
  const int3 offset = offset_within(box, out);
  if (S::along_z) return {box.data, sizes.x, sizes.y, sizes.z, box.extent.x, box.extent.slice(), offset};
  return {box.data, sizes.x, sizes.z, sizes.y, box.extent.slice(), box.extent.x, {offset.x, offset.z, offset.y}};
}

template <class S, bool Oracle>
void launch(const VolumeView<const float>& in, const VolumeView<const float>& oracle, const VolumeView<float>& out,
            float rate, const LaunchContext& queue) {
  const Pass pass{marched<S>(in, out),
                  marched<S>(oracle, out),
                  marched<S>(out, out),
                  {rate * scale<S>(0), rate * scale<S>(1), rate * scale<S>(2)}};
  const auto kernel = shrink_blocks<S, Oracle>;
  constexpr std::size_t bytes = S::shared_floats(Oracle) * sizeof(float);
  QV_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const dim3 grid(ceil_div(pass.out.a, S::outputs_x), ceil_div(pass.out.b, S::outputs_y),
                  ceil_div(pass.out.m, S::steps));
  kernel<<<grid, S::threads, bytes, queue.stream>>>(pass);
}

template <bool Oracle>
void launch_anywhere(const VolumeView<const float>& in, const VolumeView<const float>& oracle,
                     const VolumeView<float>& out, Radius3 lengths, float rate, const LaunchContext& queue) {
  Anywhere pass{in, oracle, out, offset_within(in, out), offset_within(oracle, out), {}, rate, {}};
  for (int axis = 0; axis < 3; ++axis) {
    const int count = pass.lengths[axis] = lengths[axis];
    for (int k = 0; k < count; ++k) {
      for (int n = 0; n < count; ++n) {
        pass.cosines[axis][k][n] = static_cast<float>(std::sqrt((k == 0 ? 1.0 : 2.0) / count) *
                                                      std::cos(std::numbers::pi * (n + 0.5) * k / count));
      }
    }
  }
  const dim3 block(32, 4), grid(ceil_div(out.extent.x, block.x), ceil_div(out.extent.y, block.y), out.extent.z);
  shrink_blocks_of_any_length<Oracle><<<grid, block, 0, queue.stream>>>(pass);
}

/// Without an oracle, `oracle` is not read.
template <bool Oracle>
void run_pass(const VolumeView<const float>& in, const VolumeView<const float>& oracle, const VolumeView<float>& out,
              Radius3 lengths, double threshold, const LaunchContext& queue) {
  const auto rate = static_cast<float>(std::min<double>(1 / threshold, std::numeric_limits<float>::max()));
  if (lengths == Radius3{4, 4, 4}) {
    launch<Cubes, Oracle>(in, oracle, out, rate, queue);
  } else if (lengths == Radius3{8, 8, 1}) {
    launch<Squares, Oracle>(in, oracle, out, rate, queue);
  } else {
    launch_anywhere<Oracle>(in, oracle, out, lengths, rate, queue);
  }
  QV_CUDA(cudaGetLastError());
}

}  // namespace

void dct_cuda(VolumeView<const float> in, VolumeView<float> out, const DctParams& params, const LaunchContext& queue) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, queue);
    return;
  }
  const Radius3 lengths = params.lengths;
  VolumeView<float> basic = expanded(out, params.reach(), in);
  const DeviceBuffer<float> buffer(static_cast<std::size_t>(basic.extent.voxels()), queue);
  basic.data = buffer.get();
  run_pass<false>(in, in, basic, lengths, DctParams::first_threshold * params.h(), queue);
  run_pass<true>(in, basic, out, lengths, params.h(), queue);
}

}  // namespace quietvox
