// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image_type.hpp"

#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace quietvox::test {
namespace {

TEST(ImageType, MapsMadeOfMagnitudesAreNone) {
  for (const char* map : {"ADC", "EADC", "FA", "T2 MAP", "t1 map", "T2_STAR_MAP", "RCBV"}) {
    EXPECT_EQ(io::kind_of_image_type(map), DataKind::scalar) << map;
  }
  EXPECT_EQ(io::kind_of_image_type("PHASE MAP"), DataKind::phase);
  EXPECT_EQ(io::kind_of_image_type("M"), DataKind::magnitude);
  EXPECT_EQ(io::kind_of_image_type("TRACEW"), std::nullopt);
}

TEST(ImageType, OfSeveralWordsPhaseWinsThenScalar) {
  using Said = std::vector<io::KindSaid>;
  const Said all{{DataKind::magnitude, "m"}, {DataKind::scalar, "s"}, {DataKind::phase, "p"}};
  EXPECT_EQ(io::facts_of(all).kind_source, "p");
  EXPECT_EQ(io::facts_of(std::span(all).first(2)).kind_source, "s");
  EXPECT_EQ(io::facts_of(std::span(all).first(1)).kind_source, "m");
}

}  // namespace
}  // namespace quietvox::test
