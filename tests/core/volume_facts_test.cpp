// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/volume_facts.hpp"

#include <gtest/gtest.h>

#include "filters/registry.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {

VolumeFacts header(Extent extent, Spacing spacing = {1, 1, 1}) { return {.extent = extent, .spacing = spacing}; }

std::string waiting_of(const FilterConfig& resolved) {
  std::string text;
  for (const Waiting& waiting : resolved.waiting()) {
    text += waiting.field + (waiting.fact == VoxelFact::noise ? ":noise " : ":intensities ");
  }
  return text;
}

TEST(VolumeFacts, ParametersWaitForWhatOnlyVoxelsTell) {
  const auto resolved = [](const char* filter, const std::vector<std::pair<std::string, std::string>>& values = {}) {
    FilterConfig settings(find_filter(filter));
    for (const auto& [field, value] : values) settings.set(field, value);
    return settings.resolved(header({32, 32, 32}));
  };
  EXPECT_EQ(waiting_of(resolved("median")), "");
  EXPECT_EQ(waiting_of(resolved("gaussian")), "");
  EXPECT_EQ(waiting_of(resolved("nlm")), "sigma:noise patch-radius:noise strength:noise ");
  EXPECT_EQ(resolved("nlm").get("sigma"), "auto");
  EXPECT_EQ(resolved("nlm").get("patch-radius"), "auto");
  EXPECT_EQ(resolved("nlm").get("search-radius"), "3x3x3");
  EXPECT_EQ(waiting_of(resolved("nlm", {{"sigma", "3"}})), "patch-radius:noise strength:noise ");
  EXPECT_EQ(waiting_of(resolved("nlm", {{"sigma", "3"}, {"patch-radius", "1"}, {"strength", "1"}})), "");
  EXPECT_EQ(waiting_of(resolved("nlm", {{"sigma", "3"}, {"noise-model", "rician"}})),
            "patch-radius:noise strength:noise noise-model:intensities ");
  EXPECT_EQ(waiting_of(resolved("bilateral")), "domain-sigma:noise radius:noise range-sigma:noise ");
  EXPECT_EQ(resolved("bilateral").get("radius"), "auto");
  EXPECT_EQ(resolved("bilateral").halo(), (Radius3{4, 4, 4})) << "the widest that it may become";
  EXPECT_EQ(waiting_of(resolved("bilateral", {{"domain-sigma", "2"}})), "range-sigma:noise ");
  EXPECT_EQ(waiting_of(resolved("adaptive-bilateral")),
            "domain-sigma:noise radius:noise lowest-range-sigma:noise highest-range-sigma:noise ");
  EXPECT_EQ(waiting_of(resolved("adaptive-bilateral", {{"lowest-range-sigma", "3"}, {"domain-sigma", "2"}})),
            "highest-range-sigma:noise ");
  EXPECT_EQ(waiting_of(resolved("adaptive-bilateral", {{"rule", "two-pass"}})),
            "domain-sigma:noise radius:noise range-sigma:noise regularisation:intensities ");
  EXPECT_EQ(waiting_of(resolved("quadratic")), "lowest:intensities highest:intensities ");
  EXPECT_EQ(waiting_of(resolved("quadratic", {{"lowest", "0"}})), "highest:intensities ");
}

TEST(VolumeFacts, NothingWaitsWhereAllIsKnown) {
  VolumeFacts facts = header({32, 32, 32});
  int estimates = 0;
  facts.noise = [&] {
    ++estimates;
    return NoiseModel{.sigma = 10};
  };
  facts.intensities = [] { return Range<double>{0, 255}; };
  for (const Filter& filter : filters()) {
    estimates = 0;
    EXPECT_EQ(waiting_of(FilterConfig(filter).resolved(facts)), "") << filter.name;
    EXPECT_LE(estimates, 1) << filter.name << ": an estimate reads the whole volume";
  }
  // What was known for another volume is not known for the next one.
  const FilterConfig again = FilterConfig(find_filter("nlm")).resolved(header({32, 32, 32})).resolved(facts);
  EXPECT_EQ(waiting_of(again), "");
  EXPECT_EQ(again.get("sigma"), "10");
}

/// Half widths per axis of a filter's default windows.
std::string window(const char* filter, const char* field, VolumeFacts facts) {
  facts.noise = [] { return NoiseModel{.sigma = 1, .contrast = 10}; };
  return FilterConfig(find_filter(filter)).resolved(facts).get(field);
}

TEST(DefaultWindows, AreLengthsThatSpacingTurnsIntoVoxels) {
  const VolumeFacts cubic = header({64, 64, 64}, {0.9, 0.9, 0.9});
  EXPECT_EQ(window("median", "radius", cubic), "1x1x1");
  EXPECT_EQ(window("nlm", "patch-radius", cubic), "1x1x1");
  EXPECT_EQ(window("nlm", "search-radius", cubic), "3x3x3");
  EXPECT_EQ(window("bilateral", "radius", cubic), "3x3x3");
  const VolumeFacts thicker = header({64, 64, 64}, {0.7, 0.7, 1.4});
  EXPECT_EQ(window("median", "radius", thicker), "1x1x1");
  EXPECT_EQ(window("nlm", "patch-radius", thicker), "1x1x1");
  EXPECT_EQ(window("nlm", "search-radius", thicker), "3x3x2");
  EXPECT_EQ(window("bilateral", "radius", thicker), "3x3x2");
  const VolumeFacts thinner = header({64, 64, 64}, {0.9, 0.9, 0.45});
  EXPECT_EQ(window("median", "radius", thinner), "1x1x1");  // 1x1x2 is a hundred times slower
  EXPECT_EQ(window("nlm", "search-radius", thinner), "3x3x6");
  EXPECT_EQ(window("gaussian", "sigma", thinner), "0.9x0.9x0.9");
}

TEST(DefaultWindows, LeaveAxesOutWhoseVoxelsLieFarApart) {
  const VolumeFacts ct = header({512, 512, 40}, {0.45, 0.45, 5});
  EXPECT_EQ(window("median", "radius", ct), "1x1x0");
  EXPECT_EQ(window("nlm", "patch-radius", ct), "1x1x0");
  EXPECT_EQ(window("nlm", "search-radius", ct), "5x5x0");
  EXPECT_EQ(window("bilateral", "radius", ct), "3x3x0");
  EXPECT_EQ(window("adaptive-bilateral", "radius", ct), "3x3x0");
  EXPECT_EQ(window("gaussian", "sigma", ct), "0.45x0.45x0");
  // Slices may lie along any axis.
  const VolumeFacts sagittal = header({20, 256, 256}, {5, 0.9, 0.9});
  EXPECT_EQ(window("median", "radius", sagittal), "0x1x1");
  EXPECT_EQ(window("bilateral", "domain-sigma", sagittal).substr(0, 4), "0.9x");
  EXPECT_EQ(window("bilateral", "radius", sagittal), "0x3x3");
  const VolumeFacts coronal_slice = header({256, 1, 20}, {0.9, 0.9, 5});
  EXPECT_EQ(window("median", "radius", coronal_slice), "1x0x0");
}

TEST(DefaultWindows, StayWithinUnevenSlices) {
  VolumeFacts facts = header({64, 64, 64});
  facts.header.slices_are_even = false;
  for (const Filter& filter : filters()) EXPECT_EQ(FilterConfig(filter).resolved(facts).halo().z, 0) << filter.name;
}

TEST(DefaultWindows, FitIntoEveryVolume) {
  for (const Spacing spacing : {Spacing{1, 1, 1}, {0.45, 0.45, 5}, {1, 1, 0.1}, {0.01, 1, 1}, {3, 1, 2}}) {
    for (std::int64_t slices = 1; slices <= 14; ++slices) {
      for (const Extent extent : {Extent{{64, 64, slices}}, {{slices, 33, 40}}, {{2, slices, 3}}}) {
        for (const Filter& filter : filters()) {
          if (filter.name == "quadratic") continue;  // its window is that of its coefficients
          const std::string what = filter.name + " " + std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" +
                                   std::to_string(extent.z);
          EXPECT_NO_THROW(EXPECT_TRUE(FilterConfig(filter).resolved(header(extent, spacing)).halo().x >= 0)) << what;
        }
      }
    }
  }
}

TEST(DefaultWindows, OfNlmShareTheRoomOfThinVolumes) {
  const auto windows = [](std::int64_t slices, const std::vector<std::pair<std::string, std::string>>& values = {}) {
    FilterConfig settings(find_filter("nlm"));
    for (const auto& [field, value] : values) settings.set(field, value);
    VolumeFacts facts = header({64, 64, slices});
    facts.noise = [] { return NoiseModel{.sigma = 1, .contrast = 10}; };
    const FilterConfig resolved = settings.resolved(facts);
    return resolved.get("patch-radius") + " " + resolved.get("search-radius");
  };
  EXPECT_EQ(windows(1), "1x1x0 5x5x0");
  EXPECT_EQ(windows(2), "1x1x0 5x5x0");
  EXPECT_EQ(windows(3), "1x1x0 3x3x1");
  EXPECT_EQ(windows(5), "1x1x1 3x3x1");
  EXPECT_EQ(windows(12), "1x1x1 3x3x3");
  EXPECT_EQ(windows(13), "1x1x1 3x3x3");
  EXPECT_EQ(windows(5, {{"search-radius", "2"}}), "1x1x0 2x2x2");
  EXPECT_EQ(windows(5, {{"patch-radius", "2"}}), "2x2x2 3x3x0");
  EXPECT_EQ(windows(3, {{"search-radius", "all"}}), "1x1x1 all");
  expect_error(Errc::invalid_argument, "search-radius = 3x3x3 makes a window of 7 voxels along z", [&] {
    windows(5, {{"search-radius", "3"}});
  });
  expect_error(Errc::invalid_argument, "patch-radius = 3x3x3 makes a window of 7 voxels along z", [&] {
    windows(5, {{"patch-radius", "3"}});
  });
}

TEST(DefaultWindows, WhatIsGivenByHandIsTakenAndWarnedOf) {
  const VolumeFacts ct = header({512, 512, 40}, {0.45, 0.45, 5});
  const auto warning = [&](const char* filter, const char* field, const char* value) {
    FilterConfig settings(find_filter(filter));
    settings.set(field, value);
    return thick_axis_warning(settings.resolved(ct), ct);
  };
  EXPECT_EQ(warning("median", "radius", "1"),
            "median: the window extends along z, where voxels lie 5 mm apart, against 0.45 mm within a slice: it mixes "
            "in what other slices show; 0 along z leaves them out");
  EXPECT_NE(warning("nlm", "search-radius", "2"), "");
  EXPECT_NE(warning("bilateral", "domain-sigma", "4"), "");
  EXPECT_NE(warning("gaussian", "sigma", "4"), "");
  EXPECT_EQ(warning("median", "radius", "1x1x0"), "");
  for (const Filter& filter : filters()) {
    EXPECT_EQ(thick_axis_warning(FilterConfig(filter).resolved(ct), ct), "") << filter.name;
  }
}

TEST(VolumeFacts, RicianNoiseIsThatOfMagnitudes) {
  FilterConfig settings(find_filter("nlm"));
  settings.set("noise-model", "rician");
  settings.set("sigma", "5");
  VolumeFacts facts = header({32, 32, 32});
  facts.intensities = [] { return Range<double>{0, 255}; };
  for (const auto kind : {std::optional<DataKind>(), std::optional(DataKind::magnitude)}) {
    facts.header.kind = kind;
    EXPECT_NO_THROW((void)settings.resolved(facts));
  }
  facts.intensities = [] { return Range<double>{-0.5, 255}; };
  expect_error(Errc::invalid_argument, "never negative, but the smallest value is -0.5; give noise-model gaussian",
               [&] { (void)settings.resolved(facts); });
  facts.intensities = {};
  facts.header = {.kind = DataKind::scalar, .kind_source = "the modality is CT"};
  expect_error(Errc::invalid_argument, "never negative, but the modality is CT; give noise-model gaussian",
               [&] { (void)settings.resolved(facts); });
}

TEST(VolumeFacts, LabelsVectorsAndColoursAreNotFiltered) {
  VolumeFacts facts = header({32, 32, 32});
  for (const auto& [kind, why] :
       {std::pair(DataKind::labels, "the numbers of labels are names"),
        std::pair(DataKind::vectors, "vectors cannot be filtered one component at a time"),
        std::pair(DataKind::colours, "colours, and numbers that stand for them, cannot be filtered as intensities"),
        std::pair(DataKind::lists, "what lies side by side in the file may lie far apart in space")}) {
    facts.header = {.kind = kind, .kind_source = "the header says so"};
    for (const Filter& filter : filters()) {
      expect_error(Errc::unsupported, filter.name + ": the header says so; " + why,
                   [&] { (void)FilterConfig(filter).resolved(facts); });
    }
  }
}

TEST(VolumeFacts, PhasesAreNotAveraged) {
  VolumeFacts facts = header({32, 32, 32});
  facts.header = {.kind = DataKind::phase, .kind_source = "Image Type says P"};
  for (const Filter& filter : filters()) {
    if (filter.name == "median") {
      EXPECT_NO_THROW((void)FilterConfig(filter).resolved(facts));
    } else {
      expect_error(Errc::unsupported, filter.name + ": Image Type says P; a mean of phases is wrong",
                   [&] { (void)FilterConfig(filter).resolved(facts); });
    }
  }
}

}  // namespace
}  // namespace quietvox::test
