// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/dct.hpp"

#include <cuda_pipeline.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cuda/filters/common/canonical_zero.cuh"
#include "cuda/filters/common/copy.hpp"
#include "cuda/filters/common/dct.cuh"
#include "cuda/filters/common/device_view.cuh"
#include "cuda/filters/common/reciprocal.cuh"
#include "cuda/filters/common/split_barrier.cuh"
#include "cuda/launch.cuh"

namespace quietvox {
namespace {

using namespace cuda;

// A pass over blocks of one shape. A thread block has a tile of blocks' places along two axes and goes along the third,
// the march. X threads share a place; each has one coefficient along x, and of those along the two other axes all: of
// the voxels, of the oracle's, and of what the blocks so far add to the results, for as many steps as a block is long.
//
// Transforms are shared: rows are transformed along x once for all blocks that hold them, and then along y; what blocks
// add to a step is added up before it is turned back, along the march in registers, along y and x through shared
// memory. What is added to a voxel is added in the order of the blocks' places, wherever a tile begins.
//
// A thread block makes tiles one after another along y. What a tile's blocks add to rows of the next one waits in
// global memory, so that only what comes before a thread block's first tile is made twice.
//
// A step has one barrier. Its first half comes after all that goes through shared memory, the second after the work
// in registers, so that threads are up to a step apart and no unit of the device waits for another.

template <int Lx, int Ly, int Lm, int PlacesX, int PlacesY, bool MarchesAlongZ>
struct Shape {
  static constexpr int x = Lx, y = Ly, march = Lm;  ///< voxels of a block; y: along the axis besides x and the march
  static constexpr int places_x = PlacesX, places_y = PlacesY;
  static constexpr bool along_z = MarchesAlongZ;  ///< otherwise along y, and the other axis is z
  static constexpr int places = places_x * places_y, threads = x * places;
  static constexpr int columns = places_x + x - 1, rows = places_y + y - 1;  ///< of the input
  static constexpr int outputs_x = places_x - x + 1, steps = 128;
  static constexpr int raw = rows * columns;
  // The places of a warp are 32 / x: coefficients lie so far apart that its threads use all banks.
  static constexpr int pitch = (places_x + 31) / 32 * 32 + 32 / x, row_pitch = x * pitch + (places_x < 32 ? 16 : 0);
  // Threads that add up weights and those that write have no rows to transform.
  static constexpr int weigher = threads - places, writer = threads - 2 * places;
  /// What a step hands on to rows of the next tile: sums of each thread that has one of the first rows, and weights.
  static constexpr int carried_sums = (y - 1) * places_x * x, carried = (y - 1) * places_x * (x + 1);

  static_assert(places_x % (32 / x) == 0 && places_y >= y - 1 && march % 4 == 0);
  static_assert(raw <= threads && 2 * rows * places_x <= threads && 2 * places <= threads && carried <= threads);
};
using Cubes = Shape<4, 4, 4, 32, 6, true>;
using Squares = Shape<8, 1, 8, 128, 1, false>;

/// Shared memory. A step fills one of two or four and reads another, which an earlier step has filled.
template <class S, bool Oracle>
struct Shared {
  static constexpr int inputs = Oracle ? 2 : 1;
  float raw[4][inputs][S::raw];                           ///< voxels; anything outside the box
  float plane[2][inputs][S::rows * S::row_pitch];         ///< rows transformed along x
  float exchanged[2][S::y * S::places_y * S::row_pitch];  ///< results transformed along x, by row of a block
  float turned[2][S::places_y * S::row_pitch];            ///< the same, added up
  float weights[2][S::places];                            ///< of blocks
  float row_weights[S::march][S::places];                 ///< the same, added up along y
  float sum_weights[2][S::places];                        ///< the same, added up along y and along the march
  float originals[4][S::places];                          ///< the voxels that results replace
  float carried[4][S::carried + 1];                       ///< from the tile before
  SplitBarrier barrier;
};

/// A box as a pass goes through it: `a` runs along x, `b` along the other axis, `m` along the march.
template <class T>
struct Marched {
  T* data;
  int a, b, m;             ///< voxels
  std::int64_t row, step;  ///< from one to the next along b and m
  int3 offset;             ///< of the first output: a, b, m
};

__device__ __forceinline__ bool is_within(int index, int count) {
  return static_cast<unsigned>(index) < static_cast<unsigned>(count);
}

/// Where a tile begins in a box.
struct Corner {
  int3 at;

  template <class T>
  __device__ Corner(const Marched<T>& box, int3 output)
      : at{output.x + box.offset.x, output.y + box.offset.y, output.z + box.offset.z} {}
  template <class T>
  __device__ bool has_line(const Marched<T>& box, int x, int y) const {
    return is_within(at.x + x, box.a) && is_within(at.y + y, box.b);
  }
  template <class T>
  __device__ bool has_step(const Marched<T>& box, int m) const {
    return is_within(at.z + m, box.m);
  }
  /// The first voxel of a step.
  template <class T>
  __device__ T* step(const Marched<T>& box, int m) const {
    return box.data + ((at.z + m) * box.step + at.y * box.row + at.x);
  }
};

/// The distance from the first voxel of a step to voxel (x, y) of the tile.
template <class T>
__device__ __forceinline__ int within_step(const Marched<T>& box, int x, int y) {
  return y * static_cast<int>(box.row) + x;
}

/// Along all axes but x, coefficients are those of transform_unscaled(). To give those of transform(), they need a
/// scale that depends on the number of these axes along which they are odd.
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
  int tiles_a, tiles_b, tiles, tiles_each;  ///< tiles along a, along b, in all, of a thread block
  int steps;                                ///< of outputs of a tile
  float* carried;                           ///< by thread block and step
  float scale, unscale;                     ///< of voxels; of results
  float threshold_powers[scales];           ///< t^n: G(v, n) = 1 - t^n / (t^n + v^n)
};

constexpr int order(bool oracle) { return oracle ? 4 : 8; }  ///< the n of G

/// value^(order / 2)
template <bool Oracle>
__device__ __forceinline__ float half_power(float value) {
  const float square = value * value;
  return Oracle ? square : square * square;
}

/// Transforms a row along x, for a place.
template <class S>
__device__ __forceinline__ void transform_row(const float* raw, float* plane, int task, float scale) {
  const int row = task / S::places_x, place = task % S::places_x;
  float v[S::x];
#pragma unroll
  for (int n = 0; n < S::x; ++n) v[n] = raw[row * S::columns + place + n] * scale;
  transform<S::x>(v);
#pragma unroll
  for (int k = 0; k < S::x; ++k) plane[row * S::row_pitch + k * S::pitch + place] = v[k];
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
  auto& shared = *reinterpret_cast<Shared<S, Oracle>*>(launched_shared());
  constexpr int warp_places = 32 / S::x;
  const int thread = threadIdx.x, lane = thread % 32, coefficient = lane / warp_places;
  const int place = thread / 32 * warp_places + lane % warp_places;
  const int place_x = place % S::places_x, place_y = place / S::places_x;
  const int at = coefficient * S::pitch + place_x;  // in a row of shared memory
  const int weighed = thread - S::weigher, written = thread - S::writer;
  const bool may_write = written >= 0 && written < S::places;
  // Of the mean of all voxels, which stays, nothing is lost.
  const float lost_of_mean = coefficient == 0 ? 0 : pass.threshold_powers[0];
  shared.barrier.init();

  const int first_tile = static_cast<int>(blockIdx.x) * pass.tiles_each;
  const int last_tile = min(first_tile + pass.tiles_each, pass.tiles);
  // No other block hands over what the tile before the first adds to it, so that tile is computed too.
  const int begin = S::y > 1 && first_tile % pass.tiles_b > 0 ? first_tile - 1 : first_tile;
  for (int tile = begin; tile < last_tile; ++tile) {
    const int tile_b = tile % pass.tiles_b, tile_a = tile / pass.tiles_b % pass.tiles_a;
    const int start = tile / (pass.tiles_b * pass.tiles_a) * pass.steps;
    // The first place of the tile, and the number of steps at which blocks begin.
    const int3 first{tile_a * S::outputs_x - (S::x - 1), tile_b * S::places_y - (S::y - 1), start - (S::march - 1)};
    const int steps = min(pass.steps, pass.out.m - start) + S::march - 1;
    const bool follows = S::y > 1 && tile > begin && tile_b > 0;
    float* const carried =
        pass.carried + static_cast<std::int64_t>(blockIdx.x) * (pass.steps + S::march - 1) * S::carried;

    const Corner in(pass.in, first), oracles(pass.oracle, first), out(pass.out, first);
    const int raw_x = thread % S::columns, raw_y = thread / S::columns;
    const bool reads = thread < S::raw && in.has_line(pass.in, raw_x, raw_y);
    const bool reads_oracle = Oracle && thread < S::raw && oracles.has_line(pass.oracle, raw_x, raw_y);
    const bool fits =
        in.has_line(pass.in, place_x, place_y) && in.has_line(pass.in, place_x + S::x - 1, place_y + S::y - 1);
    const int out_x = written % S::places_x, out_y = written / S::places_x;
    const bool writes = may_write && out_x >= S::x - 1 && first.y + out_y >= 0 && first.x + out_x < pass.out.a &&
                        first.y + out_y < pass.out.b && tile >= first_tile;

    float signal[S::march][S::y], oracle[Oracle ? S::march : 1][S::y], sums[S::march][S::y], weight = 0;
#pragma unroll
    for (int k = 0; k < S::march; ++k) {
#pragma unroll
      for (int j = 0; j < S::y; ++j) sums[k][j] = 0;
    }

    // A software pipeline. At step m, voxels of step m + S::march + 2 are fetched, those of m + S::march are
    // transformed along x, and blocks that begin at m are shrunk. That completes the sums of m - 1; those of m - 2 are
    // added up across threads, and the results of m - 3 are written.
    constexpr int begins = -S::march - 2;
    const int ends = (steps + 4) / 2 * 2;  // even, as the barrier is told
    const float *in_asked = in.step(pass.in, 0), *oracle_asked = oracles.step(pass.oracle, 0);
    const float* original_asked = in.step(pass.in, begins - 1);
    float *to = out.step(pass.out, begins - 3), *carried_asked = carried + begins * S::carried;
    for (int round = begins; round < ends; round += S::march) {
#pragma unroll
      for (int phase = 0; phase < S::march; ++phase) {
        const int m = round + phase;
        if (m >= ends) break;
        constexpr int last = S::march - 1;
        const int now = phase % 2, before = 1 - now;
        const int asked = phase % 4, arrived = (phase + 2) % 4;

        // What is asked for has arrived two steps later, so that nobody waits for it.
        const int fetched = m + S::march + 2;
        if (reads && in.has_step(pass.in, fetched)) {
          __pipeline_memcpy_async(&shared.raw[asked][0][thread], in_asked + within_step(pass.in, raw_x, raw_y),
                                  sizeof(float));
        }
        if (reads_oracle && oracles.has_step(pass.oracle, fetched)) {
          __pipeline_memcpy_async(&shared.raw[asked][1][thread], oracle_asked + within_step(pass.oracle, raw_x, raw_y),
                                  sizeof(float));
        }
        if (writes && is_within(m - S::march, steps - last)) {
          __pipeline_memcpy_async(&shared.originals[asked][written],
                                  original_asked + within_step(pass.in, out_x, out_y), sizeof(float));
        }
        if (follows && thread < S::carried && is_within(m, steps)) {
          __pipeline_memcpy_async(&shared.carried[asked][thread], carried_asked + thread, sizeof(float));
        }
        __pipeline_commit();

        // Of the rings, step m + k lies at (phase + k) % S::march.
        load_step<S>(shared.plane[before][0], place_y, coefficient, place_x, signal[(phase + last) % S::march]);
        if constexpr (Oracle) {
          load_step<S>(shared.plane[before][1], place_y, coefficient, place_x, oracle[(phase + last) % S::march]);
        }

        float(&complete)[S::y] = sums[(phase + last) % S::march];
        inverse_transform_unscaled<S::y>(complete);
#pragma unroll
        for (int j = 0; j < S::y; ++j) {
          shared.exchanged[now][(j * S::places_y + place_y) * S::row_pitch + at] = complete[j];
        }
        if (coefficient == 0) shared.weights[now][place] = weight;

        constexpr int tasks = S::rows * S::places_x, inputs = Oracle ? 2 : 1;
        if (thread < inputs * tasks) {
          const int input = thread / tasks;
          transform_row<S>(shared.raw[arrived][input], shared.plane[now][input], thread % tasks, pass.scale);
        }

        if (is_within(m - 2, steps)) {
          float* const carried_on = carried_asked - 2 * S::carried;
          const auto exchanged = [&](int j, int row) {
            return shared.exchanged[before][(j * S::places_y + row) * S::row_pitch + at];
          };
          float sum = 0;
          if (place_y >= S::y - 1) {
#pragma unroll
            for (int j = S::y - 1; j >= 0; --j) sum += exchanged(j, place_y - j);
          } else {
            if (follows) sum = shared.carried[arrived][thread];
            float rest = 0;
#pragma unroll
            for (int j = S::y - 1; j >= 0; --j) {
              if (place_y >= j) sum += exchanged(j, place_y - j);
              if (place_y < j) rest += exchanged(j, S::places_y + place_y - j);
            }
            carried_on[thread] = rest;
          }
          shared.turned[now][place_y * S::row_pitch + at] = sum;

          if (weighed >= 0) {
            const float* const weights = shared.weights[before] + weighed;
            const int row = weighed / S::places_x;
            float along_y = row < S::y - 1 && follows ? shared.carried[arrived][S::carried_sums + weighed] : 0;
#pragma unroll
            for (int j = S::y - 1; j >= 0; --j) {
              if (row >= j) along_y += weights[-j * S::places_x];
            }
            if (row < S::y - 1) {
              float rest = 0;
#pragma unroll
              for (int j = S::y - 1; j > 0; --j) {
                if (row < j) rest += weights[(S::places_y - j) * S::places_x];
              }
              carried_on[S::carried_sums + weighed] = rest;
            }
            float sum_weight = 0;
#pragma unroll
            for (int k = 1; k < S::march; ++k) sum_weight += shared.row_weights[(phase + k) % S::march][weighed];
            shared.row_weights[phase][weighed] = along_y;
            shared.sum_weights[now][weighed] = sum_weight + along_y;
          }
        }

        if (writes && is_within(m - S::march - 2, steps - last)) {
          const float* const turned = shared.turned[before] + out_y * S::row_pitch + out_x;
          float sum = 0, total = 0;
#pragma unroll
          for (int n = S::x - 1; n >= 0; --n) {
            float v[S::x];
#pragma unroll
            for (int k = 0; k < S::x; ++k) v[k] = turned[k * S::pitch - n];
            inverse_transform<S::x>(v);
            sum += v[n];
            total += shared.sum_weights[before][written - n];
          }
          const float original = shared.originals[arrived][written], result = __fdividef(sum, total) * pass.unscale;
          const bool keeps = !is_present(original) || !is_present(result);  // missing, or in no block
          to[within_step(pass.out, out_x, out_y)] = canonical_zero(keeps ? original : result);
        }
        __pipeline_wait_prior(1);
        shared.barrier.arrive();

        weight = 0;
        if (is_within(m, steps) && in.has_step(pass.in, m) && in.has_step(pass.in, m + last)) {
          float squares = 0, shrunk[S::y][S::march];
#pragma unroll
          for (int j = 0; j < S::y; ++j) {
            float known[S::march];
#pragma unroll
            for (int k = 0; k < S::march; ++k) shrunk[j][k] = signal[(phase + k) % S::march][j];
            transform_unscaled<S::march>(shrunk[j]);
            if (j == 0) squares = shrunk[0][0] - shrunk[0][0];  // NaN where a voxel is missing
#pragma unroll
            for (int k = 0; k < S::march; ++k) known[k] = Oracle ? oracle[(phase + k) % S::march][j] : shrunk[j][k];
            if constexpr (Oracle) transform_unscaled<S::march>(known);
#pragma unroll
            for (int k = 0; k < S::march; ++k) {
              const float power = pass.threshold_powers[scale_of<S>(j, k)], root = half_power<Oracle>(known[k]);
              const float lost = j == 0 && k == 0 ? lost_of_mean : power;
              const float gain = fmaf(-lost, reciprocal(fmaf(root, root, power)), 1.0F);
              squares = fmaf(gain, gain, squares);
              shrunk[j][k] = __fmul_rn(shrunk[j][k], gain);  // rounded alike in every phase
            }
            inverse_transform_unscaled<S::march>(shrunk[j]);
          }
#pragma unroll
          for (int apart = warp_places; apart < 32; apart *= 2) squares += __shfl_xor_sync(~0U, squares, apart);
          if (fits && is_present(squares)) {
            weight = reciprocal(1.0F + squares);
#pragma unroll
            for (int k = 0; k < S::march; ++k) {
#pragma unroll
              for (int j = 0; j < S::y; ++j) {
                float& sum = sums[(phase + k) % S::march][j];
                sum = k == last ? __fmul_rn(weight, shrunk[j][k]) : fmaf(weight, shrunk[j][k], sum);
              }
            }
          }
        }
        if (weight == 0) {  // the ring's newest step begins with nothing
#pragma unroll
          for (int j = 0; j < S::y; ++j) sums[(phase + last) % S::march][j] = 0;
        }
        in_asked += pass.in.step;
        oracle_asked += pass.oracle.step;
        original_asked += pass.in.step;
        to += pass.out.step;
        carried_asked += S::carried;
        shared.barrier.wait(phase % 2 != 0);
      }
    }
  }
}

/// A pass over blocks of any lengths. Each thread makes one output, and all blocks that hold it.
struct Anywhere {
  DeviceView<const float> in, oracle;
  DeviceView<float> out;
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
__device__ void load_block(const Anywhere& pass, const DeviceView<const float>& box, int3 place, float* to) {
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
          const float root = half_power<Oracle>((Oracle ? gains[i] : values[i]) * pass.rate);
          const float g = 1 - reciprocal(fmaf(root, root, 1.0F));
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
  const DeviceView<T> sizes(box);
  const int3 offset = offset_within(box, out);
  if (S::along_z) return {box.data, sizes.x, sizes.y, sizes.z, box.extent.x, box.extent.slice(), offset};
  return {box.data, sizes.x, sizes.z, sizes.y, box.extent.slice(), box.extent.x, {offset.x, offset.z, offset.y}};
}

/// Voxels are scaled by a power of two, so that powers of coefficients and thresholds are finite.
template <class S, bool Oracle>
void launch_tiles(const VolumeView<const float>& in, const VolumeView<const float>& oracle,
                  const VolumeView<float>& out, double threshold, const LaunchContext& context) {
  int exponent = 0;
  std::frexp(threshold, &exponent);
  const double voxel_scale = std::ldexp(1, std::min(std::clamp(exponent, -10, 10) - exponent, 126));
  Pass pass{};
  pass.in = marched<S>(in, out);
  pass.oracle = marched<S>(oracle, out);
  pass.out = marched<S>(out, out);
  pass.scale = static_cast<float>(voxel_scale);
  constexpr int scaled_axes = (S::y == 4) + (S::march == 4);
  pass.unscale = static_cast<float>(std::ldexp(1 / voxel_scale, -2 * scaled_axes));
  for (int c = 0; c < scales; ++c) {
    pass.threshold_powers[c] = static_cast<float>(std::pow(threshold * voxel_scale / scale<S>(c), order(Oracle)));
  }
  pass.tiles_a = static_cast<int>(ceil_div(pass.out.a, S::outputs_x));
  pass.tiles_b = static_cast<int>(ceil_div(pass.out.b + S::y - 1, S::places_y));
  const auto tiles_m = static_cast<int>(ceil_div(pass.out.m, S::steps));
  pass.steps = static_cast<int>(ceil_div(pass.out.m, tiles_m));
  pass.tiles = pass.tiles_a * pass.tiles_b * tiles_m;
  pass.tiles_each = static_cast<int>(ceil_div(pass.tiles, context.multiprocessors));
  const auto grid = static_cast<unsigned>(ceil_div(pass.tiles, pass.tiles_each));
  const DeviceBuffer<float> carried(static_cast<std::size_t>(grid) * (pass.steps + S::march - 1) * S::carried + 1,
                                    context);
  pass.carried = carried.get();
  cuda::launch(shrink_blocks<S, Oracle>, grid, S::threads, sizeof(Shared<S, Oracle>), context, pass);
}

template <bool Oracle>
void launch_anywhere(const VolumeView<const float>& in, const VolumeView<const float>& oracle,
                     const VolumeView<float>& out, Radius3 lengths, float rate, const LaunchContext& context) {
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
  cuda::launch(shrink_blocks_of_any_length<Oracle>, grid, block, 0, context, pass);
}

/// Without an oracle, `oracle` is not read.
template <bool Oracle>
void run_pass(const VolumeView<const float>& in, const VolumeView<const float>& oracle, const VolumeView<float>& out,
              Radius3 lengths, double threshold, const LaunchContext& context) {
  if (lengths == Radius3{4, 4, 4}) {
    launch_tiles<Cubes, Oracle>(in, oracle, out, threshold, context);
  } else if (lengths == Radius3{8, 8, 1}) {
    launch_tiles<Squares, Oracle>(in, oracle, out, threshold, context);
  } else {
    const auto rate = static_cast<float>(std::min<double>(1 / threshold, std::numeric_limits<float>::max()));
    launch_anywhere<Oracle>(in, oracle, out, lengths, rate, context);
  }
}

}  // namespace

void dct_cuda(VolumeView<const float> in, VolumeView<float> out, const DctParams& params,
              const LaunchContext& context) {
  if (params.h() < 0x1p-140) {  // no two floats are that near and not equal
    copy_voxels(in, out, context);
    return;
  }
  const Radius3 lengths = params.lengths;
  VolumeView<float> basic = expanded(out, params.reach(), in);
  const DeviceBuffer<float> buffer(static_cast<std::size_t>(basic.extent.voxels()), context);
  basic.data = buffer.get();
  run_pass<false>(in, in, basic, lengths, DctParams::first_threshold * params.h(), context);
  run_pass<true>(in, basic, out, lengths, params.h(), context);
}

}  // namespace quietvox
