// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/execution.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/expect_error.hpp"

namespace quietvox {
namespace {

using test::expect_error;

class ParallelFor : public testing::TestWithParam<int> {
 protected:
  Execution execution() const { return {.threads = GetParam(), .memory_limit = {}}; }
};
INSTANTIATE_TEST_SUITE_P(Threads, ParallelFor, testing::Values(0, 1, 2, 5));

TEST_P(ParallelFor, DoesEveryItemOnce) {
  for (const std::int64_t count : {0, 1, 7, 1000}) {
    for (const std::int64_t grain : {1, 3, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(execution(), count, grain, [&](std::int64_t begin, std::int64_t end) {
        ASSERT_LT(begin, end);
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1);
    }
  }
}

TEST_P(ParallelFor, ProgressRisesToOneAndIsNeverConcurrent) {
  Execution run = execution();
  std::atomic<int> inside = 0;
  std::vector<double> seen;
  run.progress = [&](double done) {
    EXPECT_EQ(++inside, 1);
    seen.push_back(done);
    --inside;
  };
  parallel_for(run, 500, 2, [](std::int64_t, std::int64_t) {});
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_GT(seen.front(), 0);
  EXPECT_EQ(seen.back(), 1);
}

TEST_P(ParallelFor, LendsEachWorkerToOneItemAtATime) {
  struct Worker {
    int users = 0;
  };
  std::atomic<int> made = 0;
  std::vector<std::atomic<int>> visits(1000);
  std::atomic<bool> shared = false;
  parallel_for_with_scratch(
      execution(), std::ssize(visits),
      [&] {
        ++made;
        return Worker{};
      },
      [&](Worker& worker, std::int64_t item) {
        if (worker.users++ != 0) shared = true;
        ++visits[static_cast<std::size_t>(item)];
        --worker.users;
      });
  for (const auto& visit : visits) ASSERT_EQ(visit, 1);
  EXPECT_FALSE(shared);
  EXPECT_GE(made, 1);
  EXPECT_LE(made, thread_count(execution())) << "workers are used again";
}

TEST_P(ParallelFor, StopsOnRequest) {
  std::stop_source source;
  Execution run = execution();
  run.stop = source.get_token();
  std::atomic<int> pieces = 0;
  expect_error(Errc::cancelled, "stopped", [&] {
    parallel_for(run, 100'000, 1, [&](std::int64_t, std::int64_t) {
      if (++pieces == 10) source.request_stop();
    });
  });
  EXPECT_LT(pieces, 100'000);
}

TEST_P(ParallelFor, DoesNothingWhereStoppedBefore) {
  std::stop_source source;
  source.request_stop();
  Execution run = execution();
  run.stop = source.get_token();
  expect_error(Errc::cancelled, "stopped",
               [&] { parallel_for(run, 10, 1, [](std::int64_t, std::int64_t) { FAIL() << "ran"; }); });
}

TEST_P(ParallelFor, RethrowsAnExceptionOfAPiece) {
  try {
    parallel_for(execution(), 100, 1, [](std::int64_t begin, std::int64_t) {
      if (begin == 42) throw std::runtime_error("piece 42");
    });
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "piece 42");
  }
}

TEST_P(ParallelFor, RethrowsAnExceptionOfTheProgressFunction) {
  Execution run = execution();
  run.progress = [](double) { throw std::runtime_error("progress"); };
  EXPECT_THROW(parallel_for(run, 100, 1, [](std::int64_t, std::int64_t) {}), std::runtime_error);
}

TEST(Execution, UsesTheThreadsAskedFor) {
  EXPECT_EQ(thread_count({.threads = 3, .memory_limit = {}}), 3);
  EXPECT_GE(thread_count({}), 1);
}

TEST(Execution, APartCoversItsShareOfTheProgress) {
  std::vector<double> seen;
  Execution whole;
  whole.progress = [&](double done) { seen.push_back(done); };
  const Execution second_half = whole.part(0.5, 1), last_eighth = second_half.part(0.75, 1);
  second_half.progress(0);
  second_half.progress(0.5);
  last_eighth.progress(0);
  last_eighth.progress(1);
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.75, 0.875, 1}));
  EXPECT_FALSE(Execution{}.part(0, 0.5).progress);
}

/// A thread that waits for the end of an inner loop may hold a lock: other pieces of the outer loop must not run on it.
TEST(NestedLoops, DoNotLetWaitingThreadsTakeOtherWork) {
  const Execution four{.threads = 4, .memory_limit = {}};
  static thread_local bool is_inside = false;
  std::atomic<int> intrusions = 0;
  parallel_for(four, 200, 1, [&](std::int64_t, std::int64_t) {
    if (is_inside) ++intrusions;
    is_inside = true;
    parallel_for(four, 8, 1,
                 [](std::int64_t, std::int64_t) { std::this_thread::sleep_for(std::chrono::microseconds(50)); });
    is_inside = false;
  });
  EXPECT_EQ(intrusions, 0);
}

}  // namespace
}  // namespace quietvox
