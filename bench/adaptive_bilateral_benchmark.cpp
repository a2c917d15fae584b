// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU adaptive bilateral filter, by both rules, beside the bilateral filter with the same window.
#include "filters/adaptive_bilateral.hpp"

#include <cmath>

#include "filters/bilateral.hpp"
#include "support.hpp"

namespace quietvox::bench {
namespace {

struct Case {
  std::string name;
  Radius3 radius;
  Extent extent;
};

constexpr double range_sigma = 50;

AdaptiveBilateralParams params(const Case& c, RangeRule rule) {
  AdaptiveBilateralParams result;
  result.rule = rule;
  result.domain_sigma = {c.radius.x / 2.5, c.radius.x / 2.5, c.radius.x / 2.5};
  result.radius = c.radius;
  result.lowest_range_sigma = 10;
  result.highest_range_sigma = 100;
  result.range_sigma = range_sigma;
  result.regularisation = 16;
  return result;
}

/// With one range sigma everywhere it is the bilateral filter.
void check(const Case& c) {
  Volume<float> in = noise_volume<float>({37, 21, 2 * c.radius.z + 3}), out(in.extent), plain(in.extent);
  AdaptiveBilateralParams constant = params(c, RangeRule::variance);
  constant.lowest_range_sigma = constant.highest_range_sigma = range_sigma;
  adaptive_bilateral_cpu(in.view(), out.view(), constant, {});
  bilateral_cpu(in.view(), plain.view(), constant.with_range_sigma(range_sigma), {});
  const double worst = largest_difference(out, plain.voxels.data());
  require(worst <= 2e-5 * range_sigma + 8 * std::ldexp(1.0, std::ilogb(2100.0) - 23),
          c.name + " with a constant range sigma differs from bilateral by " + std::to_string(worst));
}

void count(benchmark::State& state, const Case& c) {
  count_voxels(state, c.extent);
  state.counters["tap/s"] = benchmark::Counter(static_cast<double>(c.extent.voxels()) * window_voxels(c.radius),
                                               benchmark::Counter::kIsIterationInvariantRate);
}

void run_rule(benchmark::State& state, const Case& c, RangeRule rule) {
  Volume<float> in = noise_volume<float>(c.extent), out(c.extent);
  for ([[maybe_unused]] auto _ : state) adaptive_bilateral_cpu(in.view(), out.view(), params(c, rule), {});
  count(state, c);
}

void run_bilateral(benchmark::State& state, const Case& c) {
  Volume<float> in = noise_volume<float>(c.extent), out(c.extent);
  const BilateralParams plain = params(c, RangeRule::variance).with_range_sigma(range_sigma);
  for ([[maybe_unused]] auto _ : state) bilateral_cpu(in.view(), out.view(), plain, {});
  count(state, c);
}

void add(const Case& c) {
  check(c);
  const std::string name = "adaptive-bilateral/" + c.name;
  add_row(name + "/variance", run_rule, c, RangeRule::variance);
  add_row(name + "/two-pass", run_rule, c, RangeRule::two_pass);
  add_row(name + "/bilateral", run_bilateral, c);
}

void add_all() {
  add({"2d_r3", {3, 3, 0}, {{1024, 1024, 1}}});
  add({"2d_r5", {5, 5, 0}, {{1024, 1024, 1}}});
  add({"3d_r2", {2, 2, 2}, {{256, 256, 32}}});
  add({"3d_r3", {3, 3, 3}, {{256, 256, 32}}});
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) { return quietvox::bench::run_benchmarks(argc, argv, quietvox::bench::add_all); }
