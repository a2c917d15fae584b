// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_test.hpp"

namespace quietvox::test {
namespace {

using GpuAdaptiveBilateral = GpuTest;
using Options = std::vector<std::pair<std::string, std::string>>;

Volume result(const Backend& backend, const Options& options, const Volume& volume) {
  return run(backend, {resolved(settings("adaptive-bilateral", options), volume)}, volume);
}

void expect_near(const Backend& backend, const FilterConfig& step, const Volume& volume) {
  const Reference& exact = reference("adaptive-bilateral");
  EXPECT_EQ(first_difference(exact.run(volume, step), run(backend, {step}, volume), exact.tolerance(volume, step)), "")
      << step.get("rule") << " radius " << step.get("radius");
}

void expect_near(const Backend& backend, const Options& options, const Volume& volume) {
  expect_near(backend, resolved(settings("adaptive-bilateral", options), volume), volume);
}

TEST_F(GpuAdaptiveBilateral, NoiseThatVaries) {
  const Volume volume = with_holes(busy_volume({71, 37, 9}, 5), 89);
  for (const char* rule : {"variance", "two-pass"}) {
    for (const char* radius : {"0", "1", "2x3x0", "5x2x1", "7x1x0"}) {
      const FilterConfig chosen = settings("adaptive-bilateral", {{"rule", rule}, {"radius", radius}});
      expect_near(*backend, resolved_by_map(chosen, volume), volume);
    }
  }
}

TEST_F(GpuAdaptiveBilateral, EqualsTheReferenceForEveryOption) {
  Volume volume = with_holes(busy_volume({41, 37, 9}, 3), 89);
  volume.spacing = {0.7, 0.9, 2.5};
  const Options variants[] = {
      {{"radius", "1"}},           {{"radius", "2x3x0"}},  {{"radius", "5x2x1"}},       {{"radius", "7x1x0"}},
      {{"radius", "0"}},           {{"support", "disc"}},  {{"border", "reflect"}},     {{"border", "copy"}},
      {{"kappa", "0.5"}},          {{"range-sigma", "0"}}, {{"regularisation", "100"}}, {{"lowest-range-sigma", "0"}},
      {{"domain-sigma", "1x2x3"}},
  };
  for (const Options& variant : variants) {
    for (const char* rule : {"variance", "two-pass"}) {
      Options options{{"rule", rule}};
      options.insert(options.end(), variant.begin(), variant.end());
      expect_near(*backend, options, volume);
    }
  }
}

TEST_F(GpuAdaptiveBilateral, AConstantSigmaIsTheBilateralFilter) {
  const Volume volume = busy_volume({70, 45, 9}, 4);
  const FilterConfig plain = resolved(settings("bilateral", {{"radius", "3x3x1"}, {"range-sigma", "60"}}), volume);
  const Volume expected = run(*backend, {plain}, volume);
  const double tolerance = reference("bilateral").tolerance(volume, plain);
  const Options variance{{"radius", "3x3x1"}, {"lowest-range-sigma", "60"}, {"highest-range-sigma", "60"}};
  EXPECT_EQ(first_difference(expected, result(*backend, variance, volume), tolerance), "");
  const Options two_pass{{"radius", "3x3x1"}, {"rule", "two-pass"}, {"range-sigma", "0"}, {"regularisation", "14400"}};
  EXPECT_EQ(first_difference(expected, result(*backend, two_pass, volume), tolerance), "");
}

}  // namespace
}  // namespace quietvox::test
