// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/gaussian/axis_pass.cuh"

namespace quietvox::gaussian {
namespace {

// The recursive Gaussian: a block makes 32 lines between two restarts. One warp runs along the axis, the other one
// against it. Each keeps in shared memory its results for the half that it meets first; in the other half it finds
// there those of the other warp, and completes the outputs.

constexpr int restart = static_cast<int>(restart_every);

struct RecursivePass {
  AxisPass pass;
  Recursion recursion;
  int first_block;  ///< place, in the input, of the restart at or before the first output
  int warm_up;
};

struct State {
  double w1[2], w2[2];

  __device__ State(const Recursion& recursion, float steady) {
#pragma unroll
    for (int s = 0; s < 2; ++s) w1[s] = w2[s] = recursion.sections[s].steady * static_cast<double>(steady);
  }
  __device__ void step(const Recursion& recursion, double x) {
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const Section& section = recursion.sections[s];
      const double w = fma(section.a1, w1[s], fma(section.a2, w2[s], x));
      w2[s] = w1[s];
      w1[s] = w;
    }
  }
  __device__ double output(const Recursion& recursion) const {
    double y = 0;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
      const Section& section = recursion.sections[s];
      y = fma(section.b0, w1[s], fma(section.b1, w2[s], y));
    }
    return y;
  }
};

/// Reads the voxels of the lines of a warp, a group at a time and one group ahead. Along x they pass through `corner`,
/// a corner of shared memory that belongs to the warp.
template <bool AlongX>
struct Reader {
  static constexpr int group = AlongX ? lanes : 16;
  const AxisPass& pass;
  const float* source;  ///< of the lane's line; along x, of the first line
  std::int64_t step;    ///< of voxels; along x, of lines
  int last_line;        ///< along x: of the warp's
  float (*corner)[lanes + 1];

  __device__ Reader(const AxisPass& pass, int first_line, int plane, float (*corner)[lanes + 1])
      : pass(pass), last_line(min(lanes, pass.lines - first_line) - 1), corner(corner) {
    const int lane = threadIdx.x;
    source = pass.source(AlongX ? first_line : first_line + min(lane, last_line), plane);
    step = AlongX ? pass.in.line : pass.in.step;
  }

  /// The voxel of the lane's line at a place.
  __device__ float voxel(int n) const {
    const int lane = threadIdx.x;
    const std::int64_t place = pass.place(n);
    float one[1] = {__ldg(source + (AlongX ? place + min(lane, last_line) * step : place * step))};
    pass.interpret(one);
    return one[0];
  }

  /// Voxels of the lane's line from place `first` on; along x those of all lines at one place, a lane each.
  __device__ __forceinline__ void fetch(int first, int direction, int count, float (&voxels)[group]) const {
    if constexpr (AlongX) {
      const float* from = source + pass.place(first + min(static_cast<int>(threadIdx.x), count - 1) * direction);
#pragma unroll
      for (int line = 0; line < group; ++line) voxels[line] = __ldg(from + min(line, last_line) * step);
    } else if (pass.is_inside(first) && pass.is_inside(first + (group - 1) * direction)) {
      const float* from = source + first * step;
      const std::int64_t hop = direction * step;
#pragma unroll
      for (int i = 0; i < group; ++i, from += hop) voxels[i] = __ldg(from);
    } else {  // rarely; few instructions matter more than fast ones
#pragma unroll 1
      for (int i = 0; i < group; ++i) {
        const float voxel = __ldg(source + pass.place(first + i * direction) * step);
#pragma unroll
        for (int k = 0; k < group; ++k) voxels[k] = k == i ? voxel : voxels[k];
      }
    }
  }

  /// Calls body(voxel) for `count` voxels of the lane's line, from `first` on; `direction` is 1 or -1.
  template <class Body>
  __device__ __forceinline__ void for_each(int first, int direction, int count, const Body& body) const {
    if (count <= 0) return;
    float next[group], now[group];
    fetch(first, direction, count, next);
    for (int done = 0; done < count; done += group) {
      const int start = first + done * direction, left = min(group, count - done);
      pass.interpret(next);
      if constexpr (AlongX) __syncwarp();
#pragma unroll
      for (int i = 0; i < group; ++i) {
        if constexpr (AlongX) {
          corner[i][threadIdx.x] = next[i];
        } else {
          now[i] = next[i];
        }
      }
      if constexpr (AlongX) __syncwarp();
      if (done + group < count) fetch(start + group * direction, direction, count - done - group, next);
      const auto voxel = [&](int i) { return AlongX ? corner[threadIdx.x][i] : now[i]; };
      if constexpr (AlongX) {  // code that fits the instruction cache
        constexpr int ahead = 8;
        int i = 0;
        for (; i + ahead <= left; i += ahead) {
          float voxels[ahead];  // the body writes to shared memory, which would hold back reading it
#pragma unroll
          for (int j = 0; j < ahead; ++j) voxels[j] = voxel(i + j);
#pragma unroll
          for (int j = 0; j < ahead; ++j) body(voxels[j]);
        }
#pragma unroll 1
        for (; i < left; ++i) body(voxel(i));
      } else if (left == group) {
#pragma unroll
        for (int i = 0; i < group; ++i) body(voxel(i));
      } else {
#pragma unroll 1
        for (int i = 0; i < left; ++i) {
          body(now[0]);
#pragma unroll
          for (int k = 1; k < group; ++k) now[k - 1] = now[k];
        }
      }
    }
  }
};

template <bool AlongX>
__global__ void __launch_bounds__(2 * lanes, AlongX ? 8 : 9) recurse(const __grid_constant__ RecursivePass recursive) {
  __shared__ float sums[restart][lanes + 1];
  __shared__ float corners[AlongX ? 2 : 1][AlongX ? lanes : 1][lanes + 1];
  const AxisPass& pass = recursive.pass;
  const Recursion& recursion = recursive.recursion;
  if (pass.is_idle()) return;
  const int lane = threadIdx.x, first_line = lanes * static_cast<int>(AlongX ? blockIdx.y : blockIdx.x);
  const int block = recursive.first_block + restart * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y);
  const int begin = max(block, pass.begin), end = min(block + restart, pass.begin + pass.length);
  const int middle = min(max(block + restart / 2, begin), end);
  const bool along = threadIdx.y == 0;

  int from = along ? block - recursive.warm_up : block + restart - 1 + recursive.warm_up;
  if (pass.period == 0) from = min(max(from, 0), pass.in_length - 1);
  const int step = along ? 1 : -1;
  const int near = along ? begin : end - 1, far = along ? end : begin - 1;  // of the outputs, as this warp sees them
  const int turn = along ? middle : middle - 1;                             // where the other half starts

  for (int plane = blockIdx.z; plane < pass.planes; plane += gridDim.z) {
    const Reader<AlongX> reader(pass, first_line, plane, corners[AlongX ? threadIdx.y : 0]);
    State state(recursion, reader.voxel(from));
    reader.for_each(from, step, (near - from) * step, [&](float voxel) { state.step(recursion, voxel); });
    float* sum = &sums[near - block][lane];  // pointers that move along with the places
    const int sum_step = step * (lanes + 1);
    reader.for_each(near, step, (turn - near) * step, [&](float voxel) {
      state.step(recursion, voxel);
      *sum = static_cast<float>(state.output(recursion));
      sum += sum_step;
    });
    __syncthreads();
    const bool writes = first_line + lane < pass.lines;
    const std::int64_t target_step = step * pass.out.step;
    float* target = pass.target(first_line + lane, plane) + (turn - pass.begin) * pass.out.step;
    sum = &sums[turn - block][lane];
    reader.for_each(turn, step, (far - turn) * step, [&](float voxel) {
      state.step(recursion, voxel);
      const double others = fma(-recursion.own, static_cast<double>(voxel), static_cast<double>(*sum));
      const float result = to_output(state.output(recursion) + others);
      if constexpr (AlongX) {
        *sum = result;
      } else {
        if (writes) *target = result;
        target += target_step;
      }
      sum += sum_step;
    });
    __syncthreads();
    if constexpr (AlongX) {
      for (int line = threadIdx.y; line < lanes && first_line + line < pass.lines; line += 2) {
        float* to = pass.target(first_line + line, plane) - pass.begin;
        for (int n = begin + lane; n < end; n += lanes) to[n] = sums[n - block][line];
      }
      __syncthreads();
    }
  }
}

}  // namespace

void filter_recursively(const AxisPass& pass, double sigma, std::int64_t origin, const LaunchContext& context) {
  const std::int64_t place = (origin + pass.begin) % restart_every;
  const RecursivePass recursive{pass, make_recursion(sigma), static_cast<int>(pass.begin - place),
                                static_cast<int>(warm_up(sigma))};
  const auto blocks = static_cast<unsigned>(ceil_div(pass.length + place, restart_every));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines, lanes));
  const dim3 block(lanes, 2);
  if (pass.axis == 0) {
    recurse<true><<<dim3(blocks, groups, pass.layers()), block, 0, context.stream>>>(recursive);
  } else {
    recurse<false><<<dim3(groups, blocks, pass.layers()), block, 0, context.stream>>>(recursive);
  }
}

}  // namespace quietvox::gaussian
