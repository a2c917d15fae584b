// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU bilateral filter beside itk::BilateralImageFilter, both on all cores and with the same window.
#include "filters/bilateral.hpp"

#include <cmath>

#include "itk_adapters/peers/itk_filters.hpp"
#include "support.hpp"

namespace quietvox::bench {
namespace {

struct Case {
  std::string name;
  Radius3 radius;
  Extent extent;       ///< of ours
  Extent peer_extent;  ///< what the peer, being slow, is given
};

constexpr double range_sigma = 50;

BilateralParams params(const Case& c) {
  BilateralParams result;
  result.domain_sigma = {c.radius.x / 2.5, c.radius.x / 2.5, c.radius.x / 2.5};
  result.range_sigma = range_sigma;
  result.radius = c.radius;
  return result;
}

std::shared_ptr<const float> itk_bilateral(const Volume<float>& volume, const Case& c, int samples) {
  return peers::itk_bilateral(volume.view(), c.radius, c.radius.x / 2.5, range_sigma, samples);
}

/// Agrees with the peer within the tolerance of the filter, on a volume small enough for it. The peer has a range cut
/// of 4, and by default a coarse table of the range weight, which is refined here.
void check(const Case& c) {
  Volume<float> in = noise_volume<float>({37, 21, 2 * c.radius.z + 3}), out(in.extent);
  BilateralParams cut = params(c);
  cut.range_cut = 4;
  bilateral_cpu(in.view(), out.view(), cut, {});
  const auto peer = itk_bilateral(in, c, 1000000);
  const double worst = largest_difference(out, peer.get());
  const double ulp = std::ldexp(1.0, std::ilogb(2100.0) - 23);
  require(worst <= 1e-5 * range_sigma + 4 * ulp,
          c.name + " differs from itk::BilateralImageFilter by " + std::to_string(worst));
}

void count(benchmark::State& state, const Case& c, const Extent& extent) {
  count_voxels(state, extent);
  state.counters["tap/s"] = benchmark::Counter(static_cast<double>(extent.voxels()) * window_voxels(c.radius),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void run_ours(benchmark::State& state, const Case& c) {
  Volume<float> in = noise_volume<float>(c.extent), out(c.extent);
  for ([[maybe_unused]] auto _ : state) bilateral_cpu(in.view(), out.view(), params(c), {});
  count(state, c, c.extent);
}

void run_peer(benchmark::State& state, const Case& c) {
  const Volume<float> in = noise_volume<float>(c.peer_extent);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(itk_bilateral(in, c, 100));
  count(state, c, c.peer_extent);
}

void add(const Case& c) {
  check(c);
  const std::string name = "bilateral/" + c.name;
  add_row(name + "/quietvox", run_ours, c);
  add_row(name + "/itk", run_peer, c);
}

void add_all() {
  add({"2d_r2", {2, 2, 0}, {{1024, 1024, 1}}, {{512, 512, 1}}});
  add({"2d_r3", {3, 3, 0}, {{1024, 1024, 1}}, {{512, 512, 1}}});
  add({"2d_r5", {5, 5, 0}, {{1024, 1024, 1}}, {{256, 256, 1}}});
  add({"2d_r9", {9, 9, 0}, {{1024, 1024, 1}}, {{128, 128, 1}}});
  add({"3d_r1", {1, 1, 1}, {{256, 256, 32}}, {{128, 128, 16}}});
  add({"3d_r2", {2, 2, 2}, {{256, 256, 32}}, {{96, 96, 16}}});
  add({"3d_r3", {3, 3, 3}, {{256, 256, 32}}, {{64, 64, 32}}});
  add({"3d_r5", {5, 5, 5}, {{128, 128, 32}}, {{32, 32, 16}}});
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) { return quietvox::bench::run_benchmarks(argc, argv, quietvox::bench::add_all); }
