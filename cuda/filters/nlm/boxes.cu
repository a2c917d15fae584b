// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/filters/nlm/patch_kernels.cuh"

#include <algorithm>
#include <type_traits>

#include "cuda/filters/common/lane_and_warp.cuh"
#include "cuda/launch.cuh"

namespace quietvox::cuda::nlm {
namespace {

// Patches of several slices. A block computes a box of 64 columns; its warps lie one below the other. A lane keeps a
// few rows of two neighbouring columns, and their neighbours, in registers, so that one step of the offset along y
// loads one row more. Squared differences are summed along z within a lane, along x across lanes, and along y with the
// sums of the warps above and below, through shared memory. The outermost voxels of a box only serve these sums.

template <int Patch, int PatchZ, int Rows>
struct BoxShape {
  static constexpr int F = Patch, Fz = PatchZ;
  static constexpr int rows = Rows, outputs_z = 2, slices = outputs_z + 2 * Fz;  ///< of a lane
  static constexpr int together = Fz == 2 ? 2 : rows;  ///< rows weighed together, as it ran fastest
  static constexpr int block_x = 64, block_y = 48, warps = block_y / rows;
  static constexpr int outputs_x = block_x - 2 * F, outputs_y = block_y - 2 * F;
  static constexpr int offsets = 11;  ///< staged together, at most, along x and y
  // Even columns and odd ones lie apart, the slices of one side by side.
  static constexpr int staged_x = block_x + offsets - 1, staged_y = block_y + offsets - 1;
  static constexpr int plane = staged_x / 2 * slices, pitch = 2 * plane, staged = staged_y * pitch;
  static constexpr int sent = 2 * F * 32, letters = (warps + 2) * sent;  ///< of a warp, of a block, in float4
  static constexpr std::size_t shared_bytes = sizeof(float) * staged + sizeof(float4) * 2 * letters;

  static_assert(rows % 2 == 0 && block_y % rows == 0, "pairs of rows lie in one lane, and lanes share a block evenly");
  static_assert(outputs_x % 2 == 0 && outputs_y % 2 == 0, "blocks begin at even places");
  static_assert(plane % (slices % 4 == 0 ? 4 : 2) == 0, "slices are read as vectors");
  static_assert(staged % 4 == 0, "float4 follow what is staged");
};

/// Values of a lane in one row: those of its two columns in the first slice, then in the second.
using RowValues = float[4];

__device__ __forceinline__ float4 packed(const RowValues& values) {
  return make_float4(values[0], values[1], values[2], values[3]);
}

__device__ __forceinline__ void unpack(float4 from, RowValues& values) {
  values[0] = from.x;
  values[1] = from.y;
  values[2] = from.z;
  values[3] = from.w;
}

/// Sums along x, across lanes.
template <int F>
__device__ __forceinline__ void sum_along_x(RowValues& values) {
#pragma unroll
  for (int z = 0; z < 2; ++z) {
    float &even = values[2 * z], &odd = values[2 * z + 1];
    const float pair = even + odd;
    if constexpr (F == 1) {
      const float before = __shfl_up_sync(~0U, odd, 1), after = __shfl_down_sync(~0U, even, 1);
      even = before + pair;
      odd = pair + after;
    } else {
      const float both = pair + __shfl_down_sync(~0U, pair, 1);
      odd = both + __shfl_up_sync(~0U, odd, 1);
      even = __shfl_up_sync(~0U, both, 1) + __shfl_down_sync(~0U, even, 1);
    }
  }
}

/// A value of each voxel of a lane in its rows, and what is known of the rows above and below.
template <class S>
struct Rows {
  RowValues row[S::rows], pair[S::rows / 2];       ///< two rows side by side, the first at an even place
  RowValues before, two_before, after, two_after;  ///< the next row above, the sum of the next two, the same below

  /// Sums along y over the windows of row y, which is even, and of the one after it.
  __device__ __forceinline__ void sum_along_y(int y, RowValues& even, RowValues& odd) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float own = pair[y / 2][i];
      const float above = y > 0 ? row[y - 1][i] : before[i], below = y + 2 < S::rows ? row[y + 2][i] : after[i];
      if constexpr (S::F == 1) {
        even[i] = above + own;
        odd[i] = own + below;
      } else {
        even[i] = ((y > 0 ? pair[y / 2 - 1][i] : two_before[i]) + own) + below;
        odd[i] = above + (own + (y + 2 < S::rows ? pair[y / 2 + 1][i] : two_after[i]));
      }
    }
  }
};

/// Where warps leave sums for each other: those of their first row or two, then those of their last. There are two
/// boxes in turn, so that one barrier is enough: a warp that writes into a box again knows that all have written into
/// the other one, and so are done with this one. Nobody writes what the first warp reads from above and the last one
/// from below, but it only reaches the outermost rows, which are no outputs.
template <class S>
struct Mail {
  float4* box;  ///< of this lane
  int other = S::letters;

  /// Adds pairs, and tells the warps above and below.
  __device__ __forceinline__ void exchange(Rows<S>& rows) {
    constexpr int F = S::F, pairs = S::rows / 2;
#pragma unroll
    for (int k = 0; k < pairs; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) rows.pair[k][i] = rows.row[2 * k][i] + rows.row[2 * k + 1][i];
    }
    box[0] = packed(rows.row[0]);
    if (F == 2) box[32] = packed(rows.pair[0]);
    box[F * 32] = packed(rows.row[S::rows - 1]);
    if (F == 2) box[F * 32 + 32] = packed(rows.pair[pairs - 1]);
    __syncthreads();
    const float4* above = box - S::sent + F * 32;
    const float4* below = box + S::sent;
    unpack(above[0], rows.before);
    unpack(below[0], rows.after);
    if (F == 2) unpack(above[32], rows.two_before);
    if (F == 2) unpack(below[32], rows.two_after);
    box += other;
    other = -other;
  }
};

/// The voxels of a lane, and its outputs.
template <class S>
struct BoxLane {
  static constexpr int Fz = S::Fz;
  float voxel[S::rows][2][S::slices], neighbour[S::rows][2][S::slices];
  RowValues sum[S::rows], weight[S::rows];
  Mail<S> mail;

  /// Reads the neighbours of a row from where those of its even and odd column are staged.
  __device__ __forceinline__ void read_row(int row, const float* even, const float* odd) {
    constexpr int vector = S::slices % 4 == 0 ? 4 : 2;
    using Vector = std::conditional_t<vector == 4, float4, float2>;
#pragma unroll
    for (int i = 0; i < S::slices / vector; ++i) {
      reinterpret_cast<Vector*>(neighbour[row][0])[i] = reinterpret_cast<const Vector*>(even)[i];
      reinterpret_cast<Vector*>(neighbour[row][1])[i] = reinterpret_cast<const Vector*>(odd)[i];
    }
  }

  /// Adds one offset. The neighbours of the first row are in row `top` of `neighbour`. The bits of `inside`, first one
  /// for each row and then one for each column, tell whether neighbours lie in the slice. The variance of the first
  /// output is `variance`, null where the noise does not vary, and that of its neighbour lies `step` on.
  template <Weights W, bool Missing>
  __device__ __forceinline__ void add(int top, const Nlm& nlm, float log2_spatial, unsigned inside,
                                      const float* variance, std::int64_t step) {
    const auto difference = [&](int y, int column, int z) {
      return voxel[y][column][z] - neighbour[(y + top) % S::rows][column][z];
    };
    Rows<S> distances, counts;
#pragma unroll
    for (int y = 0; y < S::rows; ++y) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        float d[S::slices];
#pragma unroll
        for (int z = 0; z < S::slices; ++z) {
          d[z] = difference(y, column, z);
          if (Missing) d[z] = d[z] == d[z] ? d[z] : 0.0F;
        }
        // Rounded alike in every version of this code.
        float shared = __fmul_rn(d[1], d[1]);
#pragma unroll
        for (int z = 2; z <= 2 * Fz; ++z) shared = fmaf(d[z], d[z], shared);
        distances.row[y][column] = fmaf(d[0], d[0], shared);
        distances.row[y][2 + column] = fmaf(d[2 * Fz + 1], d[2 * Fz + 1], shared);
      }
    }
    mail.exchange(distances);
    if constexpr (Missing) {
#pragma unroll
      for (int y = 0; y < S::rows; ++y) {
#pragma unroll
        for (int column = 0; column < 2; ++column) {
          float present[S::slices], shared = 0;
#pragma unroll
          for (int z = 0; z < S::slices; ++z) {
            const float d = difference(y, column, z);
            present[z] = d == d ? 1.0F : 0.0F;
            if (z > 0 && z <= 2 * Fz) shared += present[z];
          }
          counts.row[y][column] = present[0] + shared;
          counts.row[y][2 + column] = shared + present[2 * Fz + 1];
        }
      }
      mail.exchange(counts);
    }
    // So long as warps wait for each other's rows, lanes do not yet exchange values.
#pragma unroll
    for (int first = 0; first < S::rows; first += S::together) {
      RowValues sums[S::together];
      sum_across(distances, first, sums);
      if constexpr (Missing) {
        RowValues present[S::together];
        sum_across(counts, first, present);
#pragma unroll
        for (int y = 0; y < S::together; ++y) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sums[y][i] = over_present<S::F, Fz>(sums[y][i], present[y][i]);
        }
      }
      if (is_general(W) && variance) {
#pragma unroll
        for (int k = 0; k < S::together; ++k) {
          const float* row = variance + (first + k) * nlm.noise.pitch;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            sums[k][i] = over_noise(sums[k][i], row + i % 2 + i / 2 * nlm.noise.plane, step);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int k = 0; k < S::together; ++k) {
          const int y = first + k;
          add_neighbour<W, Missing>(nlm, voxel[y][i % 2][Fz + i / 2], difference(y, i % 2, Fz + i / 2), sums[k][i],
                                    log2_spatial, inside >> y & inside >> (S::rows + i % 2) & 1U, sum[y][i],
                                    weight[y][i]);
        }
      }
    }
  }

  /// Sums along y and x, for some of the rows.
  __device__ __forceinline__ static void sum_across(const Rows<S>& rows, int first, RowValues (&sums)[S::together]) {
#pragma unroll
    for (int k = 0; k < S::together; k += 2) rows.sum_along_y(first + k, sums[k], sums[k + 1]);
#pragma unroll
    for (int k = 0; k < S::together; ++k) sum_along_x<S::F>(sums[k]);
  }
};

/// Stages rows of neighbours, the first of which lies at `corner`. Tells whether this lane saw a missing voxel.
template <class S>
__device__ __forceinline__ bool stage(const DeviceView<const float>& in, const Nlm& nlm, int3 corner, int rows,
                                      float* staged) {
  constexpr int steps = (S::staged_x + 31) / 32, together = 2;  // reading takes long
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int in_x[steps];
#pragma unroll
  for (int step = 0; step < steps; ++step) {
    in_x[step] = device_border_index(nlm.border, corner.x + min(lane + 32 * step, S::staged_x - 1), in.x);
  }
  bool missing = false;
  for (int first = warp; first < rows; first += together * S::warps) {
    float values[together][steps][S::slices];
#pragma unroll
    for (int k = 0; k < together; ++k) {
#pragma unroll
      for (int z = 0; z < S::slices; ++z) {
        const float* from = row_of(in, nlm, corner.y + min(first + k * S::warps, rows - 1), corner.z + z);
#pragma unroll
        for (int step = 0; step < steps; ++step) values[k][step][z] = from[in_x[step]];
      }
    }
#pragma unroll
    for (int k = 0; k < together; ++k) {
      const int y = first + k * S::warps;
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int x = lane + 32 * step;
        float* to = staged + y * S::pitch + x % 2 * S::plane + x / 2 * S::slices;
#pragma unroll
        for (int z = 0; z < S::slices; ++z) {
          const float voxel = values[k][step][z];
          missing = missing || !is_present(voxel);
          if (y < rows && x < S::staged_x) to[z] = scaled(voxel, nlm);
        }
      }
    }
  }
  return missing;
}

/// `start` is the place of the input where the first block begins. A block that meets missing voxels leaves its outputs
/// to the kernel for missing voxels, and says so in `left`.
template <class S, Weights W, bool Missing>
__global__ void __launch_bounds__(32 * S::warps)
    nlm_in_boxes(DeviceView<const float> in, DeviceView<float> out, int3 offset, int3 start,
                 const __grid_constant__ Nlm nlm, bool* left) {
  constexpr bool General = is_general(W);
  constexpr int F = S::F, Fz = S::Fz;
  float4* const shared = launched_shared();
  float* const staged = reinterpret_cast<float*>(shared);
  const int3 first{static_cast<int>(blockIdx.x) * S::outputs_x + start.x,
                   static_cast<int>(blockIdx.y) * S::outputs_y + start.y,
                   static_cast<int>(blockIdx.z) * S::outputs_z + start.z};
  const int slice = first.z - Fz;
  const auto column_now = [&] { return first.x + 2 * lane_id(); };
  const auto row_now = [&] { return first.y + S::rows * warp_id(); };
  bool& is_left = left[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x];
  if (Missing && !is_any(is_left)) return;

  BoxLane<S> mine;
  mine.mail.box = shared + S::staged / 4 + (warp_id() + 1) * S::sent + lane_id();
  const int own_column = column_now(), own_row = row_now();
  const Noise& noise = nlm.noise;
  const float* const variance =
      General && noise.variances ? noise.variances + noise.place(own_column, own_row, first.z) : nullptr;
  bool missing_here = false;
#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
#pragma unroll
    for (int x = 0; x < 2; ++x) {
#pragma unroll
      for (int z = 0; z < S::slices; ++z) {
        const float voxel = scaled_voxel(in, nlm, own_column + x, own_row + y, slice + z);
        mine.voxel[y][x][z] = voxel;
        missing_here = missing_here || voxel != voxel;
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      mine.sum[y][i] = 0;
      mine.weight[y][i] = 0;  // the voxel itself is one of the neighbours, and weighs 1
    }
  }

  if (!Missing && is_any(__syncthreads_or(missing_here))) {
    if (threadIdx.x == 0) is_left = true;
    return;
  }

  int3 low{-nlm.search.x, -nlm.search.y, -nlm.search.z}, high = nlm.search;
  if (nlm.whole_slice) {
    // Every offset that takes a voxel of the block to one of the slice. What is staged together begins at the same
    // offsets for all blocks, so that sums do not depend on where a box begins.
    const auto begin = [](int offset) {
      return (offset >= 0 ? offset : offset - S::offsets + 1) / S::offsets * S::offsets;
    };
    low = {begin(-first.x - S::block_x + 1), begin(nlm.first_row - first.y - S::block_y + 1), 0};
    high = {in.x - 1 - first.x, nlm.last_row - 1 - first.y, 0};
  }
  for (int oz = low.z; oz <= high.z; ++oz) {
    for (int from_y = low.y; from_y <= high.y; from_y += S::offsets) {
      for (int from_x = low.x; from_x <= high.x; from_x += S::offsets) {
        const int to_x = min(from_x + S::offsets - 1, high.x), to_y = min(from_y + S::offsets - 1, high.y);
        __syncthreads();
        const int3 corner{first.x + from_x, first.y + from_y, slice + oz};
        const bool missing = stage<S>(in, nlm, corner, S::block_y + to_y - from_y, staged);
        if (is_any(__syncthreads_or(missing)) && !Missing) {
          if (threadIdx.x == 0) is_left = true;
          return;
        }
        for (int ox = from_x; ox <= to_x; ++ox) {
          const int x = 2 * lane_id() + ox - from_x, warp = warp_id();
          const float* even = staged + warp * S::rows * S::pitch + x % 2 * S::plane + x / 2 * S::slices;
          const float* odd = staged + warp * S::rows * S::pitch + (x + 1) % 2 * S::plane + (x + 1) / 2 * S::slices;
          const auto read_next = [&](int to_row) {
            mine.read_row(to_row, even, odd);
            even += S::pitch;
            odd += S::pitch;
          };
#pragma unroll
          for (int y = 0; y < S::rows - 1; ++y) read_next(y);
          // The neighbours' rows take turns.
          const auto add_next = [&](int top, int oy) {
            read_next((top + S::rows - 1) % S::rows);
            const float log2_spatial = General ? log2_spatial_of(nlm, ox, oy, oz) : 0;
            unsigned inside = ~0U;
            if (General && nlm.whole_slice) {
              const int column = column_now(), row = row_now();
              inside = 0;
              for (int y = 0; y < S::rows; ++y) {
                inside |= bit_if_within(row + oy + y, nlm.first_row, nlm.last_row) << y;
              }
              for (int x = 0; x < 2; ++x) inside |= bit_if_within(column + ox + x, 0, in.x) << (S::rows + x);
            }
            mine.template add<W, Missing>(top, nlm, log2_spatial, inside, variance,
                                          General ? noise.place(ox, oy, oz) : 0);
          };
          if (!General && !Missing && to_y - from_y == S::offsets - 1) {  // all, without a branch after each
            constexpr int turns = S::offsets / S::rows;
#pragma unroll 1
            for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
              for (int top = 0; top < S::rows; ++top) add_next(top, from_y + turn * S::rows + top);
            }
#pragma unroll
            for (int top = 0; top < S::offsets % S::rows; ++top) add_next(top, from_y + turns * S::rows + top);
            continue;
          }
          int oy = from_y;
          for (; oy + S::rows - 1 <= to_y; oy += S::rows) {
#pragma unroll
            for (int top = 0; top < S::rows; ++top) add_next(top, oy + top);
          }
#pragma unroll
          for (int top = 0; top < S::rows - 1; ++top) {
            if (oy + top > to_y) break;
            add_next(top, oy + top);
          }
        }
      }
    }
  }
  if (threadIdx.x == 0) is_left = false;
  const int lane = lane_id(), warp = warp_id(), column = column_now(), row = row_now();

#pragma unroll
  for (int y = 0; y < S::rows; ++y) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int3 of_block{2 * lane + i % 2 - F, S::rows * warp + y - F, i / 2};
      if (of_block.x < 0 || of_block.x >= S::outputs_x || of_block.y < 0 || of_block.y >= S::outputs_y) continue;
      const int3 at{column + i % 2, row + y, first.z + i / 2};
      const int3 to{at.x - offset.x, at.y - offset.y, at.z - offset.z};
      if (to.x < 0 || to.x >= out.x || to.y < 0 || to.y >= out.y || to.z < 0 || to.z >= out.z) continue;
      write<General>(in, nlm, at, mine.sum[y][i], mine.weight[y][i], out.row(to.y, to.z) + to.x);
    }
  }
}

template <int F, int Fz>
bool run_for(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
             const LaunchContext& context) {
  if (nlm.patch.x != F || nlm.patch.y != F || nlm.patch.z != Fz) return false;
  // Both compute the same blocks and sums. Taller tiles exchange less between warps but run fewer warps, which only
  // windows with many offsets keep busy.
  using S = BoxShape<F, Fz, 4>;
  using Tall = BoxShape<F, Fz, 6>;
  static_assert(S::outputs_x == Tall::outputs_x && S::outputs_y == Tall::outputs_y);
  if (std::max(S::shared_bytes, Tall::shared_bytes) > most_shared_bytes()) return false;
  using enum Weights;
  const bool plain = is_plain(nlm);
  const DeviceView<float> to = out;
  const int3 back{F + back_to_multiple(out.origin.x - F, 2), F + back_to_multiple(out.origin.y - F, 2),
                  back_to_multiple(out.origin.z, S::outputs_z)};
  const int3 start{offset.x - back.x, offset.y - back.y, offset.z - back.z};
  const dim3 grid(ceil_div(to.x + back.x - F, S::outputs_x), ceil_div(to.y + back.y - F, S::outputs_y),
                  ceil_div(to.z + back.z, S::outputs_z));
  const DeviceBuffer<bool> left(std::size_t{grid.x} * grid.y * grid.z, context);
  const auto run = [&](auto kernel, int warps, std::size_t shared_bytes) {
    launch(kernel, grid, 32 * warps, shared_bytes, context, in, to, offset, start, nlm, left.get());
  };
  if (plain && 2 * nlm.search.y + 1 >= Tall::offsets) {
    run(nlm.bias == 0 ? nlm_in_boxes<Tall, patches, false> : nlm_in_boxes<Tall, biased, false>, Tall::warps,
        Tall::shared_bytes);
  } else {
    run(plain ? nlm_in_boxes<S, biased, false> : nlm_in_boxes<S, of_all_kinds, false>, S::warps, S::shared_bytes);
  }
  run(plain ? nlm_in_boxes<S, biased, true> : nlm_in_boxes<S, of_all_kinds, true>, S::warps, S::shared_bytes);
  return true;
}

}  // namespace

bool run_in_boxes(const DeviceView<const float>& in, const VolumeView<float>& out, int3 offset, const Nlm& nlm,
                  const LaunchContext& context) {
  return run_for<1, 1>(in, out, offset, nlm, context) || run_for<2, 1>(in, out, offset, nlm, context) ||
         run_for<2, 2>(in, out, offset, nlm, context);
}

}  // namespace quietvox::cuda::nlm
