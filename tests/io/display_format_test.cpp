// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/display_format.hpp"

#include <gtest/gtest.h>

#include <array>

namespace quietvox::io {
namespace {

TEST(DisplayFormat, NumbersHaveTheDigitsThatPeopleRead) {
  EXPECT_EQ(format_spacing(Spacing{0.699999988079071, 0.7, 1.5}), "0.7 x 0.7 x 1.5 mm");
  EXPECT_EQ(format_point(std::array{-123.4567891, 0.0, 30.0}), "-123.457, 0, 30 mm (LPS)");
  EXPECT_EQ(format_extent(Extent{{2000000, 512, 14}}), "2000000 x 512 x 14");
}

}  // namespace
}  // namespace quietvox::io
