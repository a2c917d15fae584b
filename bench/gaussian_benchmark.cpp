// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU Gaussian filter beside itk::SmoothingRecursiveGaussianImageFilter, both on all cores.
#include "filters/gaussian.hpp"

#include <algorithm>

#include "itk_adapters/peers/itk_filters.hpp"
#include "support.hpp"

namespace quietvox::bench {
namespace {

struct Case {
  std::string name;
  double sigma;  ///< voxels, along the axes that are longer than one
  Extent extent;
  GaussianAlgorithm algorithm = GaussianAlgorithm::by_sigma;
};

GaussianParams params(const Case& c) {
  GaussianParams result;
  result.sigma = {c.sigma, c.sigma, c.sigma};
  result.algorithm = c.algorithm;
  return result.resolved({c.extent, {1, 1, 1}, {}});
}

/// The recursive one agrees with the peer within the tolerance of the filter. The peer wants four voxels an axis.
void check(Case c) {
  c.algorithm = GaussianAlgorithm::recursive;
  c.extent = {37, 21, 150};
  Volume<float> in = noise_volume<float>(c.extent), out(c.extent);
  gaussian_cpu(in.view(), out.view(), params(c), {});
  const auto peer = peers::itk_gaussian(in.view(), c.sigma);
  const auto [lowest, highest] = std::minmax_element(in.voxels.begin(), in.voxels.end());
  const double worst = largest_difference(out, peer.get());
  require(worst <= 1e-5 * (*highest - *lowest),
          c.name + " differs from itk::SmoothingRecursiveGaussianImageFilter by " + std::to_string(worst));
}

void run_ours(benchmark::State& state, const Case& c) {
  Volume<float> in = noise_volume<float>(c.extent), out(c.extent);
  for ([[maybe_unused]] auto _ : state) gaussian_cpu(in.view(), out.view(), params(c), {});
  count_voxels(state, c.extent);
}

void run_peer(benchmark::State& state, const Case& c) {
  const Volume<float> in = noise_volume<float>(c.extent);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(peers::itk_gaussian(in.view(), c.sigma));
  count_voxels(state, c.extent);
}

void add(const Case& c) {
  check(c);
  const std::string name = "gaussian/" + c.name;
  add_row(name + "/quietvox", run_ours, c);
  add_row(name + "/itk", run_peer, c);
}

void add_all() {
  for (const double sigma : {1.0, 3.0, 6.0, 8.0, 20.0}) {
    add({"3d_sigma" + std::to_string(static_cast<int>(sigma)), sigma, {{256, 256, 128}}});
  }
  add({"3d_sigma3_recursive", 3, {{256, 256, 128}}, GaussianAlgorithm::recursive});
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) { return quietvox::bench::run_benchmarks(argc, argv, quietvox::bench::add_all); }
