// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU quadratic filter with windows of 3x3 and 5x5 beside a copy of the volume, the least that any filter does.
#include "filters/quadratic.hpp"

#include <cstring>

#include "filters/quadratic/coefficients.hpp"
#include "support.hpp"

namespace quietvox::bench {
namespace {

constexpr Extent whole_extent{{2048, 2048, 1}};

QuadraticParams params(int size) {
  QuadraticParams result;
  result.lowest = 900;
  result.highest = 2100;
  QuadraticCoefficients h = quadratic_presets().front();
  if (size == 5) {
    h.size = 5;
    h.h1.assign(25, 0.04);
    h.h2.assign(325, 1e-3);
  }
  result.white = White::high;
  result.form = quadratic_form(h, 1);
  result.reach = {size / 2, size / 2, 0};
  return result;
}

/// One voxel by the formula, of the window of 5x5 all of whose coefficients are the same.
void check() {
  Volume<float> in = noise_volume<float>({{9, 9, 1}}), out(in.extent);
  const QuadraticParams five = params(5);
  quadratic_cpu(in.view(), out.view(), five, {});
  double sum = 0, squares = 0;
  for (int y = 2; y < 7; ++y) {
    for (int x = 2; x < 7; ++x) {
      const double share = (in.view().at(x, y, 0) - *five.lowest) / (*five.highest - *five.lowest);
      sum += share;
      squares += share * share;
    }
  }
  // sum over i <= j of x_i x_j is half of the square of the sum and of the sum of the squares
  const double y = 0.04 * sum + 1e-3 * (sum * sum + squares) / 2;
  const double expected = *five.lowest + y * (*five.highest - *five.lowest);
  require(std::abs(out.view().at(4, 4, 0) - expected) < 0.02,
          "quadratic makes " + std::to_string(out.view().at(4, 4, 0)) + ", not " + std::to_string(expected));
}

void run_ours(benchmark::State& state, int size) {
  Volume<float> in = noise_volume<float>(whole_extent), out(whole_extent);
  for ([[maybe_unused]] auto _ : state) quadratic_cpu(in.view(), out.view(), params(size), {});
  count_voxels(state, whole_extent);
}

void run_copy(benchmark::State& state) {
  Volume<float> in = noise_volume<float>(whole_extent), out(whole_extent);
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(out.voxels.data(), in.voxels.data(), in.voxels.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  count_voxels(state, whole_extent);
}

void add_all() {
  check();
  add_row("quadratic/3x3/quietvox", run_ours, 3);
  add_row("quadratic/5x5/quietvox", run_ours, 5);
  add_row("quadratic/copy", run_copy);
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) { return quietvox::bench::run_benchmarks(argc, argv, quietvox::bench::add_all); }
