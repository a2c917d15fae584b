// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/series_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/choice.hpp"
#include "filters/registry.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {
namespace {

/// Volumes whose voxels all have the value that is measured, and how often that was. Where it is not said with which
/// confidence, it is high, but fractions cannot be trusted.
struct Series {
  std::vector<float> levels;
  int measures = 0;
  std::vector<Confidence> confidence{};

  std::optional<SeriesNoise> noise(const std::vector<FilterConfig>& chain) {
    std::vector<Volume> volumes;
    for (const float level : levels) volumes.emplace_back(Extent{{8, 8, 4}}, Spacing{1, 1, 1}, level);
    const auto backend = make_backend("cpu");
    return SeriesNoise::measure(volumes.size(), [&](std::size_t i) -> std::optional<std::vector<NoiseModel>> {
      if (levels[i] < 0) return std::nullopt;
      std::vector<NoiseModel> models;
      MemorySource source(volumes.at(i));
      resolve_chain(chain, source, *backend, {}, [&](VolumeSource& reaching, const Execution&) {
        ++measures;
        NoiseModel& model = models.emplace_back(NoiseModel{.sigma = intensities(reaching).max});
        if (model.sigma != std::floor(model.sigma)) model.confidence = Confidence::none;
        if (!confidence.empty()) model.confidence = confidence.at(i);
        return model;
      });
      return models;
    });
  }
};

FilterConfig step(const char* filter) { return FilterConfig(find_filter(filter)); }

std::string sigma_of(const SeriesNoise& noise, const std::vector<FilterConfig>& chain, std::size_t at = 0) {
  const Volume volume({{8, 8, 4}}, {1, 1, 1}, 999);
  MemorySource source(volume);
  const auto backend = make_backend("cpu");
  const FilterConfig resolved = resolve_chain(chain, source, *backend, {}, noise.as_measure())[at];
  return resolved.get(resolved.filter().name == "nlm" ? "sigma" : "range-sigma");
}

TEST(SeriesNoise, IsTheMedianOfAFewVolumes) {
  Series series;
  for (int i = 0; i < 100; ++i) series.levels.push_back(10 + static_cast<float>(i % 3));
  const auto noise = series.noise({step("nlm")});
  ASSERT_TRUE(noise);
  EXPECT_EQ(series.measures, 9);
  EXPECT_EQ(sigma_of(*noise, {step("nlm")}), "11");
  EXPECT_EQ(sigma_of(*noise, {step("nlm")}), "11") << "every volume asks anew";
  EXPECT_EQ(noise->describe(), "one noise for the series, the median of volumes 1, 13, 25, 38, 50, 62, 75, 87, 100");
}

TEST(SeriesNoise, LooksPastAFewVolumesOfAnotherContrast) {
  Series series{{70, 10, 10, 11, 10, 10, 10, 9, 10}};
  const auto noise = series.noise({step("nlm")});
  ASSERT_TRUE(noise);
  EXPECT_EQ(sigma_of(*noise, {step("nlm")}), "10");
}

/// A mean of others, or a reference that was taken apart.
TEST(SeriesNoise, LooksPastAFewQuietVolumes) {
  const auto noise = Series{{3, 10, 10, 11, 10, 10, 10, 9, 10}}.noise({step("nlm")});
  ASSERT_TRUE(noise);
  EXPECT_EQ(noise->first().sigma, 10);
  EXPECT_TRUE(noise->smears(0));
  for (std::size_t volume = 1; volume < 9; ++volume) EXPECT_FALSE(noise->smears(volume));
}

/// Motion may make one volume's noise hard to tell from structure. Then none is filtered otherwise than its neighbours.
TEST(SeriesNoise, OthersTellWhatOneVolumeCannot) {
  const std::vector<FilterConfig> chain{step("nlm")};
  const auto told = Series{{10.5, 10, 10.5, 11, 10.5, 10.5, 11}}.noise(chain);
  ASSERT_TRUE(told);
  EXPECT_EQ(sigma_of(*told, chain), "11");
  EXPECT_EQ(told->describe(), "one noise for the series, the median of volumes 2, 4, 7");
  const auto untold = Series{{10.5, 10, 10.5, 10.5, 10.5, 10.5, 10.5}}.noise(chain);
  ASSERT_TRUE(untold);
  EXPECT_EQ(sigma_of(*untold, chain), "0");
  EXPECT_FALSE(Series({{10.5, 10, 30.5, 30.5, 11}}).noise(chain)) << "other contrasts";
}

/// Where the signal is strong, as without diffusion weighting, noise of magnitudes looks Gaussian.
TEST(SeriesNoise, IsOfMagnitudesWhereOneVolumeShowsIt) {
  const auto distribution = [](Confidence confidence) {
    const auto noise = SeriesNoise::measure(3, [&](std::size_t volume) {
      NoiseModel model{.sigma = 10};
      if (volume == 2) model = {.sigma = 11, .distribution = NoiseDistribution::rician, .confidence = confidence};
      return std::vector{model};
    });
    return noise->first().distribution;
  };
  EXPECT_EQ(distribution(Confidence::medium), NoiseDistribution::rician);
  EXPECT_EQ(distribution(Confidence::low), NoiseDistribution::gaussian);
}

TEST(SeriesNoise, LeavesOutWhatIsNotFiltered) {
  const std::vector<FilterConfig> chain{step("nlm")};
  const auto noise = Series{{-1, 4, 5, -1, 6}}.noise(chain);
  ASSERT_TRUE(noise);
  EXPECT_EQ(noise->describe(), "one noise for the series, the median of volumes 2, 3, 5");
  EXPECT_EQ(sigma_of(*noise, chain), "5");
  EXPECT_FALSE(Series({{-1, 4, -1}}).noise(chain)) << "one volume is no series";
}

TEST(SeriesNoise, IsNoneWhereContrastsDiffer) {
  EXPECT_FALSE((Series{{10, 20, 10, 20, 10, 20}}.noise({step("nlm")})));
  EXPECT_FALSE((Series{{10, 40}}.noise({step("nlm")})));
  EXPECT_FALSE((Series{{10, 10, 10, 2, 10, 2, 10, 2, 10}}.noise({step("nlm")}))) << "maps in one file";
  EXPECT_FALSE((Series{{10}}.noise({step("nlm")})));
}

/// Of weak images of diffusion the measure may be that of structure.
TEST(SeriesNoise, IsThatOfTheSurestWhereOthersHaveMore) {
  constexpr auto low = Confidence::low, medium = Confidence::medium, high = Confidence::high;
  const auto noise_of = [](const std::vector<float>& levels, const std::vector<Confidence>& confidence) {
    const auto noise = Series{.levels = levels, .confidence = confidence}.noise({step("nlm")});
    return noise ? sigma_of(*noise, {step("nlm")}) : "none";
  };
  EXPECT_EQ(noise_of({4, 4, 9, 8, 7}, {medium, low, low, low, low}), "4");
  EXPECT_EQ(noise_of({4, 4, 5, 9, 11}, {high, high, high, low, medium}), "4");
  EXPECT_EQ(noise_of({4, 5, 4, 9, 8, 11}, {medium, medium, medium, low, low, medium}), "4");
  EXPECT_EQ(noise_of({4, 4, 12, 8, 6, 10, 12, 7}, {medium, medium, Confidence::none, low, low, low, low, low}), "4");
  EXPECT_EQ(noise_of({4, 9, 20}, {medium, low, medium}), "none") << "as sure of both";
  EXPECT_EQ(noise_of({4, 9, 2}, {medium, low, low}), "none") << "one has less";
  EXPECT_EQ(noise_of({2, 7, 7, 7, 7}, {high, medium, medium, medium, medium}), "none") << "the others agree";
  EXPECT_EQ(noise_of({3, 3, 6, 6, 6}, {high, high, medium, medium, medium}), "none") << "the surest are few";
  EXPECT_EQ(noise_of({4, 9, 9, 7}, {low, low, low, low}), "none");
  const auto noise = Series{.levels = {4, 4, 9, 8, 7}, .confidence = {medium, low, low, low, low}}.noise({step("nlm")});
  ASSERT_TRUE(noise);
  EXPECT_TRUE(noise->is_by_surest());
  EXPECT_EQ(noise->describe(), "one noise for the series, that of volume 1");
}

TEST(SeriesNoise, IsMeasuredOnlyWhereAFilterAsks) {
  Series series{{10, 10, 10}};
  EXPECT_FALSE(series.noise({step("median"), step("gaussian")}));
  EXPECT_EQ(series.measures, 0);
}

TEST(SeriesNoise, EachStepOfAChainHasItsOwn) {
  const std::vector<FilterConfig> chain{step("bilateral"), step("median"), step("nlm")};
  Series series{{10, 10, 12}};
  const auto noise = series.noise(chain);
  ASSERT_TRUE(noise);
  EXPECT_EQ(series.measures, 6);
  EXPECT_EQ(sigma_of(*noise, chain, 0), "35");
  EXPECT_EQ(sigma_of(*noise, chain, 2), "10");
}

}  // namespace
}  // namespace quietvox::test
