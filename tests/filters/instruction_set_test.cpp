// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/simd/instruction_set.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>

#include "support/expect_error.hpp"

namespace quietvox {
namespace {

TEST(InstructionSet, IsTheBestUnlessForced) {
  const auto names = instruction_sets();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(instruction_set(), names.front());
  force_instruction_set(names.back());
  EXPECT_EQ(instruction_set(), names.back());
  EXPECT_EQ(instruction_sets(), std::vector{names.back()});
  force_instruction_set("");
  EXPECT_EQ(instruction_set(), names.front());
  EXPECT_EQ(instruction_sets(), names);
}

TEST(InstructionSet, EveryOneWorthItsWhileIsCompiled) {
  const auto names = instruction_sets();
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & target) == 0) continue;
    const std::string name = hwy::TargetName(target);
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(InstructionSet, OthersAreRefused) {
  test::expect_error(Errc::invalid_argument, "'AVX5' is not available", [] { force_instruction_set("AVX5"); });
}

}  // namespace
}  // namespace quietvox
