// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace quietvox::test {

/// The folder of real scans, or of one of its parts.
inline std::filesystem::path test_data(const std::string& part = "") {
  return std::filesystem::path(QUIETVOX_TEST_DATA) / part;
}

}  // namespace quietvox::test

/// Skips the test, saying so, where the real scans are absent.
#define QV_NEEDS_TEST_DATA()                                               \
  if (!std::filesystem::exists(quietvox::test::test_data("MANIFEST.tsv"))) \
  GTEST_SKIP() << "no real scans at QUIETVOX_TEST_DATA=" << QUIETVOX_TEST_DATA
