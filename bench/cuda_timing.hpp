// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "cuda/resources.hpp"

namespace quietvox::bench {

/// Time of what `body` queues on the default or on `stream`: the median of several measurements, after one to warm up.
/// Each queues it so often that it takes some milliseconds, so that the time to queue is hidden.
template <class Body>
double seconds(Body&& body, cudaStream_t stream = nullptr) {
  constexpr int measurements = 9;
  const cuda::Event start(cudaEventDefault), stop(cudaEventDefault);
  const auto measure = [&](int repeats) {
    start.record(stream);
    for (int i = 0; i < repeats; ++i) body();
    stop.record(stream);
    stop.synchronize();
    float milliseconds = 0;
    QV_CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
    return static_cast<double>(milliseconds) / 1e3 / repeats;
  };
  measure(1);
  const int repeats = std::clamp(static_cast<int>(5e-3 / measure(1)), 1, 50);
  std::vector<double> times;
  for (int i = 0; i < measurements; ++i) times.push_back(measure(repeats));
  std::sort(times.begin(), times.end());
  return times[measurements / 2];
}

}  // namespace quietvox::bench
