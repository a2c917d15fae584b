// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// peers_npp median|bilateral RADIUS: NPP on a 4096 x 4096 float image, one case per process, since some crash. Prints
// one JSON object. nvcc -std=c++20 -O3 peers_npp.cu -lnppif -lnppc
#include <cuda_runtime.h>
#include <npp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: peers_npp median|bilateral RADIUS\n");
    return 1;
  }
  const bool median = std::strcmp(argv[1], "median") == 0;
  const int radius = std::atoi(argv[2]), size = 2 * radius + 1, side = 4096;
  const std::size_t pixels = static_cast<std::size_t>(side) * side;
  std::mt19937 random(1);
  std::vector<float> image(pixels);
  for (float& pixel : image) pixel = 1000 + 600 * (static_cast<float>(random()) / 4294967296.0F - 0.5F);
  float *from = nullptr, *to = nullptr;
  cudaMalloc(&from, pixels * sizeof(float));
  cudaMalloc(&to, pixels * sizeof(float));
  cudaMemcpy(from, image.data(), pixels * sizeof(float), cudaMemcpyHostToDevice);

  cudaDeviceProp device;
  cudaGetDeviceProperties(&device, 0);
  NppStreamContext context{};
  context.nMultiProcessorCount = device.multiProcessorCount;
  context.nMaxThreadsPerMultiProcessor = device.maxThreadsPerMultiProcessor;
  context.nMaxThreadsPerBlock = device.maxThreadsPerBlock;
  context.nSharedMemPerBlock = device.sharedMemPerBlock;
  context.nCudaDevAttrComputeCapabilityMajor = device.major;
  context.nCudaDevAttrComputeCapabilityMinor = device.minor;
  const NppiSize whole{side, side}, mask{size, size};
  const int step = side * static_cast<int>(sizeof(float));
  Npp32u bytes = 0;
  Npp8u* buffer = nullptr;
  if (median) {
    nppiFilterMedianBorderGetBufferSize_32f_C1R_Ctx(whole, mask, &bytes, NPP_BORDER_REPLICATE, context);
    cudaMalloc(&buffer, std::max<Npp32u>(bytes, 4));
  }
  NppStatus status = NPP_SUCCESS;
  const auto run = [&] {
    status = median ? nppiFilterMedianBorder_32f_C1R_Ctx(from, step, whole, {0, 0}, to, step, whole, mask,
                                                         {radius, radius}, buffer, NPP_BORDER_REPLICATE, context)
                    : nppiFilterBilateralGaussBorder_32f_C1R_Ctx(from, step, whole, {0, 0}, to, step, whole, radius, 1,
                                                                 100.0F * 100.0F, 2.25F, NPP_BORDER_REPLICATE, context);
  };
  constexpr int repeats = 10;  // hide the time to queue
  std::vector<float> times;
  for (int i = -2; i < 5; ++i) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    for (int repeat = 0; repeat < repeats; ++repeat) run();
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float time = 0;
    cudaEventElapsedTime(&time, start, stop);
    if (i >= 0) times.push_back(time / repeats);
  }
  const cudaError_t error = cudaGetLastError();
  if (status != NPP_SUCCESS || error != cudaSuccess) {
    std::printf("{\"peer\": \"npp\", \"filter\": \"%s\", \"setting\": \"%dx%dx0\", \"fails\": \"%s\"}\n", argv[1],
                radius, radius, error != cudaSuccess ? cudaGetErrorString(error) : "NPP status");
    return 0;
  }
  std::sort(times.begin(), times.end());
  const double rate = static_cast<double>(pixels) / (times[times.size() / 2] / 1e3);
  std::printf(
      "{\"peer\": \"npp\", \"filter\": \"%s\", \"setting\": \"%dx%dx0\", \"gvoxel_per_s\": %.2f, \"ttap_per_s\": "
      "%.3f}\n",
      argv[1], radius, radius, rate / 1e9, rate * size * size / 1e12);
  return 0;
}
