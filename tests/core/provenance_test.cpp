// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/provenance.hpp"

#include <gtest/gtest.h>

#include "filters/registry.hpp"

namespace quietvox {
namespace {

TEST(Provenance, NamesEveryFilterAndParameter) {
  FilterConfig median(find_filter("median"));
  median.set("radius", "1x1x0");
  const FilterConfig bilateral(find_filter("bilateral"));
  const std::vector<FilterConfig> chain{median, bilateral};
  const std::string text = describe_chain(chain);
  EXPECT_EQ(text.find("median radius=1x1x0 shape=box border=replicate"), 0U) << text;
  EXPECT_NE(text.find(" -> bilateral domain-sigma=auto range-sigma=auto"), std::string::npos) << text;
}

TEST(Provenance, IsToldBriefly) {
  FilterConfig median(find_filter("median"));
  median.set("radius", "2x2x0");
  median.set("border", "copy");
  const FilterConfig nlm(find_filter("nlm"));
  const std::vector<FilterConfig> chain{median, nlm};
  EXPECT_EQ(brief_chain(chain, 64), "median radius 2x2x0 border copy, nlm");
  EXPECT_EQ(brief_chain(chain, 36), "median radius 2x2x0 border copy, nlm");
  EXPECT_EQ(brief_chain(chain, 35), "median, nlm");
  EXPECT_EQ(brief_chain(chain, 10), "2 filters");
  median.set("radius", "2");
  EXPECT_EQ(brief_chain(std::span(&median, 1), 64), "median radius 2 border copy");
}

TEST(Provenance, SaysThatItIsNotForDiagnosticUse) {
  const Provenance provenance{{FilterConfig(find_filter("median"))}, {FilterConfig(find_filter("median"))}, "cpu"};
  const std::string text = derivation_text(provenance);
  EXPECT_EQ(text.find("quietvox " + version() + ": median radius=auto"), 0U) << text;
  EXPECT_NE(text.find("not for diagnostic use"), std::string::npos) << text;
}

TEST(Provenance, NamesOtherStepsInTheirPlaces) {
  const FilterConfig median(find_filter("median")), bilateral(find_filter("bilateral"));
  const Provenance provenance{
      {median, bilateral}, {median, bilateral}, "cpu", "", {{0, "Shift"}, {1, "Scale"}, {1, "Add"}, {2, "Flip"}}};
  const std::string text = derivation_text(provenance);
  std::size_t place = 0;
  for (const char* step : {": Shift -> median ", " -> Scale -> Add -> bilateral ", " -> Flip; not for"}) {
    place = text.find(step, place);
    EXPECT_NE(place, std::string::npos) << step << " in " << text;
  }
}

TEST(Provenance, NamesTheMask) {
  Provenance provenance{{FilterConfig(find_filter("median"))}, {FilterConfig(find_filter("median"))}, "cpu"};
  EXPECT_EQ(derivation_text(provenance).find("mask"), std::string::npos);
  provenance.mask = "0123456789abcdef";
  EXPECT_NE(derivation_text(provenance).find("; within mask 0123456789abcdef; not for"), std::string::npos);
}

TEST(Provenance, SaysWhereTheNoiseIsFrom) {
  Provenance provenance{{FilterConfig(find_filter("median"))}, {FilterConfig(find_filter("median"))}, "cpu"};
  provenance.noise_source = "one noise for the series";
  EXPECT_NE(derivation_text(provenance).find("; one noise for the series; not for diagnostic use"), std::string::npos);
}

TEST(Provenance, SaysWhoRanTheFiltersWhereItMatters) {
  Provenance provenance{{FilterConfig(find_filter("median"))}, {FilterConfig(find_filter("median"))}, "cpu"};
  EXPECT_EQ(derivation_text(provenance).find("; by "), std::string::npos);
  provenance.by = "denoise";
  EXPECT_NE(derivation_text(provenance).find("; by denoise; not for diagnostic use"), std::string::npos);
}

TEST(Provenance, SaysThatNoVoxelChangedIfFiltersRan) {
  const FilterConfig median(find_filter("median"));
  EXPECT_NE(derivation_text({{median}, {median}, "cpu"}, false).find("; no voxel changed; not for"), std::string::npos);
  EXPECT_NE(derivation_text({{median}, {}, "cpu"}, false).find(": left as it was; not for"), std::string::npos);
}

}  // namespace
}  // namespace quietvox
