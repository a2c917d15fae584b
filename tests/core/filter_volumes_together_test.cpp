// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What filters may ask for beside a volume: a map beside the result, all volumes of a series, the model of the noise. A
// small filter for each; they are no part of the library.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/pipeline.hpp"
#include "support/expect_error.hpp"
#include "support/volumes.hpp"

namespace quietvox {
namespace {

using test::busy_volume;
using test::expect_error;
using test::MemorySource;
using test::Volume;

/// The mean of three slices, and how far they spread.
struct SpreadParams {
  int radius = 1;

  static constexpr std::string_view name = "spread";
  static constexpr std::string_view summary = "The mean of neighbouring slices, and a map of their spread.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{field("radius", &SpreadParams::radius, {0, 3}, "voxel", "Slices to either side.")};
  }
  SpreadParams resolved(const VolumeFacts&) const { return *this; }
  constexpr Radius3 halo() const { return {0, 0, radius}; }
  constexpr std::string_view window_field() const { return {}; }
  static FilterHooks<SpreadParams> hooks() { return {.maps = {"spread"}}; }
};

void spread(std::span<const VolumeView<const float>> volumes, std::span<const VolumeView<float>> outputs,
            const SpreadParams& params, const Execution&) {
  const VolumeView<const float>& in = volumes[0];
  const VolumeView<float>&mean = outputs[0], &map = outputs[1];
  for (std::int64_t z = 0; z < mean.extent.z; ++z) {
    const std::int64_t place = z + mean.origin.z - in.origin.z;
    const std::int64_t first = std::max<std::int64_t>(place - params.radius, 0);
    const std::int64_t last = std::min(place + params.radius, in.extent.z - 1);
    for (std::int64_t y = 0; y < mean.extent.y; ++y) {
      for (std::int64_t x = 0; x < mean.extent.x; ++x) {
        double sum = 0, square = 0;
        for (std::int64_t at = first; at <= last; ++at) {
          sum += in.at(x, y, at);
          square += std::pow(in.at(x, y, at), 2);
        }
        const auto count = static_cast<double>(last - first + 1);
        mean.at(x, y, z) = static_cast<float>(sum / count);
        map.at(x, y, z) = static_cast<float>(std::sqrt(std::max(0.0, square / count - std::pow(sum / count, 2))));
      }
    }
  }
}

/// Takes the mean over a series off each of its volumes.
struct ChangesParams {
  bool halve = false;

  static constexpr std::string_view name = "changes";
  static constexpr std::string_view summary = "What each volume has beside the mean of the series.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() { return std::tuple{field("halve", &ChangesParams::halve, "Halves it.")}; }
  ChangesParams resolved(const VolumeFacts&) const { return *this; }
  constexpr Radius3 halo() const { return {}; }
  constexpr std::string_view window_field() const { return {}; }
  static FilterHooks<ChangesParams> hooks() { return {.takes_all_volumes = true}; }
};

void changes(std::span<const VolumeView<const float>> volumes, std::span<const VolumeView<float>> outputs,
             const ChangesParams&, const Execution&) {
  for (std::int64_t i = 0; i < outputs[0].extent.voxels(); ++i) {
    double sum = 0;
    for (const auto& volume : volumes) sum += volume.data[i];
    for (std::size_t k = 0; k < volumes.size(); ++k) {
      outputs[k].data[i] = static_cast<float>(volumes[k].data[i] - sum / static_cast<double>(volumes.size()));
    }
  }
}

/// Asks for the whole model of the noise.
struct ThresholdParams {
  std::optional<double> threshold;

  static constexpr std::string_view name = "threshold";
  static constexpr std::string_view summary = "Clears what is no larger than the noise.";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{field("threshold", &ThresholdParams::threshold, {0, 1e9}, "", "auto: by the noise.")};
  }
  ThresholdParams resolved(const VolumeFacts& facts) const {
    ThresholdParams params = *this;
    if (const auto noise = facts.noise_for("threshold"); !threshold && noise) {
      params.threshold = noise->distribution == NoiseDistribution::rician ? 3 * noise->sigma : 2 * noise->sigma;
    }
    return params;
  }
  constexpr Radius3 halo() const { return {}; }
  constexpr std::string_view window_field() const { return {}; }
  static FilterHooks<ThresholdParams> hooks() { return {}; }
};

/// A backend with these filters.
class Small final : public Backend {
 public:
  std::string name() const override { return "small"; }
  bool has(const Filter& filter) const override { return find_entry(entries_, filter) != nullptr; }
  bool has_integer(const Filter&) const override { return false; }
  void run(std::span<const FilterConfig>, VolumeView<const float>, VolumeView<float>, const Execution&) const override {
  }
  void run(const FilterConfig&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
           const Execution&) const override {}
  void run(const FilterConfig&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
           const Execution&) const override {}
  void run(const FilterConfig& settings, std::span<const VolumeView<const float>> volumes,
           std::span<const VolumeView<float>> outputs, const Execution& execution) const override {
    find_entry(entries_, settings.filter())->series(volumes, outputs, settings.params(), execution);
  }

 private:
  std::vector<BackendEntry<Execution>> entries_{
      backend_entry<SpreadParams, Execution>({.series = spread}),
      backend_entry<ChangesParams, Execution>({.series = changes}),
  };
};

std::vector<Volume> run(const Filter& filter, const std::vector<Volume>& volumes, const Execution& execution = {}) {
  std::vector<std::unique_ptr<MemorySource>> sources;
  std::vector<VolumeSource*> pointers;
  for (const Volume& volume : volumes) pointers.push_back(sources.emplace_back(new MemorySource(volume)).get());
  std::vector<Volume> results(volumes.size() + filter.maps.size(), Volume(volumes[0].extent, volumes[0].spacing));
  const FilterConfig resolved = FilterConfig(filter).resolved(header_facts(*pointers[0]));
  std::int64_t next = 0;
  filter_volumes_together(pointers, resolved, Small(), execution,
                          [&](std::span<const VolumeView<const float>> outputs) {
                            ASSERT_EQ(outputs.size(), results.size());
                            EXPECT_EQ(outputs[0].origin.z, next);
                            for (std::size_t i = 0; i < outputs.size(); ++i) {
                              std::copy_n(outputs[i].data, outputs[i].extent.voxels(), results[i].view().row(0, next));
                            }
                            next += outputs[0].extent.z;
                          });
  EXPECT_EQ(next, volumes[0].extent.z);
  return results;
}

const Extent extent{{9, 7, 12}};

TEST(FilterSeries, AMapComesBesideTheResult) {
  static const Filter filter = describe_filter<SpreadParams>();
  EXPECT_EQ(filter.maps, std::vector<std::string>{"spread"});
  const Volume volume = busy_volume(extent, 3);
  const auto results = run(filter, {volume});
  ASSERT_EQ(results.size(), 2U);
  const float a = volume.view().at(4, 3, 5), b = volume.view().at(4, 3, 6), c = volume.view().at(4, 3, 7);
  EXPECT_FLOAT_EQ(results[0].view().at(4, 3, 6), (a + b + c) / 3);
  const double mean = (double{a} + b + c) / 3;
  const double variance = (std::pow(a - mean, 2) + std::pow(b - mean, 2) + std::pow(c - mean, 2)) / 3;
  EXPECT_NEAR(results[1].view().at(4, 3, 6), std::sqrt(variance), 1e-3 * std::sqrt(variance));
}

TEST(FilterSeries, AllVolumesAreThereAtOnce) {
  static const Filter filter = describe_filter<ChangesParams>();
  EXPECT_TRUE(filter.takes_all_volumes);
  std::vector<Volume> volumes(3, busy_volume(extent, 3));
  for (float& voxel : volumes[1].voxels) voxel += 3;
  for (float& voxel : volumes[2].voxels) voxel += 9;
  const auto results = run(filter, volumes);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_NEAR(results[0].view().at(2, 2, 2), -4, 1e-3);
  EXPECT_NEAR(results[1].view().at(2, 2, 2), -1, 1e-3);
  EXPECT_NEAR(results[2].view().at(2, 2, 2), 5, 1e-3);
  volumes[1] = busy_volume({{9, 7, 11}}, 3);
  expect_error(Errc::invalid_argument, "changes: the volumes of the series differ in size",
               [&] { run(filter, volumes); });
}

TEST(FilterSeries, VolumesAloneAreRefused) {
  static const Filter spread = describe_filter<SpreadParams>(), changes = describe_filter<ChangesParams>();
  const Volume volume = busy_volume(extent, 3);
  for (const Filter* filter : {&spread, &changes}) {
    MemorySource source(volume);
    const std::vector chain{FilterConfig(*filter)};
    const std::string error = filter->name + ": it gives maps or takes all volumes of a series";
    expect_error(Errc::unsupported, error, [&] { resolve_chain(chain, source, Small(), {}, {}); });
    expect_error(Errc::unsupported, error, [&] { filter_volume(source, chain, Small(), {}, {}); });
  }
}

TEST(FilterSeries, SlabsNeverChangeAVoxel) {
  static const Filter filter = describe_filter<SpreadParams>();
  const Volume volume = busy_volume(extent, 3);
  const auto whole = run(filter, {volume});
  for (const std::size_t slices : {5U, 8U, 13U, 20U}) {
    const auto pieces = run(filter, {volume}, {.memory_limit = slices * 9 * 7 * sizeof(float)});
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(pieces[i].voxels, whole[i].voxels) << slices;
  }
  expect_error(Errc::out_of_memory, "filtering one slice of each volume needs",
               [&] { run(filter, {volume}, {.memory_limit = 4 * 9 * 7 * sizeof(float)}); });
}

TEST(FilterSeries, ABackendWithoutThemSaysSo) {
  class Plain final : public Backend {
   public:
    std::string name() const override { return "plain"; }
    bool has(const Filter&) const override { return true; }
    bool has_integer(const Filter&) const override { return false; }
    using Backend::run;
    void run(std::span<const FilterConfig>, VolumeView<const float>, VolumeView<float>,
             const Execution&) const override {}
    void run(const FilterConfig&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
             const Execution&) const override {}
    void run(const FilterConfig&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
             const Execution&) const override {}
  };
  static const Filter filter = describe_filter<SpreadParams>();
  const Volume volume = busy_volume(extent, 3);
  MemorySource source(volume);
  VolumeSource* const volumes[] = {&source};
  const FilterConfig settings = FilterConfig(filter).resolved(header_facts(source));
  expect_error(Errc::device, "spread: plain has no filters that make maps",
               [&] { filter_volumes_together(volumes, settings, Plain(), {}, [](auto) {}); });
}

TEST(FilterSeries, TheModelOfTheNoiseIsGivenToWhoAsks) {
  static const Filter filter = describe_filter<ThresholdParams>();
  VolumeFacts facts{.extent = extent, .spacing = {1, 1, 1}};
  const FilterConfig waits = FilterConfig(filter).resolved(facts);
  ASSERT_EQ(waits.waiting().size(), 1U);
  EXPECT_EQ(waits.waiting()[0].field, "threshold");
  NoiseModel model{.sigma = 2};
  facts.noise = [&] { return model; };
  EXPECT_EQ(FilterConfig(filter).resolved(facts).get("threshold"), "4");
  model.distribution = NoiseDistribution::rician;
  EXPECT_EQ(FilterConfig(filter).resolved(facts).get("threshold"), "6");
}

}  // namespace
}  // namespace quietvox
