// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/file_permissions.hpp"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;

class AccessTest : public testing::Test {
 protected:
  fs::path file(const std::string& name, mode_t mode, mode_t folder_mode = 0755) const {
    fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    test::put(path, "");
    chmod(path.c_str(), mode);
    chmod(path.parent_path().c_str(), folder_mode);
    return path;
  }
  /// An output elsewhere.
  Access given_by(const std::vector<fs::path>& files) const { return access_of(files, folder_ / "results/o"); }
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
  EXPECT_EQ(given_by(std::vector<fs::path>{}).bits, 066U);
  EXPECT_EQ(given_by(std::vector{open_to_all}).bits, 066U);
  EXPECT_EQ(given_by(std::vector{open_to_all, read_only}).bits, 044U);
  EXPECT_EQ(given_by(std::vector{open_to_all, read_only, group}).bits, 040U);
  EXPECT_EQ(given_by(std::vector{folder_ / "nowhere", group}).bits, 040U);
}

TEST_F(AccessTest, EndsAtTheFolderThatAFileLiesIn) {
  EXPECT_EQ(given_by(std::vector{file("b/1", 0644, 0700)}).bits, 0U);
  EXPECT_EQ(given_by(std::vector{file("c/1", 0644, 0750)}).bits, 040U);
  EXPECT_EQ(given_by(std::vector{file("c/1", 0644, 0711)}).bits, 044U);  // whoever knows the name may read it
  EXPECT_EQ(given_by(std::vector{file("c/1", 0644), file("d/1", 0644, 0700)}).bits, 0U);
}

TEST_F(AccessTest, EndsAtEveryFolderAboveAFile) {
  const fs::path deep = file("p/q/r/1", 0644);
  chmod((folder_ / "p").c_str(), 0700);
  EXPECT_EQ(given_by({deep}).bits, 0U);
  chmod((folder_ / "p").c_str(), 0750);
  const Access of_group = given_by({deep});
  EXPECT_EQ(of_group.bits, 040U);
  struct stat status {};
  ASSERT_EQ(stat((folder_ / "p").c_str(), &status), 0);
  EXPECT_EQ(of_group.group, status.st_gid);
  if (geteuid() == 0) {  // the file is of another group than the folder: nobody is known to be in both
    ASSERT_EQ(chown(deep.c_str(), 0, status.st_gid + 12345), 0);
    EXPECT_EQ(given_by({deep}).bits, 040U);  // what all others may, those of the folder's group may
    chmod(deep.c_str(), 0640);
    EXPECT_EQ(given_by({deep}).bits, 0U);
  }
}

/// What keeps others out of the input's place keeps them out of the output's, where that is the same.
TEST_F(AccessTest, FoldersThatTheOutputLiesInTooDoNotCount) {
  const fs::path scan = file("home/study/1", 0644);
  chmod((folder_ / "home").c_str(), 0700);
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "home/study/o").bits, 044U);
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "home/o").bits, 044U);
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "home/results/new/o").bits, 044U);
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "o").bits, 0U);
  chmod((folder_ / "home/study").c_str(), 0700);
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "home/study/o").bits, 044U);
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "home/o").bits, 0U);
  fs::create_directory_symlink(folder_ / "home", folder_ / "link");
  EXPECT_EQ(access_of(std::array{scan}, folder_ / "link/study/o").bits, 044U);
}

TEST_F(AccessTest, OfALinkIsThatOfWhatItLeadsTo) {
  const fs::path scan = file("private/1", 0644, 0700), open = file("open/2", 0644);
  fs::create_symlink(scan, folder_ / "open/1");
  fs::create_directory_symlink(folder_ / "private", folder_ / "open/folder");
  EXPECT_EQ(given_by({open}).bits, 044U);
  EXPECT_EQ(given_by({folder_ / "open/1"}).bits, 0U);
  EXPECT_EQ(given_by({folder_ / "open/folder/1"}).bits, 0U);
  EXPECT_EQ(access_of(std::array{folder_ / "open/1"}, folder_ / "open/o").bits, 0U);
}

/// The permissions of one entry of an access control list: 1 the owner, 2 a user, 4 the group, 8 another group,
/// 16 the mask, 32 others.
struct Entry {
  std::uint16_t kind, permissions;
  std::uint32_t id = 0xffffffff;
};

bool set_list(const fs::path& path, const char* name, const std::vector<Entry>& entries) {
  std::string bytes("\2\0\0\0", 4);
  for (const Entry& entry : entries) bytes.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  return setxattr(path.c_str(), name, bytes.data(), bytes.size(), 0) == 0;
}

TEST_F(AccessTest, OfAListIsThatOfTheGroupAndNotItsMask) {
  const fs::path scan = file("g/1", 0640);
  constexpr const char* list = "system.posix_acl_access";
  if (!set_list(scan, list, {{1, 6}, {2, 4, 1000}, {4, 0}, {16, 4}, {32, 0}})) {
    GTEST_SKIP() << "this file system has no access control lists";
  }
  EXPECT_EQ(mode_of(scan), 0640U);
  EXPECT_EQ(given_by({scan}).bits, 0U);
  ASSERT_TRUE(set_list(scan, list, {{1, 6}, {2, 4, 1000}, {4, 6}, {16, 6}, {32, 4}}));
  EXPECT_EQ(given_by({scan}).bits, 044U);  // of the one with a name
  ASSERT_TRUE(set_list(scan, list, {{1, 6}, {2, 0, 1000}, {4, 4}, {16, 4}, {32, 4}}));
  EXPECT_EQ(given_by({scan}).bits, 0U);  // who is kept out by name
  ASSERT_TRUE(set_list(scan, list, {{1, 6}, {4, 4}, {8, 4, 1000}, {16, 4}, {32, 0}}));
  EXPECT_EQ(given_by({scan}).bits, 040U);
  // A folder that only those with a name may enter.
  const fs::path below = file("h/1", 0644, 0750);
  ASSERT_TRUE(set_list(folder_ / "h", list, {{1, 7}, {2, 5, 1000}, {4, 0}, {16, 5}, {32, 0}}));
  EXPECT_EQ(given_by({below}).bits, 0U);
}

/// The folder of the output names users who are to have access to whatever is made there.
TEST_F(AccessTest, IsNoMoreByTheListOfTheOutputsFolder) {
  const fs::path folder = file("i/1", 0600).parent_path();
  if (!set_list(folder, "system.posix_acl_default", {{1, 7}, {2, 7, 1000}, {4, 5}, {16, 7}, {32, 0}})) {
    GTEST_SKIP() << "this file system has no access control lists";
  }
  const auto mask_of_new = [&](const Access& most) {
    const fs::path path = folder / "new";
    fs::remove(path);
    const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(give_access(made, 0660, most), 0);
    close(made);
    return mode_of(path);
  };
  EXPECT_EQ(mask_of_new({.bits = 0, .group = {}}), 0600U);
  EXPECT_EQ(mask_of_new({.bits = 040, .group = getegid()}), 0600U);  // the named user is not in the group
  EXPECT_EQ(mask_of_new({.bits = 044, .group = {}}), 0640U);
  EXPECT_EQ(mask_of_new({}), 0660U);
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
  EXPECT_EQ(given(path, 0664, {.bits = 064, .group = other}), 0644U);  // as all others have
  EXPECT_EQ(given(path, 0664, {.bits = 060, .group = other}), 0600U);
  EXPECT_EQ(given(path, 0664, {.bits = 04, .group = other}), 0600U);  // those of the group may not, whoever they are
  if (geteuid() != 0 && getuid() == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
  EXPECT_EQ((Access{.bits = 066, .group = own} & Access{.bits = 066, .group = other}).bits, 066U);
  EXPECT_EQ((Access{.bits = 064, .group = own} & Access{.bits = 044, .group = {}}).bits, 044U);
  EXPECT_EQ((Access{.bits = 060, .group = own} & Access{.bits = 064, .group = other}).bits, 0U);
}

}  // namespace
}  // namespace quietvox::io
