// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda_ceilings.hpp"

#include "cuda_timing.cuh"

namespace quietvox::bench {
namespace {

constexpr int threads = 256, blocks_per_multiprocessor = 8, rounds = 2000, registers = 16;

struct FloatMinMax {
  using Value = float;
  static __device__ float min(float a, float b) { return fminf(a, b); }
  static __device__ float max(float a, float b) { return fmaxf(a, b); }
};
struct PackedMinMax {
  using Value = unsigned;
  static __device__ unsigned min(unsigned a, unsigned b) { return __vmins2(a, b); }
  static __device__ unsigned max(unsigned a, unsigned b) { return __vmaxs2(a, b); }
};

/// Odd-even transposition on registers: 15 comparators a round.
template <class Ops>
__global__ void run_comparators(typename Ops::Value* values) {
  typename Ops::Value v[registers];
  const int step = gridDim.x * blockDim.x, at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < registers; ++i) v[i] = values[at + i * step];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i + 1 < registers; i += 2) {
      const auto low = Ops::min(v[i], v[i + 1]);
      v[i + 1] = Ops::max(v[i], v[i + 1]);
      v[i] = low;
    }
#pragma unroll
    for (int i = 1; i + 1 < registers; i += 2) {  // the other way round, so that the values keep moving
      const auto low = Ops::min(v[i], v[i + 1]);
      v[i] = Ops::max(v[i], v[i + 1]);
      v[i + 1] = low;
    }
  }
  for (int i = 0; i < registers; ++i) values[at + i * step] = v[i];
}

__global__ void run_exp2(float* values) {
  float v[registers];
  const int step = gridDim.x * blockDim.x, at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < registers; ++i) v[i] = values[at + i * step];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < registers; ++i) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v[i]));
  }
  for (int i = 0; i < registers; ++i) values[at + i * step] = v[i];
}

__global__ void run_fma(float* values) {
  float v[registers];
  const int step = gridDim.x * blockDim.x, at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < registers; ++i) v[i] = values[at + i * step];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < registers; ++i) v[i] = fmaf(v[i], 0.875F, 0.0625F);
  }
  for (int i = 0; i < registers; ++i) values[at + i * step] = v[i];
}

__global__ void run_atomics(unsigned long long* sums) {
  constexpr unsigned size = 1U << 21;  // 16 MiB, less than the cache
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    atomicAdd(sums + at % size, 1ULL);
    at += 977 * 32;  // other banks each time
  }
}

__global__ void run_shared(float* values) {
  __shared__ volatile float tile[registers * threads];
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < registers; ++i) tile[i * threads + threadIdx.x] = values[at];
  float sum[4] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < registers; ++i) sum[i % 4] += tile[i * threads + threadIdx.x];
  }
  values[at] = sum[0] + sum[1] + sum[2] + sum[3];
}

__global__ void fill(unsigned* values) {
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  values[at] = 0x3f000000U + (at * 2654435761U >> 9);  // floats from 0.5 up
}

}  // namespace

Ceilings measure_ceilings() {
  int multiprocessors = 0, device = 0;
  QV_CUDA(cudaGetDevice(&device));
  QV_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int blocks = multiprocessors * blocks_per_multiprocessor;
  const double lanes = static_cast<double>(blocks) * threads * rounds;
  const std::size_t copied = std::size_t{1} << 30;
  void *a = nullptr, *b = nullptr, *pinned = nullptr;
  QV_CUDA(cudaMalloc(&a, copied));
  QV_CUDA(cudaMalloc(&b, copied));
  QV_CUDA(cudaMallocHost(&pinned, copied));
  fill<<<blocks * registers, threads>>>(static_cast<unsigned*>(a));

  Ceilings result{};
  result.minmax_f32 =
      30 * lanes / seconds([&] { run_comparators<FloatMinMax><<<blocks, threads>>>(static_cast<float*>(a)); });
  result.minmax_s16x2 =
      60 * lanes / seconds([&] { run_comparators<PackedMinMax><<<blocks, threads>>>(static_cast<unsigned*>(a)); });
  result.exp2 = registers * lanes / seconds([&] { run_exp2<<<blocks, threads>>>(static_cast<float*>(a)); });
  result.fma = registers * lanes / seconds([&] { run_fma<<<blocks, threads>>>(static_cast<float*>(a)); });
  result.atomics = lanes / seconds([&] { run_atomics<<<blocks, threads>>>(static_cast<unsigned long long*>(b)); });
  result.shared =
      sizeof(float) * registers * lanes / seconds([&] { run_shared<<<blocks, threads>>>(static_cast<float*>(a)); });
  result.copy = 2.0 * copied / seconds([&] { QV_CUDA(cudaMemcpyAsync(b, a, copied, cudaMemcpyDeviceToDevice)); });
  result.upload = copied / seconds([&] { QV_CUDA(cudaMemcpyAsync(a, pinned, copied, cudaMemcpyHostToDevice)); });
  result.download = copied / seconds([&] { QV_CUDA(cudaMemcpyAsync(pinned, a, copied, cudaMemcpyDeviceToHost)); });
  QV_CUDA(cudaFree(a));
  QV_CUDA(cudaFree(b));
  QV_CUDA(cudaFreeHost(pinned));
  return result;
}

}  // namespace quietvox::bench
