// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "backends/choice.hpp"

#include <gtest/gtest.h>

#include "backends/cpu_backend.hpp"
#include "filters/registry.hpp"

namespace quietvox::test {
namespace {

constexpr Extent slice{{512, 512, 1}}, series{{512, 512, 600}};

double seconds(const std::string& filter, const Extent& extent, int threads = 2, const std::string& radius = "") {
  FilterConfig settings(find_filter(filter));
  if (!radius.empty()) settings.set("radius", radius);
  const FilterConfig step = settings.resolved({extent,
                                               {1, 1, 1},
                                               [] { return NoiseModel{.sigma = 10}; },
                                               [] {
                                                 return Range<double>{0, 1000};
                                               }});
  return cpu_seconds(std::span(&step, 1), extent, {.threads = threads, .memory_limit = {}});
}

TEST(BackendSelector, AutoTakesTheCpuForLittleWhateverWasRunBefore) {
  BackendSelector backends("auto", {});
  EXPECT_EQ(backends.of([] { return 0.01; }).name(), "cpu");
  EXPECT_EQ(backends.of([] { return 1000.0; }).name(), make_backend("auto")->name());
  EXPECT_EQ(backends.of([] { return 0.01; }).name(), "cpu");
  EXPECT_EQ(backends.of([] { return 0.01; }).why().text(), "auto: too little work for a GPU");
}

TEST(BackendSelector, WhatIsAskedForByNameIsTaken) {
  BackendSelector backends("cpu", {});
  for (const double seconds : {0.0, 1000.0}) {
    EXPECT_EQ(backends.of([&] { return seconds; }).name(), "cpu");
    EXPECT_EQ(backends.of([&] { return seconds; }).why().text(), "");
  }
}

/// A device that has all filters but one.
class Device final : public Backend {
 public:
  explicit Device(std::string missing) : missing_(std::move(missing)) {}
  std::string name() const override { return "cuda:0 (made up)"; }
  bool has(const Filter& filter) const override { return filter.name != missing_; }
  bool has_integer(const Filter&) const override { return false; }
  void run(std::span<const FilterConfig>, VolumeView<const float>, VolumeView<float>, const Execution&) const override {
  }
  void run(const FilterConfig&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
           const Execution&) const override {}
  void run(const FilterConfig&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
           const Execution&) const override {}

 private:
  std::string missing_;
};

TEST(AutomaticChoice, TakesADeviceThatHasEveryFilter) {
  const std::vector<FilterConfig> both{FilterConfig(find_filter("median")), FilterConfig(find_filter("nlm"))};
  const auto choice = [&](const std::string& missing) {
    return choose_between(std::make_unique<Device>(missing), both).description().text();
  };
  EXPECT_EQ(choice(""), "cuda:0 (made up) (auto: a usable device is here)");
  EXPECT_EQ(choice("dct"), "cuda:0 (made up) (auto: a usable device is here)");
  EXPECT_EQ(choice("nlm"), "cpu (auto: cuda:0 (made up) has no nlm)");
}

TEST(CpuSeconds, AreForWholeVolumesOnSoManyThreads) {
  for (const Filter& filter : filters()) {
    EXPECT_GT(seconds(filter.name, slice), 0) << filter.name;
    EXPECT_GT(seconds(filter.name, series), 100 * seconds(filter.name, slice)) << filter.name;
    EXPECT_DOUBLE_EQ(seconds(filter.name, series, 4), seconds(filter.name, series, 1) / 4) << filter.name;
  }
}

/// A GPU takes 0.3 s to start, ten times as long as the rest of a run on a slice.
TEST(CpuSeconds, TellLittleFromMuch) {
  EXPECT_LT(seconds("median", slice), 0.01);
  EXPECT_LT(seconds("bilateral", slice), 0.1);
  EXPECT_GT(seconds("nlm", series), 10);
  constexpr Extent cube{{256, 256, 256}};
  for (const char* radius : {"2x1x1", "3", "10x10x0"}) EXPECT_GT(seconds("median", cube, 2, radius), 1) << radius;
  for (const char* radius : {"1", "2", "5x5x0", "0x0x3"}) EXPECT_LT(seconds("median", cube, 2, radius), 0.2) << radius;
}

}  // namespace
}  // namespace quietvox::test
