// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/access.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;

class AccessTest : public testing::Test {
 protected:
  fs::path file(const std::string& name, mode_t mode, mode_t folder_mode = 0755) const {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    test::put(path, "");
    chmod(path.c_str(), mode);
    chmod(path.parent_path().c_str(), folder_mode);
    return path;
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status {};
    stat(path.c_str(), &status);
    return status.st_mode & 07777;
  }
  static mode_t given(const fs::path& path, mode_t usual, const Access& most) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(give_access(descriptor, usual, most), 0);
    close(descriptor);
    return mode_of(path);
  }

  test::TemporaryFolder folder_;
};

TEST_F(AccessTest, IsWhatAllFilesGive) {
  const fs::path open_to_all = file("a/1", 0666), read_only = file("a/2", 0444), group = file("a/3", 0640);
  EXPECT_EQ(access_of(std::vector<fs::path>{}).bits, 066U);
  EXPECT_EQ(access_of(std::vector{open_to_all}).bits, 066U);
  EXPECT_EQ(access_of(std::vector{open_to_all, read_only}).bits, 044U);
  EXPECT_EQ(access_of(std::vector{open_to_all, read_only, group}).bits, 040U);
  EXPECT_EQ(access_of(std::vector{folder_ / "nowhere", group}).bits, 040U);
}

TEST_F(AccessTest, EndsAtTheFolderThatAFileLiesIn) {
  EXPECT_EQ(access_of(std::vector{file("b/1", 0644, 0700)}).bits, 0U);
  EXPECT_EQ(access_of(std::vector{file("c/1", 0644, 0750)}).bits, 040U);
  EXPECT_EQ(access_of(std::vector{file("c/1", 0644, 0711)}).bits, 044U);  // whoever knows the name may read it
  EXPECT_EQ(access_of(std::vector{file("c/1", 0644), file("d/1", 0644, 0700)}).bits, 0U);
}

TEST_F(AccessTest, IsGivenWithinTheUsual) {
  const fs::path path = file("e/1", 0600);
  EXPECT_EQ(given(path, 0644, {}), 0644U);
  EXPECT_EQ(given(path, 0666, {.bits = 044, .group = {}}), 0644U);
  EXPECT_EQ(given(path, 0666, {.bits = 0, .group = {}}), 0600U);
  EXPECT_EQ(given(path, 0600, {}), 0600U);
  EXPECT_EQ(given(path.parent_path(), 0640, {}), 0750U);
  EXPECT_EQ(given(path.parent_path(), 0644, {.bits = 0, .group = {}}), 0700U);
}

TEST_F(AccessTest, OfAGroupIsForThatGroup) {
  const fs::path path = file("f/1", 0660);
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  const gid_t own = status.st_gid, other = own + 12345;
  EXPECT_EQ(given(path, 0664, {.bits = 064, .group = own}), 0664U);
  if (geteuid() == 0) {  // who may give files to any group
    EXPECT_EQ(given(path, 0664, {.bits = 064, .group = other}), 0664U);
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_gid, other);
    ASSERT_EQ(chown(path.c_str(), 65534, own), 0);
    ASSERT_EQ(chmod(path.parent_path().parent_path().c_str(), 0755), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  EXPECT_EQ(given(path, 0664, {.bits = 064, .group = other}), 0604U);
  if (geteuid() != 0 && getuid() == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ((Access{.bits = 066, .group = own} & Access{.bits = 066, .group = other}).bits, 06U);
}

}  // namespace
}  // namespace quietvox::io
