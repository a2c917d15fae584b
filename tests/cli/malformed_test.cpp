// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/process.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

/// Broken files give a result, or one line and the status that the table has for it; never a crash, and nothing stays.
void expect_good_end(const std::filesystem::path& input) {
  TemporaryFolder folder;
  const bool nifti = input.filename().string().find(".nii") != std::string::npos;
  const std::string output = (folder / (nifti ? "out.nii" : "out.dcm")).string();
  const Result result = quietvox({"median", input.string(), output, "--radius", "1x1x0", "--progress=none"});
  if (result.status == 0) {
    EXPECT_TRUE(std::filesystem::exists(output)) << input;
    return;
  }
  EXPECT_TRUE((std::set{2, 4, 10, 22, 64}.contains(result.status)))
      << input << " " << result.status << " " << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << input << "\n" << result.err;
  EXPECT_TRUE(result.err.starts_with("quietvox: ")) << result.err;
  EXPECT_TRUE(folder.names().empty()) << input;
}

TEST(Malformed, NiftiEndsWell) {
  QV_NEEDS_TEST_DATA();
  for (const auto& file : std::filesystem::directory_iterator(test_data("malformed_nifti"))) expect_good_end(file);
}

TEST(Malformed, DicomEndsWell) {
  QV_NEEDS_TEST_DATA();
  for (const auto& file : std::filesystem::directory_iterator(test_data("malformed_dicom"))) expect_good_end(file);
}

}  // namespace
}  // namespace quietvox::test
