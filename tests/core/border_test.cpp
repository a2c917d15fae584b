// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/border.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quietvox {
namespace {

/// The letters that a window over "abcd" sees from 3 before to 3 beyond.
std::string seen(Border border) {
  const std::string row = "abcd";
  std::string letters;
  for (int index = -3; index < 7; ++index) letters += row[static_cast<std::size_t>(border_index(border, index, 4))];
  return letters;
}

TEST(Border, ReplicateRepeatsTheOutermost) { EXPECT_EQ(seen(Border::replicate), "aaaabcdddd"); }
TEST(Border, ReflectMirrorsAboutTheOutermost) { EXPECT_EQ(seen(Border::reflect), "dcbabcdcba"); }

TEST(Border, ASingleVoxelIsSeenEverywhere) {
  EXPECT_EQ(border_index(Border::replicate, -5, 1), 0);
  EXPECT_EQ(border_index(Border::replicate, 5, 1), 0);
  EXPECT_EQ(border_index(Border::reflect, -5, 1), 0);
}

TEST(Border, ReflectGoesToAndFroForEver) {
  const std::string row = "abcd";
  std::string letters;
  for (int index = -8; index < 12; ++index) {
    letters += row[static_cast<std::size_t>(border_index(Border::reflect, index, 4))];
  }
  EXPECT_EQ(letters, "cbabcdcbabcdcbabcdcb");
}

}  // namespace
}  // namespace quietvox
