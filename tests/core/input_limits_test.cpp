// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/input_limits.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;

class MachineMemory : public testing::Test {
 protected:
  void say(const fs::path& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::uint64_t memory() const { return machine_memory(root_.path()); }

  test::TemporaryFolder root_;
};

TEST_F(MachineMemory, IsWhatTheSystemSays) {
  say("proc/meminfo", "MemFree:   12 kB\nMemTotal:       8388608 kB\nMemAvailable: 3 kB\n");
  EXPECT_EQ(memory(), 8 * gib);
  EXPECT_GT(machine_memory(), 100 * mib);
  EXPECT_LT(machine_memory(), std::uint64_t{1} << 50);
}

TEST_F(MachineMemory, IsLessInAControlGroupThatHasLess) {
  say("proc/meminfo", "MemTotal:       8388608 kB\n");
  say("proc/self/cgroup", "0::/user/job\n");
  say("sys/fs/cgroup/user/job/memory.max", "max\n");
  EXPECT_EQ(memory(), 8 * gib);
  say("sys/fs/cgroup/user/memory.max", "2147483648\n");
  EXPECT_EQ(memory(), 2 * gib);
  say("sys/fs/cgroup/user/job/memory.max", "1073741824\n");
  EXPECT_EQ(memory(), gib);

  say("proc/self/cgroup", "9:name=systemd:/\n4:memory:/box\n1:cpu:/\n0::/\n");
  EXPECT_EQ(memory(), 8 * gib);
  say("sys/fs/cgroup/memory/memory.limit_in_bytes", "3221225472\n");  // all that a container sees of its group
  EXPECT_EQ(memory(), 3 * gib);
  say("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(memory(), gib);
}

TEST(MemoryBudget, IsTheLimitOrHalfOfTheMachine) {
  EXPECT_EQ(memory_budget({}), machine_memory() / 2);
  Execution execution;
  execution.memory_limit = 5 * mib;
  EXPECT_EQ(memory_budget(execution), 5 * mib);
}

TEST(MemoryBudget, AFileMayBecome64TimesLarger) {
  Execution execution;
  execution.memory_limit = 64 * gib;
  EXPECT_EQ(most_memory(0, execution), 256 * mib);
  EXPECT_EQ(most_memory(4 * mib, execution), 256 * mib);
  EXPECT_EQ(most_memory(8 * mib, execution), 512 * mib);
  EXPECT_EQ(most_memory(~std::uint64_t{0}, execution), 64 * gib);
  check_memory("this", 256 * mib, 0, execution);
  test::expect_error(Errc::unsupported,
                     "this would take 257 MiB of memory or more; a file of its size may take 256 MiB",
                     [&] { check_memory("this", 256 * mib + 1, 0, execution); });
  execution.memory_limit = 10 * mib;
  test::expect_error(Errc::out_of_memory, "this would take 11 MiB of memory or more; at most 10 MiB may be used",
                     [&] { check_memory("this", 11 * mib, 0, execution); });
}

}  // namespace
}  // namespace quietvox
