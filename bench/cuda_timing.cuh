// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "cuda/resources.hpp"

namespace quietvox::bench {

/// Keeps the device busy.
static __global__ void spin(long long nanoseconds) {
  const auto now = [] {
    long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
  };
  const long long begin = now();
  while (now() - begin < nanoseconds) {
  }
}

/// Time on the device of what `body` queues on the default or on `stream`: the median of several measurements, after
/// two to warm up. Each queues it several times, while the device is kept busy: what the device has to do then follows
/// without a gap, however long the host takes to queue it.
template <class Body>
double seconds(Body&& body, cudaStream_t stream = nullptr) {
  using Clock = std::chrono::steady_clock;
  constexpr int measurements = 9;
  const cuda::Event start(cudaEventDefault), stop(cudaEventDefault);
  const auto measure = [&](int repeats, Clock::duration queueing) {
    spin<<<1, 1, 0, stream>>>(std::chrono::nanoseconds(queueing).count());
    QV_CUDA(cudaGetLastError());
    start.record(stream);
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < repeats; ++i) body();
    const Clock::duration took = Clock::now() - begin;
    stop.record(stream);
    stop.synchronize();
    float milliseconds = 0;
    QV_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
    return std::pair(static_cast<double>(milliseconds) / 1e3 / repeats, took);
  };
  const auto [first, queueing] = (measure(1, {}), measure(1, {}));
  const int repeats = std::clamp(static_cast<int>(5e-3 / first), 1, 50);
  std::vector<double> times;
  for (int i = 0; i < measurements; ++i) times.push_back(measure(repeats, 2 * repeats * queueing).first);
  std::sort(times.begin(), times.end());
  return times[measurements / 2];
}

}  // namespace quietvox::bench
