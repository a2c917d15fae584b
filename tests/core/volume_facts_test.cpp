// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/volume_facts.hpp"

#include <gtest/gtest.h>

#include "filters/registry.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {

VolumeFacts header(Extent extent, Spacing spacing = {1, 1, 1}) { return {.extent = extent, .spacing = spacing}; }

std::string waiting_of(const Settings& resolved) {
  std::string text;
  for (const Waiting& waiting : resolved.waiting()) {
    text += waiting.field + (waiting.fact == VoxelFact::noise_sigma ? ":noise " : ":intensities ");
  }
  return text;
}

TEST(VolumeFacts, ParametersWaitForWhatOnlyVoxelsTell) {
  const auto resolved = [](const char* filter, const std::vector<std::pair<std::string, std::string>>& values = {}) {
    Settings settings(find_filter(filter));
    for (const auto& [field, value] : values) settings.set(field, value);
    return settings.resolved(header({32, 32, 32}));
  };
  EXPECT_EQ(waiting_of(resolved("median")), "");
  EXPECT_EQ(waiting_of(resolved("gaussian")), "");
  EXPECT_EQ(waiting_of(resolved("nlm")), "sigma:noise ");
  EXPECT_EQ(resolved("nlm").get("sigma"), "auto");
  EXPECT_EQ(waiting_of(resolved("nlm", {{"sigma", "3"}})), "");
  EXPECT_EQ(waiting_of(resolved("nlm", {{"sigma", "3"}, {"noise-model", "rician"}})), "noise-model:intensities ");
  EXPECT_EQ(waiting_of(resolved("bilateral")), "range-sigma:noise ");
  EXPECT_EQ(resolved("bilateral").get("radius"), "4x4x4");
  EXPECT_EQ(waiting_of(resolved("adaptive-bilateral")), "lowest-range-sigma:noise highest-range-sigma:noise ");
  EXPECT_EQ(waiting_of(resolved("adaptive-bilateral", {{"lowest-range-sigma", "3"}})), "highest-range-sigma:noise ");
  EXPECT_EQ(waiting_of(resolved("adaptive-bilateral", {{"rule", "two-pass"}})),
            "range-sigma:noise regularisation:intensities ");
  EXPECT_EQ(waiting_of(resolved("quadratic")), "lowest:intensities highest:intensities ");
  EXPECT_EQ(waiting_of(resolved("quadratic", {{"lowest", "0"}})), "highest:intensities ");
}

TEST(VolumeFacts, NothingWaitsWhereAllIsKnown) {
  VolumeFacts facts = header({32, 32, 32});
  int estimates = 0;
  facts.noise_sigma = [&] { return ++estimates, 10.0; };
  facts.intensities = [] { return Range<double>{0, 255}; };
  for (const Filter& filter : filters()) {
    estimates = 0;
    EXPECT_EQ(waiting_of(Settings(filter).resolved(facts)), "") << filter.name;
    EXPECT_LE(estimates, 1) << filter.name << ": an estimate reads the whole volume";
  }
  // What was known for another volume is not known for the next one.
  const Settings again = Settings(find_filter("nlm")).resolved(header({32, 32, 32})).resolved(facts);
  EXPECT_EQ(waiting_of(again), "");
  EXPECT_EQ(again.get("sigma"), "10");
}

TEST(VolumeFacts, RicianNoiseIsThatOfMagnitudes) {
  Settings settings(find_filter("nlm"));
  settings.set("noise-model", "rician");
  settings.set("sigma", "5");
  VolumeFacts facts = header({32, 32, 32});
  facts.intensities = [] { return Range<double>{0, 255}; };
  for (const DataKind kind : {DataKind::unknown, DataKind::magnitude}) {
    facts.header.kind = kind;
    EXPECT_NO_THROW((void)settings.resolved(facts));
  }
  facts.intensities = [] { return Range<double>{-0.5, 255}; };
  expect_error(Errc::invalid_argument, "never negative, but the smallest value is -0.5; give --noise-model gaussian",
               [&] { (void)settings.resolved(facts); });
  facts.intensities = {};
  facts.header = {.kind = DataKind::scalar, .kind_source = "the modality is CT"};
  expect_error(Errc::invalid_argument, "never negative, but the modality is CT; give --noise-model gaussian",
               [&] { (void)settings.resolved(facts); });
}

}  // namespace
}  // namespace quietvox::test
