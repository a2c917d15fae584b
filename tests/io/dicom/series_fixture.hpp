// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "io/image.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"

/// A folder of small slices that tests fill.
namespace quietvox::test {

namespace fs = std::filesystem;

inline const io::ReadOptions gaps_allowed{.allow_gaps = true, .series_uid = ""};

/// Cells of which the first is `number`, so that a slice can be told by its first voxel.
inline DicomSpec marked(int number) {
  DicomSpec spec{.slope = "", .intercept = ""};
  spec.cells.assign(20, 0);
  spec.cells[0] = static_cast<std::uint16_t>(number);
  return spec;
}

class DicomSeries : public ::testing::Test {
 protected:
  /// A slice `z` mm up, marked with `number`; its file's name begins with `name`.
  void add(const std::string& name, double z, int number, std::vector<std::pair<DcmTagKey, std::string>> more = {}) {
    DicomSpec spec = marked(number);
    spec.position = {0, 0, z};
    spec.more = std::move(more);
    write_dicom(folder_ / (name + ".dcm"), spec);
  }
  std::unique_ptr<io::Image> open(const io::ReadOptions& options = {}) {
    return io::open_dicom(folder_.path(), options);
  }
  /// Why the series is refused as irregular; empty if it is not.
  std::string problem_of_opening(const io::ReadOptions& options = {}) {
    try {
      open(options);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::irregular);
      return error.what();
    }
  }

  /// The marks of the slices of a volume, in their order.
  static std::vector<int> marks(const io::Image& image, std::size_t volume = 0) {
    const Volume voxels = read_volume(image, volume);
    std::vector<int> found;
    for (std::int64_t z = 0; z < voxels.extent.z; ++z) found.push_back(static_cast<int>(voxels.view().at(0, 0, z)));
    return found;
  }

  TemporaryFolder folder_;
};

}  // namespace quietvox::test
