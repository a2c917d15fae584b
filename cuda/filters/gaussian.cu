// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cuda/filters/box.cuh"
#include "cuda/resources.hpp"
#include "filters/gaussian_axis.hpp"

namespace quietvox {
namespace {

using namespace cuda;
using namespace gaussian;

/// Layers of the grid along z for kernels that have nothing to do most of the time.
unsigned few_layers(std::int64_t planes) { return static_cast<unsigned>(std::min<std::int64_t>(planes, 8)); }

/// One axis of a box to be filtered. Lines are the voxels along the axis; 32 lines that lie side by side, along x or,
/// where x is the axis, along y, are worked on by the lanes of a warp.
struct Pass {
  Box<const float> in;
  Box<float> out;
  int3 offset;  ///< of the output in the input
  int axis;
  Border border;
  Reading reading;   ///< of the pass
  bool of_presence;  ///< the box holds, or is made from, the presence of voxels
  int* incomplete;   ///< set where missing voxels are read; where it is not, nobody asks for their presence

  __host__ __device__ int lines() const { return axis == 0 ? out.y : out.x; }
  __host__ __device__ int planes() const { return axis == 2 ? out.y : out.z; }
  __host__ __device__ int length() const { return axis == 0 ? out.x : axis == 1 ? out.y : out.z; }
  __host__ __device__ int in_length() const { return axis == 0 ? in.x : axis == 1 ? in.y : in.z; }
  /// Place of the first output, along the axis, in the input.
  __host__ __device__ int begin() const { return axis == 0 ? offset.x : axis == 1 ? offset.y : offset.z; }
  __device__ bool is_idle() const { return of_presence && *incomplete == 0; }

  /// Layers of the grid along z.
  unsigned layers() const { return of_presence ? few_layers(planes()) : static_cast<unsigned>(planes()); }

  /// The first voxel of a line of the input, and from one voxel of a line to the next.
  __device__ const float* source(int line, int plane) const {
    if (axis == 0) return in.row(line + offset.y, plane + offset.z);
    return (axis == 1 ? in.row(0, plane + offset.z) : in.row(plane + offset.y, 0)) + line + offset.x;
  }
  __device__ std::int64_t source_step() const { return step_of(in.x, in.y); }
  /// The same of the output.
  __device__ float* target(int line, int plane) const {
    if (axis == 0) return out.row(line, plane);
    return (axis == 1 ? out.row(0, plane) : out.row(plane, 0)) + line;
  }
  __device__ std::int64_t target_step() const { return step_of(out.x, out.y); }

  /// Where the voxel that stands at place n of a line lies; any n, beyond the border too.
  __device__ int place(int n) const {
    const int count = in_length();
    if (border == Border::reflect && count > 1 && (n < 0 || n >= count)) {
      const int period = 2 * (count - 1), place = abs(n) % period;
      return place < count ? place : period - place;
    }
    return min(max(n, 0), count - 1);
  }
  __device__ bool holds(int n) const { return n >= 0 && n < in_length(); }

  /// What the pass makes of voxels of its input. Tells of missing ones once for all, since a store between two loads
  /// would keep them from running side by side.
  template <int Count>
  __device__ __forceinline__ void interpret(float (&voxels)[Count]) const {
    if (reading == Reading::plain) return;
    bool missing = false;
#pragma unroll
    for (float& voxel : voxels) {
      const bool present = is_present(voxel);
      missing = missing || !present;
      voxel = !present ? 0.0F : reading == Reading::present ? voxel : 1.0F;
    }
    if (missing) *incomplete = 1;
  }

 private:
  __device__ std::int64_t step_of(int row, int rows) const {
    return axis == 0 ? 1 : axis == 1 ? row : static_cast<std::int64_t>(row) * rows;
  }
};

constexpr int lanes = 32;

/// An output as it is written: -0 becomes +0.
__device__ float written(double value) { return static_cast<float>(value) + 0.0F; }

// ---- sampled Gaussian: a block stages what 64 outputs of 32 lines see in shared memory, for some taps at a time; a
// thread makes a strip of 8.

constexpr int strip = 8, warps = 8, tile = strip * warps;
constexpr int most_taps = 64;  ///< at a time

/// Weights of a short window from its first voxel on, followed by zeros. As numbers that the compiler finds in the
/// parameters of a kernel they cost no loads.
struct ShortWindow {
  static constexpr bool in_parts = false;
  int radius;
  double of_tap[most_taps];
};

/// Weights of a window of any size, by offset.
struct LongWindow {
  static constexpr bool in_parts = true;
  int radius;
  double of_offset[static_cast<int>(5 * GaussianParams::largest_sigma + 0.5) + 1];

  __device__ double of_tap(int tap) const {
    const int offset = abs(tap - radius);
    return offset <= radius ? of_offset[offset] : 0.0;
  }
};

/// Distance of lines in shared memory, where the voxels of a line lie side by side: odd, against bank conflicts.
constexpr int line_pitch(int staged) { return staged + 1; }

/// Writes voxels of 32 lines, `Count` from place `start` on, to shared memory: along x line by line, else place by
/// place.
template <bool AlongX, int Count>
__device__ __forceinline__ void stage(const Pass& pass, int first_line, int plane, int start, double* staged) {
  const int lane = threadIdx.x, warp = threadIdx.y, last_line = pass.lines() - 1;
  const bool inside = pass.holds(start) && pass.holds(start + Count - 1);
  if constexpr (AlongX) {
    constexpr int own_lines = lanes / warps, chunks = (Count + lanes - 1) / lanes;
    const float* first_source = pass.source(first_line, plane);
    float voxels[own_lines * chunks];
#pragma unroll
    for (int i = 0; i < own_lines; ++i) {
      const float* from =
          first_source + static_cast<std::int64_t>(min(warp + i * warps, last_line - first_line)) * pass.in.x;
      if (inside) {
        from += start;
#pragma unroll
        for (int j = 0; j < chunks; ++j) voxels[i * chunks + j] = __ldg(from + min(lane + j * lanes, Count - 1));
      } else {
#pragma unroll 1
        for (int j = 0; j < chunks; ++j) {
          const float voxel = __ldg(from + pass.place(start + min(lane + j * lanes, Count - 1)));
#pragma unroll
          for (int k = 0; k < chunks; ++k) voxels[i * chunks + k] = k == j ? voxel : voxels[i * chunks + k];
        }
      }
    }
    pass.interpret(voxels);
#pragma unroll
    for (int i = 0; i < own_lines; ++i) {
#pragma unroll
      for (int j = 0; j < chunks; ++j) {
        const int n = lane + j * lanes;
        if (n < Count) staged[(warp + i * warps) * line_pitch(Count) + n] = voxels[i * chunks + j];
      }
    }
  } else {
    constexpr int rows = Count / warps;
    float voxels[rows];
    const float* from = pass.source(min(first_line + lane, last_line), plane);
    const std::int64_t step = pass.source_step();
    if (inside) {
      from += (start + warp) * step;
#pragma unroll
      for (int i = 0; i < rows; ++i, from += warps * step) voxels[i] = __ldg(from);
    } else {
#pragma unroll 1
      for (int i = 0; i < rows; ++i) {
        const float voxel = __ldg(from + pass.place(start + warp + i * warps) * step);
#pragma unroll
        for (int k = 0; k < rows; ++k) voxels[k] = k == i ? voxel : voxels[k];
      }
    }
    pass.interpret(voxels);
#pragma unroll
    for (int i = 0; i < rows; ++i) staged[(warp + i * warps) * lanes + lane] = voxels[i];
  }
}

/// Adds taps to the 8 outputs of a strip, in their order. `from` is what the first tap of the first output sees; the
/// next voxels lie `Step` apart. Reads 8 voxels more than the taps see.
template <int Step, int Taps, bool Unroll>
__device__ __forceinline__ void add_taps(const double* from, const double* weight, double (&sum)[strip]) {
  double window[strip];
#pragma unroll
  for (int i = 0; i < strip; ++i) window[i] = from[i * Step];
#pragma unroll(Unroll ? Taps / strip : 1)
  for (int tap = 0; tap < Taps; tap += strip) {
#pragma unroll
    for (int j = 0; j < strip; ++j) {
      const double w = weight[tap + j];
#pragma unroll
      for (int i = 0; i < strip; ++i) sum[i] = fma(w, window[(i + j) % strip], sum[i]);
      window[j] = from[(tap + strip + j) * Step];
    }
  }
}

/// Taps: at a time.
template <bool AlongX, int Taps, class Window>
__global__ void __launch_bounds__(lanes* warps, AlongX || Taps > 32 ? 4 : 5)
    convolve(const __grid_constant__ Pass pass, const __grid_constant__ Window window) {
  constexpr int staged_places = tile + Taps;
  __shared__ double staged[AlongX ? lanes * line_pitch(staged_places) : lanes * staged_places];
  __shared__ double weight[Window::in_parts ? Taps : 1];
  if (pass.is_idle()) return;
  const int lane = threadIdx.x, warp = threadIdx.y, thread = warp * lanes + lane;
  const int first_line = lanes * static_cast<int>(AlongX ? blockIdx.y : blockIdx.x);
  const int first = tile * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y), mine = first + warp * strip;
  const double* from =
      staged + (AlongX ? lane * line_pitch(staged_places) + warp * strip : warp * strip * lanes + lane);
  for (int plane = blockIdx.z; plane < pass.planes(); plane += gridDim.z) {
    double sum[strip] = {};
    for (int tap = 0; tap <= 2 * window.radius; tap += Taps) {
      __syncthreads();
      if constexpr (Window::in_parts) {
        if (thread < Taps) weight[thread] = window.of_tap(tap + thread);
      }
      stage<AlongX, staged_places>(pass, first_line, plane, pass.begin() + first - window.radius + tap, staged);
      __syncthreads();
      constexpr int step = AlongX ? 1 : lanes;
      if constexpr (Window::in_parts) {
        add_taps<step, Taps, false>(from, weight, sum);
      } else {
        add_taps<step, Taps, true>(from, window.of_tap, sum);
        break;
      }
    }
    if constexpr (AlongX) {
      auto* results = reinterpret_cast<float(*)[tile + 1]>(staged);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < strip; ++i) results[lane][warp * strip + i] = written(sum[i]);
      __syncthreads();
      float* to = pass.target(first_line + warp, plane) + first;
#pragma unroll
      for (int i = 0; i < lanes / warps; ++i, to += warps * static_cast<std::int64_t>(pass.out.x)) {
        const int line = warp + i * warps;
        if (first_line + line >= pass.lines()) break;
#pragma unroll
        for (int n = lane; n < tile; n += lanes) {
          if (first + n < pass.length()) to[n] = results[line][n];
        }
      }
    } else if (first_line + lane < pass.lines()) {
      const std::int64_t step = pass.target_step();
      float* to = pass.target(first_line + lane, plane) + mine * step;
      if (mine + strip <= pass.length()) {
#pragma unroll
        for (int i = 0; i < strip; ++i, to += step) *to = written(sum[i]);
      } else {
#pragma unroll
        for (int i = 0; i < strip; ++i, to += step) {
          if (mine + i < pass.length()) *to = written(sum[i]);
        }
      }
    }
  }
}

template <int Taps, class Window>
void launch(const Pass& pass, const Window& window, const Queue& queue) {
  const dim3 block(lanes, warps);
  const auto tiles = static_cast<unsigned>(ceil_div(pass.length(), tile));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines(), lanes));
  if (pass.axis == 0) {
    convolve<true, Taps><<<dim3(tiles, groups, pass.layers()), block, 0, queue.stream>>>(pass, window);
  } else {
    convolve<false, Taps><<<dim3(groups, tiles, pass.layers()), block, 0, queue.stream>>>(pass, window);
  }
}

void convolve(const Pass& pass, const std::vector<double>& of_offset, const Queue& queue) {
  const int radius = static_cast<int>(of_offset.size()) - 1, taps = 2 * radius + 1;
  if (taps > most_taps) {
    LongWindow window;
    window.radius = radius;
    std::copy(of_offset.begin(), of_offset.end(), window.of_offset);
    return launch<most_taps>(pass, window, queue);
  }
  ShortWindow window{.radius = radius, .of_tap = {}};
  for (int tap = 0; tap < taps; ++tap) window.of_tap[tap] = of_offset[std::abs(tap - radius)];
  if (taps <= 8) return launch<8>(pass, window, queue);
  if (taps <= 16) return launch<16>(pass, window, queue);
  if (taps <= 24) return launch<24>(pass, window, queue);
  if (taps <= 32) return launch<32>(pass, window, queue);
  if (taps <= 48) return launch<48>(pass, window, queue);
  launch<most_taps>(pass, window, queue);
}

// ---- recursive Gaussian: a block makes 32 lines between two restarts. One warp runs along the axis, the other one
// against it. Each keeps what it makes of the half that it comes to first in shared memory; in the other half it finds
// there what the other warp has made, and completes the outputs.

constexpr int restart = static_cast<int>(kRestart);

struct RecursivePass {
  Pass pass;
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
  const Pass& pass;
  const float* source;  ///< of the lane's line; along x, of the first line
  std::int64_t step;    ///< of voxels; along x, of lines
  int last_line;        ///< along x: of the warp's
  float (*corner)[lanes + 1];

  __device__ Reader(const Pass& pass, int first_line, int plane, float (*corner)[lanes + 1])
      : pass(pass), last_line(min(lanes, pass.lines() - first_line) - 1), corner(corner) {
    const int lane = threadIdx.x;
    source = pass.source(AlongX ? first_line : first_line + min(lane, last_line), plane);
    step = AlongX ? pass.in.x : pass.source_step();
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
    } else if (pass.holds(first) && pass.holds(first + (group - 1) * direction)) {
      const float* from = source + first * step;
      const std::int64_t hop = direction * step;
#pragma unroll
      for (int i = 0; i < group; ++i, from += hop) voxels[i] = __ldg(from);
    } else {
#pragma unroll
      for (int i = 0; i < group; ++i) voxels[i] = __ldg(source + pass.place(first + i * direction) * step);
    }
  }

  /// Calls body(n, voxel) for `count` places of the lane's line from `first` on, in the direction of 1 or -1.
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
          for (int j = 0; j < ahead; ++j) body(start + (i + j) * direction, voxels[j]);
        }
#pragma unroll 1
        for (; i < left; ++i) body(start + i * direction, voxel(i));
      } else if (left == group) {
#pragma unroll
        for (int i = 0; i < group; ++i) body(start + i * direction, voxel(i));
      } else {
#pragma unroll
        for (int i = 0; i < group; ++i) {
          if (i < left) body(start + i * direction, voxel(i));
        }
      }
    }
  }
};

template <bool AlongX>
__global__ void __launch_bounds__(2 * lanes, AlongX ? 8 : 9) recurse(const __grid_constant__ RecursivePass recursive) {
  __shared__ float sums[restart][lanes + 1];
  __shared__ float corners[AlongX ? 2 : 1][AlongX ? lanes : 1][lanes + 1];
  const Pass& pass = recursive.pass;
  const Recursion& recursion = recursive.recursion;
  if (pass.is_idle()) return;
  const int lane = threadIdx.x, first_line = lanes * static_cast<int>(AlongX ? blockIdx.y : blockIdx.x);
  const int block = recursive.first_block + restart * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y);
  const int begin = max(block, pass.begin()), end = min(block + restart, pass.begin() + pass.length());
  const int middle = min(max(block + restart / 2, begin), end);
  const bool along = threadIdx.y == 0;

  int from = along ? block - recursive.warm_up : block + restart - 1 + recursive.warm_up;
  if (pass.border != Border::reflect) from = min(max(from, 0), pass.in_length() - 1);
  const int step = along ? 1 : -1;
  const int near = along ? begin : end - 1, far = along ? end : begin - 1;  // of the outputs, as this warp sees them
  const int turn = along ? middle : middle - 1;                             // where the other half starts

  for (int plane = blockIdx.z; plane < pass.planes(); plane += gridDim.z) {
    const Reader<AlongX> reader(pass, first_line, plane, corners[AlongX ? threadIdx.y : 0]);
    State state(recursion, reader.voxel(from));
    reader.for_each(from, step, (near - from) * step, [&](int, float voxel) { state.step(recursion, voxel); });
    reader.for_each(near, step, (turn - near) * step, [&](int n, float voxel) {
      state.step(recursion, voxel);
      sums[n - block][lane] = static_cast<float>(state.output(recursion));
    });
    __syncthreads();
    const std::int64_t target_step = pass.target_step();
    float* target = pass.target(min(first_line + lane, pass.lines() - 1), plane);
    reader.for_each(turn, step, (far - turn) * step, [&](int n, float voxel) {
      state.step(recursion, voxel);
      const double others = fma(-recursion.own, static_cast<double>(voxel), static_cast<double>(sums[n - block][lane]));
      const double result = state.output(recursion) + others;
      if constexpr (AlongX) {
        sums[n - block][lane] = written(result);
      } else {
        if (first_line + lane < pass.lines()) target[(n - pass.begin()) * target_step] = written(result);
      }
    });
    __syncthreads();
    if constexpr (AlongX) {
      for (int line = threadIdx.y; line < lanes && first_line + line < pass.lines(); line += 2) {
        float* to = pass.target(first_line + line, plane) - pass.begin();
        for (int n = begin + lane; n < end; n += lanes) to[n] = sums[n - block][line];
      }
      __syncthreads();
    }
  }
}

void recurse(const Pass& pass, double sigma, std::int64_t origin, const Queue& queue) {
  const std::int64_t place = (origin + pass.begin()) % kRestart;
  const RecursivePass recursive{pass, make_recursion(sigma), static_cast<int>(pass.begin() - place),
                                static_cast<int>(warm_up(sigma))};
  const auto blocks = static_cast<unsigned>(ceil_div(pass.length() + place, kRestart));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines(), lanes));
  const dim3 block(lanes, 2);
  if (pass.axis == 0) {
    recurse<true><<<dim3(blocks, groups, pass.layers()), block, 0, queue.stream>>>(recursive);
  } else {
    recurse<false><<<dim3(groups, blocks, pass.layers()), block, 0, queue.stream>>>(recursive);
  }
}

// ---- all axes

void filter_axes(VolumeView<const float> in, VolumeView<float> out, const GaussianParams& params, Reading reading,
                 int* incomplete, const Queue& queue) {
  const std::vector<int> axes = filtered_axes(params);
  Radius3 halo = params.reach;
  VolumeView<const float> from = in;
  DeviceBuffer<float> between;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = axes[i];
    halo[axis] = 0;
    VolumeView<float> to = grown(out, halo, in);
    DeviceBuffer<float> buffer;
    if (to.extent == out.extent && (i + 1 == axes.size() || i + 3 == axes.size())) {
      to.data = out.data;  // the first of three passes does not come in the way of the last
    } else {
      buffer = DeviceBuffer<float>(static_cast<std::size_t>(to.extent.voxels()), queue);
      to.data = buffer.get();
    }
    const Axis plan = axis_of(params, in.spacing, axis);
    const Pass pass{.in = from,
                    .out = to,
                    .offset = offset_within(from, to),
                    .axis = axis,
                    .border = params.border,
                    .reading = i == 0 ? reading : Reading::plain,
                    .of_presence = reading == Reading::presence,
                    .incomplete = incomplete};
    if (plan.recursive) {
      recurse(pass, plan.sigma, from.origin[axis], queue);
    } else {
      convolve(pass, sampled_weights(plan), queue);
    }
    between = std::move(buffer);
    from = to;
  }
}

struct Finish {
  Box<const float> in;
  Box<float> out;
  Box<float> presence;
  int3 offset, rim;
  Border border;
  bool filters;
  float least;
  const int* incomplete;
};

/// Divides the sums by the weights of the voxels present, and gives the voxels that are to keep their value that value.
__global__ void finish(const __grid_constant__ Finish job) {
  const bool incomplete = job.filters && *job.incomplete != 0;
  if (!incomplete && job.filters && job.border != Border::copy) return;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= job.out.x || y >= job.out.y) return;
  const int in_x = x + job.offset.x, in_y = y + job.offset.y;
  const bool in_rim_of_slice =
      in_x < job.rim.x || in_x + job.rim.x >= job.in.x || in_y < job.rim.y || in_y + job.rim.y >= job.in.y;
  for (int z = blockIdx.z; z < job.out.z; z += gridDim.z) {
    const int in_z = z + job.offset.z;
    const bool in_rim = in_rim_of_slice || in_z < job.rim.z || in_z + job.rim.z >= job.in.z;
    const float centre = job.in.row(in_y, in_z)[in_x];
    float& result = job.out.row(y, z)[x];
    const float weight = incomplete ? job.presence.row(y, z)[x] : 1.0F;
    if (!is_present(centre)) {
      result = centre;
    } else if (!job.filters || weight < job.least || (job.border == Border::copy && in_rim)) {
      result = centre + 0.0F;
    } else if (weight != 1.0F) {
      result = result / weight + 0.0F;
    }
  }
}

}  // namespace

void gaussian_cuda(VolumeView<const float> in, VolumeView<float> out, const GaussianParams& params,
                   const Queue& queue) {
  const bool filters = params.reach != Radius3{};
  const DeviceBuffer<int> incomplete(1, queue);
  QV_CUDA(cudaMemsetAsync(incomplete.get(), 0, sizeof(int), queue.stream));
  const DeviceBuffer<float> weights(filters ? static_cast<std::size_t>(out.extent.voxels()) : 1, queue);
  VolumeView<float> presence = out;
  presence.data = weights.get();
  filter_axes(in, out, params, Reading::present, incomplete.get(), queue);
  filter_axes(in, presence, params, Reading::presence, incomplete.get(), queue);
  const Radius3 width = rim(params, in.spacing);
  const Finish job{in,
                   out,
                   presence,
                   offset_within(in, out),
                   {width.x, width.y, width.z},
                   params.border,
                   filters,
                   has_recursion(params, in.spacing) ? kLeastPresent : 0.0F,
                   incomplete.get()};
  const dim3 block(32, 8);
  const dim3 grid(static_cast<unsigned>(ceil_div(out.extent.x, block.x)),
                  static_cast<unsigned>(ceil_div(out.extent.y, block.y)), few_layers(out.extent.z));
  finish<<<grid, block, 0, queue.stream>>>(job);
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox
