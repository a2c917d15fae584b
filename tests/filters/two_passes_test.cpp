// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/common/two_passes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <vector>

#include "support/expect_error.hpp"
#include "support/volumes.hpp"

namespace quietvox {
namespace {

using test::expect_error;
using test::Volume;

constexpr std::int64_t reach = 3, slices = 40;

struct Counts {
  std::vector<int> made = std::vector<int>(slices);
  int runs = 0;
};

/// Adds up the slices as far as it reaches, of copies that a first pass makes.
class Sums {
 public:
  Sums(const VolumeView<const float>& in, const VolumeView<float>& out, Counts* counts)
      : copies_(in, out, {0, 0, reach}), counts_(counts) {
    ++counts_->runs;
  }

  void make(const VolumeView<const float>& in, const VolumeView<float>& out, const Execution& execution) {
    const auto copies = copies_.slices(in, out, [&](const VolumeView<float>& more) {
      for (std::int64_t z = 0; z < more.extent.z; ++z) {
        std::copy_n(in.row(0, more.origin.z + z - in.origin.z), more.extent.slice(), more.row(0, z));
        ++counts_->made[static_cast<std::size_t>(more.origin.z + z)];
      }
    });
    for (std::int64_t z = out.origin.z; z < out.origin.z + out.extent.z; ++z) {
      float& sum = out.at(0, 0, z - out.origin.z) = 0;
      for (std::int64_t i = std::max<std::int64_t>(z - reach, 0); i <= std::min(z + reach, slices - 1); ++i) {
        sum += copies.at(0, 0, i - copies.origin.z);
      }
    }
    check_stop(execution.stop);
  }

 private:
  Intermediate copies_;
  Counts* counts_;
};

class RunOrGoOn : public testing::Test {
 protected:
  RunOrGoOn() : in_({1, 1, slices}), expected_({1, 1, slices}), out_({1, 1, slices}) {
    for (std::int64_t z = 0; z < slices; ++z) in_.view().at(0, 0, z) = static_cast<float>(z * z);
    run_or_go_on<Sums>(in_.view(), expected_.view(), &counts_, {});
    counts_ = {};
    execution_.kept = &kept_;
  }

  /// Of the input, no more than the reach.
  void run(std::int64_t first, std::int64_t count) {
    const VolumeView<float> part = out_.view().slices(first, count);
    run_or_go_on<Sums>(halo_slices(VolumeView<const float>(in_.view()), part, {0, 0, reach}), part, &counts_,
                       execution_);
  }

  Volume in_, expected_, out_;
  Counts counts_;
  std::any kept_;
  Execution execution_;
};

TEST_F(RunOrGoOn, SlicesThatFollowAreNotMadeAgain) {
  std::int64_t first = 0;
  for (const std::int64_t count : {1, 5, 1, 20, 2, 11}) {
    run(first, count);
    first += count;
  }
  ASSERT_EQ(first, slices);
  EXPECT_TRUE(out_ == expected_);
  EXPECT_EQ(counts_.runs, 1);
  EXPECT_EQ(counts_.made, std::vector<int>(slices, 1));
}

TEST_F(RunOrGoOn, SlicesThatDoNotFollowBeginAnew) {
  run(0, 10);
  run(30, 10);
  run(10, 15);
  run(25, 5);
  EXPECT_TRUE(out_ == expected_);
  EXPECT_EQ(counts_.runs, 3);
}

TEST_F(RunOrGoOn, WithoutAPlaceToKeepItEachIsOnItsOwn) {
  execution_.kept = nullptr;
  run(0, 20);
  run(20, 20);
  EXPECT_TRUE(out_ == expected_);
  EXPECT_EQ(counts_.runs, 2);
}

TEST_F(RunOrGoOn, ARunThatFailedDoesNotGoOn) {
  run(0, 10);
  std::stop_source stop;
  stop.request_stop();
  execution_.stop = stop.get_token();
  expect_error(Errc::cancelled, "stopped", [&] { run(10, 10); });
  execution_.stop = {};
  run(10, 30);
  EXPECT_TRUE(out_ == expected_);
  EXPECT_EQ(counts_.runs, 2);
}

}  // namespace
}  // namespace quietvox
