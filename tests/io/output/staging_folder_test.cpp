// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/staging_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "io/files/staging_name.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using test::get;
using test::put;

constexpr const char* planted = ".quietvox-0123456789abcdef.part";

class StagingFolderTest : public testing::Test {
 protected:
  /// What is outside of it must never change.
  void SetUp() override {
    fs::create_directories(folder_ / "precious/letters");
    put(folder_ / "precious/letters/letter.txt", "dear");
    fs::create_directory(folder_ / "out");
  }
  void TearDown() override { EXPECT_EQ(get(folder_ / "precious/letters/letter.txt"), "dear"); }

  fs::path out(const fs::path& name) const { return folder_ / "out" / name; }
  /// A folder as a killed process leaves it.
  void plant() const {
    fs::create_directory(out(planted));
    fs::permissions(out(planted), fs::perms::owner_all);
    put(lock(), "");
  }
  fs::path lock() const { return out(planted) / "0123456789abcdef.lock"; }
  bool is_there() const { return fs::exists(fs::symlink_status(out(planted))); }

  test::TemporaryFolder folder_;
};

TEST_F(StagingFolderTest, IsPrivateAndGoesWithItsObject) {
  const mode_t before = umask(0);
  {
    const StagingFolder staging(out("a.nii"));
    EXPECT_EQ(fs::status(staging / "").permissions(), fs::perms::owner_all);
    EXPECT_EQ(staging.path().parent_path(), folder_ / "out");
    EXPECT_TRUE(is_staging_name(staging.path().filename().string()));
    EXPECT_EQ(staging.usual_permissions(), 0666U);
    fs::create_directories(staging / "b/c");
    put(staging / "b/c/d", "half");
  }
  umask(027);
  EXPECT_EQ(StagingFolder(out("a.nii")).usual_permissions(), 0640U);
  umask(before);
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(StagingFolderTest, NamesOfItsKindAlone) {
  EXPECT_TRUE(is_staging_name(planted));
  for (const char* other :
       {"quietvox-0123456789abcdef.part", ".quietvox-0123456789abcde.part", ".quietvox-0123456789abcdeg.part",
        ".quietvox-0123456789ABCDEF.part", ".quietvox-0123456789abcdef.part.nii", "a.quietvox-0123456789abcdef.part",
        ".quietvox-0123456789abcdef0.part", ".quietvox-.part", ""}) {
    EXPECT_FALSE(is_staging_name(other)) << other;
  }
}

TEST_F(StagingFolderTest, WhatAKilledProcessLeftGoesWithTheNext) {
  const pid_t killed = fork();
  if (killed == 0) {
    const StagingFolder staging(out("a.nii"));
    fs::create_directory(staging / "series");
    put(staging / "series/1.dcm", "half");
    raise(SIGKILL);
  }
  waitpid(killed, nullptr, 0);
  ASSERT_FALSE(fs::is_empty(folder_ / "out"));
  const StagingFolder alive(out("b.nii"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), {}), 1);
  { const StagingFolder next(out("c.nii")); }
  EXPECT_TRUE(fs::exists(alive.path()));
}

TEST_F(StagingFolderTest, AFolderKilledBeforeItsLockGoesToo) {
  plant();
  fs::remove(lock());
  remove_stale_stagings(folder_ / "out");
  EXPECT_FALSE(is_there());
}

/// Who may rename a private folder of another user in a shared one could else have it removed.
TEST_F(StagingFolderTest, AFolderThatOnlyGotTheNameStays) {
  plant();
  fs::remove(lock());
  put(out(planted) / "t1.nii", "precious");
  remove_stale_stagings(folder_ / "out");
  EXPECT_TRUE(fs::exists(out(planted) / "t1.nii"));
  EXPECT_FALSE(fs::exists(lock()));
}

/// It may hold a lock of its owner's, of another program.
TEST_F(StagingFolderTest, AFolderWithAnotherLockStays) {
  const auto expect_kept = [&](const std::function<void()>& change) {
    plant();
    put(out(planted) / "t1.nii", "precious");
    change();
    remove_stale_stagings(folder_ / "out");
    EXPECT_TRUE(fs::exists(out(planted) / "t1.nii"));
    fs::remove_all(out(planted));
  };
  for (const char* other : {"lock", ".lock", "fedcba9876543210.lock"}) {
    expect_kept([&] { fs::rename(lock(), out(planted) / other); });
  }
  expect_kept([&] { put(lock(), "12345"); });
  expect_kept([&] { fs::create_hard_link(lock(), folder_ / "second"); });
}

TEST_F(StagingFolderTest, LinksInALeftOneLeadNobodyAnywhere) {
  plant();
  fs::create_directory_symlink(folder_ / "precious", out(planted) / "link");
  fs::create_directory_symlink("../../precious", out(planted) / "relative");
  fs::create_hard_link(folder_ / "precious/letters/letter.txt", out(planted) / "hard");
  ASSERT_EQ(mkfifo((out(planted) / "pipe").c_str(), 0600), 0);
  remove_stale_stagings(folder_ / "out");
  EXPECT_FALSE(is_there());
}

/// Of what has such a name, only folders are touched that this design can have made.
TEST_F(StagingFolderTest, WhatOnlyHasTheNameStays) {
  const auto expect_kept = [&](const std::function<void()>& make) {
    make();
    remove_stale_stagings(folder_ / "out");
    EXPECT_TRUE(is_there());
    std::error_code ignored;
    fs::remove_all(out(planted), ignored);
  };
  expect_kept([&] { put(out(planted), "a file"); });
  expect_kept([&] { fs::create_directory_symlink(folder_ / "precious", out(planted)); });
  expect_kept([&] { ASSERT_EQ(mkfifo(out(planted).c_str(), 0600), 0); });
  expect_kept([&] {
    plant();
    fs::permissions(out(planted), static_cast<fs::perms>(0755));
  });
  const auto plant_with_lock = [&](const std::function<void(const fs::path&)>& make) {
    return [this, make] {
      plant();
      fs::remove(lock());
      make(lock());
    };
  };
  expect_kept(plant_with_lock([](const fs::path& lock) { ASSERT_EQ(mkfifo(lock.c_str(), 0600), 0); }));
  expect_kept(plant_with_lock([](const fs::path& lock) { fs::create_directory(lock); }));
  expect_kept(plant_with_lock(
      [&](const fs::path& lock) { fs::create_symlink(folder_ / "precious/letters/letter.txt", lock); }));
  expect_kept(plant_with_lock([](const fs::path& lock) { fs::create_symlink("/dev/zero", lock); }));
  if (geteuid() == 0) {
    expect_kept([&] {
      plant();
      ASSERT_EQ(chown(out(planted).c_str(), 65534, 65534), 0);
    });
  }
}

/// Who waits at the other end of a pipe would be let go.
TEST_F(StagingFolderTest, OnlyAPlainFileIsOpenedAsALock) {
  plant();
  fs::remove(lock());
  ASSERT_EQ(mkfifo(lock().c_str(), 0600), 0);
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, lock().c_str(), IN_OPEN), 0);
  remove_stale_stagings(folder_ / "out");
  char event[256];
  EXPECT_EQ(read(watch, event, sizeof event), -1) << "nobody opened it";
  close(watch);
}

TEST_F(StagingFolderTest, LocksOfOthersAreHeeded) {
  plant();
  const int file = open(lock().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(file, LOCK_EX | LOCK_NB), 0);
  remove_stale_stagings(folder_ / "out");
  EXPECT_TRUE(fs::exists(lock()));
  close(file);
  remove_stale_stagings(folder_ / "out");
  EXPECT_FALSE(is_there());
}

TEST_F(StagingFolderTest, OneThatWasMovedIsReachedAndWhatTookItsNameIsNot) {
  {
    const StagingFolder staging(out("a.nii"));
    fs::rename(staging.path(), out("elsewhere"));
    fs::create_directory(staging.path());
    put(staging.path() / "1.dcm", "another's");
    put(staging / "2.dcm", "ours");
    EXPECT_EQ(get(out("elsewhere/2.dcm")), "ours");
    fs::rename(staging.path(), out("another"));
  }
  EXPECT_TRUE(fs::is_empty(out("elsewhere")));
  EXPECT_EQ(get(out("another/1.dcm")), "another's");
}

TEST_F(StagingFolderTest, WhatIsMadeAnewByTheNameOfOneThatWasRemovedIsNotReached) {
  const StagingFolder staging(out("a.nii"));
  fs::remove_all(staging.path());
  fs::create_directory(staging.path());
  put(staging.path() / "1.dcm", "another's");
  EXPECT_FALSE(fs::exists(staging / "1.dcm"));
}

/// A folder takes no descriptor to be made, but one to be opened.
TEST_F(StagingFolderTest, AParentThatWasMadeInVainGoes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs descriptors to look at the error";
#endif
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  test::expect_error(Errc::not_writable, "new/a.nii: cannot be created", [&] { StagingFolder(out("new/a.nii")); });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(fs::exists(out("new")));
}

/// Its threads may be removing it already, or be making more. What cannot be removed in time goes with the next run.
TEST_F(StagingFolderTest, AProcessThatIsEndedLeavesNothingThatStays) {
  using Staging = std::optional<StagingFolder>;
  const auto end_one = [&](int files, const std::function<void(Staging&)>& meanwhile) {
    const pid_t process = fork();
    if (process == 0) {
      Staging staging(std::in_place, out("new/a.nii"));
      fs::create_directory(*staging / "series");
      for (int i = 0; i < files; ++i) put(*staging / "series" / std::to_string(i), "");
      if (meanwhile) std::thread(meanwhile, std::ref(staging)).detach();
      usleep(10'000);
      _exit(abandon_stagings() ? 0 : 1);
    }
    int status = 0;
    waitpid(process, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  };
  end_one(40, {});
  EXPECT_TRUE(fs::is_empty(folder_ / "out")) << "with the folder that was made for it";
  end_one(40, [](Staging& staging) { staging.reset(); });
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
  const auto expect_removed_by_the_next = [&] {
    remove_stale_stagings(out("new"));
    fs::remove(out("new"));
    EXPECT_TRUE(fs::is_empty(folder_ / "out"));
  };
  end_one(40, [](Staging& staging) {
    for (int i = 0;; ++i, usleep(1000)) {
      const int made = open((*staging / std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
      if (made >= 0) close(made);
    }
  });
  expect_removed_by_the_next();
  end_one(20'000, {});
  expect_removed_by_the_next();
}

TEST_F(StagingFolderTest, FoldersAreMovedUpToNamesThatAreFree) {
  plant();
  for (const char* name : {".up-1/full/file", ".up-2", ".up-4/full/file", "a/b/c/d", "b/b/c/d"}) {
    fs::create_directories((out(planted) / name).parent_path());
    put(out(planted) / name, "");
  }
  remove_stale_stagings(folder_ / "out");
  EXPECT_FALSE(is_there());
}

/// A folder is moved only by who may write into it.
TEST_F(StagingFolderTest, FoldersThatTheirOwnerMayNotWriteIntoGoToo) {
  const bool is_root = geteuid() == 0;  // who may write everywhere
  if (is_root) {
    ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
    ASSERT_EQ(chmod((folder_ / "out").c_str(), 0777), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  {
    StagingFolder staging(out("a.nii"));
    fs::create_directories(staging / "a/b/c/d");
    put(staging / "a/b/c/d/e", "old");
    for (const char* path : {"a/b/c/d", "a/b/c", "a/b", "a"}) ASSERT_EQ(chmod((staging / path).c_str(), 0500), 0);
    EXPECT_EQ(staging.remove(), 0);
    EXPECT_TRUE(fs::is_empty(folder_ / "out"));
  }
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

/// A caller may leave it to the system to bury children.
TEST_F(StagingFolderTest, IsGoneWhereNobodyHearsOfChildren) {
  signal(SIGCHLD, SIG_IGN);
  {
    StagingFolder staging(out("a.nii"));
    fs::create_directories(staging / "series");
    put(staging / "series/1.dcm", "half");
    EXPECT_EQ(staging.remove(), 0);
  }
  signal(SIGCHLD, SIG_DFL);
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(StagingFolderTest, APlaceThatCannotBeWrittenIsNamed) {
  test::expect_error(Errc::not_writable, "/proc/a.nii: cannot be created", [] { StagingFolder("/proc/a.nii"); });
}

}  // namespace
}  // namespace quietvox::io
