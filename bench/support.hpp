// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "core/volume_view.hpp"

#ifndef NDEBUG
#error "A benchmark of unoptimized code says nothing: configure with CMAKE_BUILD_TYPE=Release"
#endif

namespace quietvox::bench {

/// A volume that owns its voxels.
template <class T>
struct Volume {
  explicit Volume(Extent size) : extent(size), voxels(static_cast<std::size_t>(size.voxels())) {}
  VolumeView<T> view() { return {voxels.data(), extent, {1, 1, 1}, {}, {}}; }
  VolumeView<const T> view() const { return {voxels.data(), extent, {1, 1, 1}, {}, {}}; }

  Extent extent;
  std::vector<T> voxels;
};

/// CT-like numbers: a step of 1000 every 16 voxels along x, Gaussian noise of 25, rounded; ties are common.
template <class T>
Volume<T> noise_volume(Extent extent) {
  Volume<T> volume(extent);
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 25);
  for (std::size_t i = 0; i < volume.voxels.size(); ++i) {
    const std::size_t x = i % static_cast<std::size_t>(extent.x);
    volume.voxels[i] = static_cast<T>(std::round((x / 16 % 2 == 0 ? 1000.0F : 2000.0F) + noise(random)));
  }
  return volume;
}

/// Between a result and the peer's.
inline double largest_difference(const Volume<float>& ours, const float* peer) {
  double largest = 0;
  for (std::size_t i = 0; i < ours.voxels.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(ours.voxels[i]) - peer[i]));
  }
  return largest;
}

/// Adds the figure every row shows: voxels per second of wall time.
inline void count_voxels(benchmark::State& state, const Extent& extent) {
  state.counters["voxel/s"] =
      benchmark::Counter(static_cast<double>(extent.voxels()), benchmark::Counter::kIsIterationInvariantRate);
}

/// A benchmark whose result is wrong does not run.
inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "benchmark stopped: " << what << '\n';
  std::exit(1);
}

/// Adds a row: `function(state, arguments...)`, timed by the wall clock.
template <class Function, class... Arguments>
void add_row(const std::string& name, Function function, const Arguments&... arguments) {
  benchmark::RegisterBenchmark(name.c_str(), function, arguments...)
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

/// What main() does: `add_rows` is called once the options are known to be right.
template <class AddRows>
int run_benchmarks(int argc, char** argv, const AddRows& add_rows) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_rows();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace quietvox::bench
