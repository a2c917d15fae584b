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

  /// The voxel at place `n` of a line, given in places of the output; any place, beyond the border too.
  __device__ const float* source(int line, int plane, int n) const {
    n = static_cast<int>(border_index(border, n, in_length()));
    if (axis == 0) return in.row(line + offset.y, plane + offset.z) + n;
    const int x = line + offset.x;
    return (axis == 1 ? in.row(n, plane + offset.z) : in.row(plane + offset.y, n)) + x;
  }
  __device__ float read(int line, int plane, int n) const {
    const float value = *source(line, plane, n);
    if (reading == Reading::plain) return value;
    const bool present = fabsf(value) < INFINITY;
    if (!present) *incomplete = 1;
    return !present ? 0.0F : reading == Reading::present ? value : 1.0F;
  }
  __device__ void write(int line, int plane, int n, float value) const {
    float* row = axis == 0 ? out.row(line, plane) + n : (axis == 1 ? out.row(n, plane) : out.row(plane, n)) + line;
    *row = value + 0.0F;  // -0 becomes +0
  }
};

constexpr int lanes = 32;

// ---- sampled Gaussian: a thread makes a strip of 8 outputs along the axis, from 8 inputs at a time

constexpr int strip = 8, warps = 8, tile = strip * warps;

template <int Capacity>
struct Weights {
  int radius;
  double of_offset[Capacity];
};
constexpr int few_weights = 64, most_weights = static_cast<int>(5 * GaussianParams::largest_sigma + 0.5) + 1;

/// Inputs that a strip takes, whole groups of them.
__host__ __device__ constexpr int strip_inputs(int radius) { return (2 * radius + 2 * strip - 1) / strip * strip; }
constexpr std::size_t weight_bytes(int radius) { return sizeof(double) * (strip_inputs(radius) + strip - 1); }

/// Writes the weights to shared memory, so that `weight[strip - 1 + n - i]` is that of input n for output i of a strip.
template <int Capacity>
__device__ void spread_weights(const Weights<Capacity>& weights, double* weight) {
  const int thread = threadIdx.y * lanes + threadIdx.x, radius = weights.radius;
  for (int j = thread; j < strip_inputs(radius) + strip - 1; j += lanes * warps) {
    const int offset = abs(j - (strip - 1) - radius);
    weight[j] = offset <= radius ? weights.of_offset[offset] : 0.0;
  }
}

/// Adds a group of 8 inputs to 8 outputs; `weight` as above, for the first of the inputs.
__device__ __forceinline__ void add_group(const float (&input)[strip], const double* weight, double (&sum)[strip]) {
  double w[2 * strip - 1];
#pragma unroll
  for (int j = 0; j < 2 * strip - 1; ++j) w[j] = weight[j];
#pragma unroll
  for (int n = 0; n < strip; ++n) {
    const double value = input[n];
#pragma unroll
    for (int i = 0; i < strip; ++i) sum[i] = fma(w[strip - 1 + n - i], value, sum[i]);
  }
}

template <int Capacity>
__global__ void __launch_bounds__(lanes* warps)
    convolve_columns(const __grid_constant__ Pass pass, const __grid_constant__ Weights<Capacity> weights) {
  extern __shared__ double weight[];
  if (pass.is_idle()) return;
  spread_weights(weights, weight);
  __syncthreads();
  const int line = blockIdx.x * lanes + threadIdx.x, plane = blockIdx.z;
  const int first = blockIdx.y * tile + threadIdx.y * strip;
  if (line >= pass.lines() || first >= pass.length()) return;
  double sum[strip] = {};
  for (int n = 0; n < strip_inputs(weights.radius); n += strip) {
    float input[strip];
#pragma unroll
    for (int i = 0; i < strip; ++i) input[i] = pass.read(line, plane, pass.begin() + first - weights.radius + n + i);
    add_group(input, weight + n, sum);
  }
#pragma unroll
  for (int i = 0; i < strip; ++i) {
    if (first + i < pass.length()) pass.write(line, plane, first + i, static_cast<float>(sum[i]));
  }
}

/// Along x. Lanes have a row each; rows pass through shared memory, 64 voxels at a time.
template <int Capacity>
__global__ void __launch_bounds__(lanes* warps)
    convolve_rows(const __grid_constant__ Pass pass, const __grid_constant__ Weights<Capacity> weights) {
  extern __shared__ double weight[];
  __shared__ float part[lanes][tile + 1];
  if (pass.is_idle()) return;
  spread_weights(weights, weight);
  const int lane = threadIdx.x, warp = threadIdx.y, plane = blockIdx.z;
  const int first_line = blockIdx.y * lanes, first = blockIdx.x * tile;
  const int inputs = strip_inputs(weights.radius);
  double sum[strip] = {};
  for (int start = 0; start < tile - strip + inputs; start += tile) {
    __syncthreads();
    for (int row = warp; row < lanes; row += warps) {
      const int line = min(first_line + row, pass.lines() - 1);
      for (int n = lane; n < tile; n += lanes) {
        part[row][n] = pass.read(line, plane, pass.begin() + first - weights.radius + start + n);
      }
    }
    __syncthreads();
    const int begin = max(start, warp * strip), end = min(start + tile, warp * strip + inputs);
    for (int n = begin; n < end; n += strip) {
      float input[strip];
#pragma unroll
      for (int i = 0; i < strip; ++i) input[i] = part[lane][n - start + i];
      add_group(input, weight + n - warp * strip, sum);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < strip; ++i) part[lane][warp * strip + i] = static_cast<float>(sum[i]);
  __syncthreads();
  for (int row = warp; row < lanes && first_line + row < pass.lines(); row += warps) {
    for (int n = lane; n < tile && first + n < pass.length(); n += lanes) {
      pass.write(first_line + row, plane, first + n, part[row][n]);
    }
  }
}

template <int Capacity>
void convolve(const Pass& pass, const std::vector<double>& from, const Queue& queue) {
  Weights<Capacity> weights;
  weights.radius = static_cast<int>(from.size()) - 1;
  std::copy(from.begin(), from.end(), weights.of_offset);
  const dim3 block(lanes, warps);
  const std::size_t bytes = weight_bytes(weights.radius);
  const auto strips = static_cast<unsigned>(ceil_div(pass.length(), tile));
  const auto groups = static_cast<unsigned>(ceil_div(pass.lines(), lanes));
  if (pass.axis == 0) {
    convolve_rows<<<dim3(strips, groups, pass.planes()), block, bytes, queue.stream>>>(pass, weights);
  } else {
    convolve_columns<<<dim3(groups, strips, pass.planes()), block, bytes, queue.stream>>>(pass, weights);
  }
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

/// Calls body(n, voxel) for the places `first`, `first + step`, ... of this lane's line, `count` of them. Voxels are
/// read ahead of the body, along x through `corner`, a corner of shared memory that belongs to the warp.
template <bool AlongX, class Body>
__device__ __forceinline__ void for_each_voxel(const Pass& pass, int first_line, int plane, int first, int step,
                                               int count, float (*corner)[lanes + 1], const Body& body) {
  constexpr int group = AlongX ? lanes : 8;
  const int lane = threadIdx.x, last_line = pass.lines() - 1;
  for (int done = 0; done < count; done += group) {
    const int start = first + done * step, now = min(group, count - done);
    if constexpr (AlongX) {
      __syncwarp();
      if (lane < now) {
#pragma unroll 8
        for (int row = 0; row < lanes; ++row) {
          corner[row][lane] = pass.read(min(first_line + row, last_line), plane, start + lane * step);
        }
      }
      __syncwarp();
      for (int i = 0; i < now; ++i) body(start + i * step, corner[lane][i]);
    } else {
      float voxel[group];
#pragma unroll
      for (int i = 0; i < group; ++i) {
        voxel[i] = pass.read(min(first_line + lane, last_line), plane, start + min(i, now - 1) * step);
      }
#pragma unroll
      for (int i = 0; i < group; ++i) {
        if (i < now) body(start + i * step, voxel[i]);
      }
    }
  }
}

template <bool AlongX>
__global__ void __launch_bounds__(2 * lanes) recurse(const __grid_constant__ RecursivePass recursive) {
  __shared__ double sums[restart][lanes + 1];
  __shared__ float corners[AlongX ? 2 : 1][AlongX ? lanes : 1][lanes + 1];
  const Pass& pass = recursive.pass;
  const Recursion& recursion = recursive.recursion;
  if (pass.is_idle()) return;
  const int lane = threadIdx.x, plane = blockIdx.z;
  const int first_line = lanes * (AlongX ? blockIdx.y : blockIdx.x);
  const int line = first_line + lane;
  const int block = recursive.first_block + restart * static_cast<int>(AlongX ? blockIdx.x : blockIdx.y);
  const int begin = max(block, pass.begin()), end = min(block + restart, pass.begin() + pass.length());
  const int middle = min(max(block + restart / 2, begin), end);
  const bool along = threadIdx.y == 0;
  auto* corner = corners[AlongX ? threadIdx.y : 0];

  int from = along ? block - recursive.warm_up : block + restart - 1 + recursive.warm_up;
  if (pass.border != Border::reflect) from = min(max(from, 0), pass.in_length() - 1);
  const int step = along ? 1 : -1;
  const int near = along ? begin : end - 1, far = along ? end : begin - 1;  // of the outputs, as this warp sees them
  const int turn = along ? middle : middle - 1;                             // where the other half starts

  State state(recursion, pass.read(min(line, pass.lines() - 1), plane, from));
  const auto run = [&](int first, int stop, const auto& body) {
    for_each_voxel<AlongX>(pass, first_line, plane, first, step, (stop - first) * step, corner, body);
  };
  run(from, near, [&](int, float voxel) { state.step(recursion, voxel); });
  run(near, turn, [&](int n, float voxel) {
    state.step(recursion, voxel);
    sums[n - block][lane] = state.output(recursion);
  });
  __syncthreads();
  run(turn, far, [&](int n, float voxel) {
    state.step(recursion, voxel);
    const double others = sums[n - block][lane] - recursion.own * static_cast<double>(voxel);
    const double result = state.output(recursion) + others;
    if constexpr (AlongX) {
      sums[n - block][lane] = result;
    } else {
      if (line < pass.lines()) pass.write(line, plane, n - pass.begin(), static_cast<float>(result));
    }
  });
  if constexpr (AlongX) {
    __syncthreads();
    for (int row = threadIdx.y; row < lanes && first_line + row < pass.lines(); row += 2) {
      for (int n = begin + lane; n < end; n += lanes) {
        pass.write(first_line + row, plane, n - pass.begin(), static_cast<float>(sums[n - block][row]));
      }
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
    recurse<true><<<dim3(blocks, groups, pass.planes()), block, 0, queue.stream>>>(recursive);
  } else {
    recurse<false><<<dim3(groups, blocks, pass.planes()), block, 0, queue.stream>>>(recursive);
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
      const std::vector<double> weights = sampled_weights(plan);
      if (weights.size() <= few_weights) {
        convolve<few_weights>(pass, weights, queue);
      } else {
        convolve<most_weights>(pass, weights, queue);
      }
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
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
  if (x >= job.out.x || y >= job.out.y) return;
  const int in_x = x + job.offset.x, in_y = y + job.offset.y, in_z = z + job.offset.z;
  const float centre = job.in.row(in_y, in_z)[in_x];
  float& result = job.out.row(y, z)[x];
  const bool in_rim = in_x < job.rim.x || in_x + job.rim.x >= job.in.x || in_y < job.rim.y ||
                      in_y + job.rim.y >= job.in.y || in_z < job.rim.z || in_z + job.rim.z >= job.in.z;
  const float weight = incomplete ? job.presence.row(y, z)[x] : 1.0F;
  if (!(fabsf(centre) < INFINITY)) {
    result = centre;
  } else if (!job.filters || weight < job.least || (job.border == Border::copy && in_rim)) {
    result = centre + 0.0F;
  } else if (weight != 1.0F) {
    result = result / weight + 0.0F;
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
                  static_cast<unsigned>(ceil_div(out.extent.y, block.y)), static_cast<unsigned>(out.extent.z));
  finish<<<grid, block, 0, queue.stream>>>(job);
  QV_CUDA(cudaGetLastError());
}

}  // namespace quietvox
