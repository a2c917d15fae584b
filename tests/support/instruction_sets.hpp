// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "filters/simd/instruction_set.hpp"

namespace quietvox::test {

/// Calls body() with each instruction set of this machine as the only one that filters may use.
template <class Body>
void for_each_instruction_set(const Body& body) {
  const auto names = instruction_sets();
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
    force_instruction_set(name);
    SCOPED_TRACE(name);
    EXPECT_EQ(instruction_set(), name);
    body();
  }
  force_instruction_set("");
}

}  // namespace quietvox::test
