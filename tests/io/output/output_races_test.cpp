// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Processes that work in one folder at the same time, and processes that are killed, at the moments at which they might
// harm others: the calls to lock and to rename that are made here stop for what another process does meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/files/staging_name.hpp"
#include "io/image.hpp"
#include "io/output/atomic_output.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace {

/// What another process does before the next lock is tried; returns an error for the file system to give, or 0.
std::function<int()> before_lock;
/// The same for what is renamed next, and what was renamed last.
std::function<void()> before_rename, after_rename;
/// How long this process was to sleep, if it does not but goes on.
std::optional<std::chrono::nanoseconds> slept;
/// The file system can only rename.
bool has_plain_renames = false;
/// The file system keeps what is open and is removed under another name, as NFS and FUSE do.
bool hides_what_is_open = false;
/// What the file system says where permissions are to be given, or 0.
int mode_error = 0;
/// What the file system says of what is open, other than it is.
std::function<void(struct stat&)> after_fstat;
/// What another process does once a folder was made.
std::function<void(const std::string& path)> after_mkdir;
/// What another process does before something is removed, and once a folder was not, which holds something.
std::function<void(const std::string&)> before_unlink, after_full_folder;  // with its path
/// What the file system says where a folder for outputs is to be made, or 0.
int mkdir_error = 0;
/// What was synced to disk.
std::vector<std::string> synced;
/// True: a pthread_atfork() handler of a library ends every child process.
bool ends_children = false;

int renamed(int status) {
  const auto hook = after_rename;
  if (status == 0 && hook) hook();
  return status;
}

}  // namespace

extern "C" int flock(int file, int operation) {
  const auto hook = before_lock;  // which may put another in its place
  if (const int error = hook ? hook() : 0) {
    errno = error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

extern "C" int nanosleep(const timespec* time, timespec* left) {
  if (!slept) return static_cast<int>(syscall(SYS_nanosleep, time, left));
  *slept += std::chrono::seconds(time->tv_sec) + std::chrono::nanoseconds(time->tv_nsec);
  return 0;
}

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (const auto hook = before_rename) hook();
  if (has_plain_renames) {
    errno = EINVAL;
    return -1;
  }
  return renamed(static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags)));
}

extern "C" int fchmod(int file, mode_t mode) {
  if (mode_error == 0) return static_cast<int>(syscall(SYS_fchmod, file, mode));
  errno = mode_error;
  return -1;
}

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  const bool is_staging = quietvox::io::is_staging_name(std::filesystem::path(path).filename().native());
  if (mkdir_error != 0 && !is_staging) {
    errno = mkdir_error;
    return -1;
  }
  const int result = static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
  if (result == 0 && after_mkdir) after_mkdir(path);
  return result;
}

extern "C" int fstat(int file, struct stat* status) {
  const int result = fstatat(file, "", status, AT_EMPTY_PATH);
  if (result == 0 && after_fstat) after_fstat(*status);
  return result;
}

extern "C" int fsync(int file) {
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  synced.push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)).string());
  return static_cast<int>(syscall(SYS_fsync, file));
}

extern "C" int unlinkat(int folder, const char* name, int flags) {
  if (const auto hook = before_unlink; hook && flags == 0) hook(name);
  struct stat removed {
  }, other{};
  static int hidden = 0;
  if (hides_what_is_open && flags == 0 && fstatat(folder, name, &removed, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(removed.st_mode)) {
    for (int file = 3; file < 100; ++file) {
      if (fstat(file, &other) != 0 || other.st_ino != removed.st_ino || other.st_dev != removed.st_dev) continue;
      const auto place = std::filesystem::path(name).parent_path() / (".hidden" + std::to_string(hidden++));
      return renameat(folder, name, folder, place.c_str());
    }
  }
  return static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
}

extern "C" int rmdir(const char* path) noexcept {
  const int result = static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
  const int error = errno;
  if (const auto hook = after_full_folder; hook && result != 0 && error == ENOTEMPTY) hook(path);
  errno = error;
  return result;
}

extern "C" int rename(const char* from, const char* to) {
  return renamed(static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)));
}

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Kind = AtomicOutput::Kind;
using Names = std::vector<std::string>;
using test::expect_error;
using test::get;
using test::put;

class OutputRaces : public testing::Test {
 protected:
  void TearDown() override {
    before_lock = nullptr;
    before_rename = after_rename = nullptr;
    slept = {};
    has_plain_renames = hides_what_is_open = false;
    mode_error = 0;
    after_fstat = nullptr;
    after_mkdir = nullptr;
    before_unlink = after_full_folder = nullptr;
    mkdir_error = 0;
    ends_children = false;
  }

  fs::path only_entry() const { return fs::directory_iterator(folder_.path())->path(); }

  test::TemporaryFolder folder_;
};

/// Who looks for stale folders may lock a new one before its maker does, and then removes it.
TEST_F(OutputRaces, AFolderThatAnotherTookForStaleIsMadeAnew) {
  fs::path first;
  before_lock = [&] {
    before_lock = nullptr;
    first = only_entry();
    remove_stale_stagings(folder_.path());
    return 0;
  };
  const StagingFolder staging(folder_ / "a.nii");
  EXPECT_FALSE(first.empty());
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(staging.path(), only_entry());
}

/// The maker may lock it before the lock is removed, or after.
TEST_F(OutputRaces, AFolderThatAnotherIsAboutToRemoveIsMadeAnew) {
  std::promise<void> about_to, made;
  std::thread other;
  before_unlink = [&](const std::string&) {
    before_unlink = nullptr;
    about_to.set_value();
    made.get_future().wait();
  };
  before_lock = [&] {
    before_lock = nullptr;
    other = std::thread([&] { remove_stale_stagings(folder_.path()); });
    about_to.get_future().wait();
    return 0;
  };
  const StagingFolder staging(folder_ / "a.nii");
  put(staging / "a.nii", "half");
  made.set_value();
  other.join();
  remove_stale_stagings(folder_.path());
  EXPECT_EQ(staging.path(), only_entry());
  EXPECT_EQ(std::distance(fs::directory_iterator(staging / ""), {}), 2) << "its lock and what was written";
}

/// The lock that its maker has open has another name then, or none.
TEST_F(OutputRaces, AFolderWhoseLockAnotherHasRemovedIsMadeAnew) {
  for (const bool hides : {false, true}) {
    hides_what_is_open = hides;
    fs::path first;
    before_lock = [&] {
      before_lock = nullptr;
      first = only_entry();
      const fs::path lock = fs::directory_iterator(first)->path();
      return unlinkat(AT_FDCWD, lock.c_str(), 0) == 0 ? 0 : errno;
    };
    const StagingFolder staging(folder_ / "a.nii");
    EXPECT_NE(staging.path(), first);
    fs::remove_all(first);
  }
}

/// The owner of a folder that is replaced by another user, as in a folder of a group, may still have it open.
TEST_F(OutputRaces, ALinkPutInPlaceOfWhatIsRemovedLeadsNowhere) {
  const fs::path mine = folder_ / "mine";
  put(mine, "mine");
  ASSERT_EQ(chmod(mine.c_str(), 0644), 0);
  for (const char* swapped : {"series", "series/sub"}) {
    StagingFolder staging(folder_ / "a.nii");
    fs::create_directories(staging / "series/sub");
    put(staging / "series/sub/1.dcm", "old");
    after_full_folder = [&](const std::string& path) {
      if (!path.ends_with(swapped)) return;
      after_full_folder = nullptr;
      fs::rename(path, folder_ / "swapped");
      fs::create_symlink(mine, path);
    };
    staging.remove();
    EXPECT_FALSE(after_full_folder);
    EXPECT_EQ(fs::status(mine).permissions(), static_cast<fs::perms>(0644));
    EXPECT_EQ(get(mine), "mine");
    fs::remove_all(folder_ / "swapped");
  }
}

TEST_F(OutputRaces, WhyAFolderCannotBeMadeIsSaid) {
  AtomicOutput output(folder_ / "new/a.nii", Kind::file, false, {});
  mkdir_error = ENOSPC;
  expect_error(Errc::not_writable, "No space left on device", [&] { output.begin(); });
}

/// As one that is killed leaves it.
TEST_F(OutputRaces, WhoTidiesUpMayBeInterruptedAtAnyMoment) {
  for (int when = 1; when <= 3; ++when) {
    const pid_t killed = fork();
    if (killed == 0) {
      const StagingFolder staging(folder_ / "a.nii");
      put(staging / "a.nii", "half");
      put(staging / "b.nii", "half");
      raise(SIGKILL);
    }
    waitpid(killed, nullptr, 0);
    const pid_t tidying = fork();
    if (tidying == 0) {
      before_unlink = [&](const std::string&) {
        if (--when == 0) raise(SIGKILL);
      };
      remove_stale_stagings(folder_.path());
      _exit(0);
    }
    int status = 0;
    waitpid(tidying, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(folder_.names().empty(), false);
    remove_stale_stagings(folder_.path());
    EXPECT_EQ(folder_.names(), Names{});
  }
}

/// Its mode, and its group, stay what they are.
TEST_F(OutputRaces, AFolderThatTookThePlaceOfOneThatWasMadeIsNotOpenedUp) {
  fs::create_directory(folder_ / "letters");
  fs::permissions(folder_ / "letters", fs::perms::owner_all);
  put(folder_ / "letters/letter.txt", "dear");
  after_mkdir = [](const std::string& made) {
    after_mkdir = nullptr;
    rmdir(made.c_str());
    fs::create_directory_symlink("letters", made);
  };
  AtomicOutput output(folder_ / "new/a.nii", Kind::file, false, {});
  output.begin();
  EXPECT_EQ(fs::status(folder_ / "letters").permissions(), fs::perms::owner_all);
}

TEST_F(OutputRaces, AFolderThatIsMadeIsSyncedWithTheOneAbove) {
  synced.clear();
  AtomicOutput output(folder_ / "new/a.nii", Kind::file, false, {});
  output.begin();
  put(output.staging(), "new");
  output.commit();
  for (const fs::path& one : {folder_.path(), folder_ / "new"}) {
    EXPECT_NE(std::ranges::find(synced, one.string()), synced.end()) << one;
  }
}

TEST_F(OutputRaces, AFolderThatAnotherHasLockedIsLeftToIt) {
  int file = -1;
  before_lock = [&] {
    before_lock = nullptr;
    file = open(fs::directory_iterator(only_entry())->path().c_str(), O_RDWR | O_CLOEXEC);
    return static_cast<int>(syscall(SYS_flock, file, LOCK_EX | LOCK_NB));
  };
  {
    const StagingFolder staging(folder_ / "a.nii");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 2);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
  close(file);
}

TEST_F(OutputRaces, AnOutputThatIsLostIsNotCommitted) {
  AtomicOutput output(folder_ / "series", Kind::folder, false, {});
  output.begin();
  const fs::path staging = only_entry();
  for (const bool is_made_again : {false, true}) {
    fs::remove_all(staging);
    if (is_made_again) {
      fs::create_directories(staging / "series");
      put(staging / "series/1.dcm", "another's");
    }
    expect_error(Errc::not_writable, "removed", [&] { output.commit(); });
  }
  EXPECT_FALSE(fs::exists(folder_ / "series"));
}

/// A run of which another removes what it has written so far: all, one file, or a folder within.
TEST_F(OutputRaces, ASeriesThatLostFilesIsAnError) {
  for (int z = 0; z < 6; ++z) {
    fs::create_directories(folder_ / "in/sub");
    test::write_dicom(folder_ / (z < 3 ? "in/" : "in/sub/") / std::to_string(z), {.position = {0, 0, 1.0 * z}});
  }
  const auto image = open_image(folder_ / "in", {});
  const Extent extent = image->geometry(0).extent;
  const std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
  const VolumeView<const float> slices{voxels.data(), extent};
  for (const char* lost : {"", "out/0", "out/sub"}) {
    SCOPED_TRACE(lost);
    expect_error(Errc::not_writable, (folder_ / "out").string() + ": ", [&] {
      const auto writer = image->writer(folder_ / "out", VoxelDomain::real, {});
      writer->begin_volume(0, {});
      for (std::int64_t z = 0; z < extent.z; ++z) {
        if (z == 4) {
          for (const auto& entry : fs::directory_iterator(folder_.path())) {
            if (is_staging_name(entry.path().filename().native())) fs::remove_all(entry.path() / lost);
          }
        }
        writer->write(slices.slices(z, 1));
      }
      writer->commit();
    });
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  }
}

/// An image and its residual, as a run makes them that says so in both.
class Pair {
 public:
  Pair(const fs::path& folder, const std::string& text)
      : image_(folder / "a.nii", Kind::file, true, {}), residual_(folder / "sub/r.nii", Kind::file, true, {}) {
    for (AtomicOutput* output : {&image_, &residual_}) {
      output->begin();
      put(output->staging(), text);
    }
  }
  void commit(const Execution& execution = {}) { commit_together(std::array{&image_, &residual_}, execution); }

 private:
  AtomicOutput image_, residual_;
};

class TogetherTest : public OutputRaces {
 protected:
  void SetUp() override {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a killed process leaves behind belongs to this one then
    fs::create_directory(folder_ / "sub");
    put_all("old");
  }
  void put_all(const std::string& text) const {
    for (const char* name : {"a.nii", "sub/r.nii"}) put(folder_ / name, text);
  }
  /// And nothing else.
  void expect_all(const std::string& text) const {
    for (const char* folder : {"", "sub"}) remove_stale_stagings(folder_ / folder);
    EXPECT_EQ(get(folder_ / "a.nii"), text);
    EXPECT_EQ(get(folder_ / "sub/r.nii"), text);
    EXPECT_EQ(folder_.names(), (Names{"a.nii", "sub", "sub/r.nii"}));
  }
  static void wait_for_all() {
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  /// Runs `when` after the renaming of that number, in the process that does it.
  static void at_rename(int number, const std::function<void()>& when) {
    after_rename = [number, when, count = std::make_shared<int>()] {
      if (++*count == number) when();
    };
  }
};

TEST_F(TogetherTest, OutputsOfTwoRunsNeverMix) {
  for (const bool existing : {true, false}) {
    if (!existing) {
      for (const char* name : {"a.nii", "sub/r.nii"}) fs::remove(folder_ / name);
    }
    Pair first(folder_.path(), "first"), second(folder_.path(), "second");
    std::thread other;
    int ready[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);  // others are closed in the process that renames
    // The process that renames waits for a while, in which the second run would be done if nothing stopped it.
    after_rename = [&] {
      after_rename = nullptr;
      ASSERT_EQ(write(ready[1], "", 1), 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    };
    other = std::thread([&] {
      char byte = 0;
      ASSERT_EQ(read(ready[0], &byte, 1), 1);
      after_rename = nullptr;
      second.commit();
    });
    first.commit();
    other.join();
    for (const int end : ready) close(end);
    EXPECT_EQ(get(folder_ / "a.nii"), "second");
    EXPECT_EQ(get(folder_ / "sub/r.nii"), "second");
  }
}

/// A process that is killed while it puts several outputs in place.
TEST_F(TogetherTest, ARunThatIsKilledMeanwhileLeavesAll) {
  for (const bool plain : {false, true}) {
    for (int number = 1; number <= (plain ? 6 : 2); ++number) {
      SCOPED_TRACE(std::to_string(number) + (plain ? " plain" : ""));
      put_all("old");
      const pid_t run = fork();
      if (run == 0) {
        has_plain_renames = plain;
        Pair pair(folder_.path(), "new");
        const pid_t itself = getpid();
        at_rename(number, [itself] { kill(itself, SIGKILL); });
        pair.commit();
        _exit(0);
      }
      int status = 0;
      waitpid(run, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      wait_for_all();
      expect_all("new");
    }
  }
}

/// The process that does so for the run is killed, as when memory runs out.
TEST_F(TogetherTest, ARunWhoseHelperIsKilledLeavesNothingNew) {
  for (const bool plain : {false, true}) {
    for (int number = 1; number <= (plain ? 6 : 2); ++number) {
      SCOPED_TRACE(std::to_string(number) + (plain ? " plain" : ""));
      has_plain_renames = plain;
      {
        Pair pair(folder_.path(), "new");
        const pid_t itself = getpid();
        at_rename(number, [itself] {
          if (getpid() != itself) raise(SIGKILL);
        });
        expect_error(Errc::not_writable, "was killed", [&] { pair.commit(); });
      }
      after_rename = nullptr;
      expect_all("old");
    }
  }
}

/// What takes all back is killed too, or somebody put a file where it would be put aside.
TEST_F(TogetherTest, WhatIsTakenBackIsNeverLost) {
  for (const bool plain : {false, true}) {
    for (int number = 0; number <= (plain ? 6 : 2); ++number) {
      SCOPED_TRACE(std::to_string(number) + (plain ? " plain" : ""));
      has_plain_renames = plain;
      {
        int looks = 0;
        const pid_t itself = getpid();
        const auto refuse_late = [&](const fs::path& found, const Execution&) {
          if (++looks < 3) return std::vector{found};
          if (number > 0) {
            at_rename(number, [itself] {
              if (getpid() != itself) raise(SIGKILL);
            });
          } else {
            for (const fs::path& folder : {folder_.path(), folder_ / "sub"}) {
              for (const auto& entry : fs::directory_iterator(folder)) {
                const std::string name = entry.path().filename().string();
                if (is_staging_name(name)) put(folder / (entry.path().stem().string().substr(1) + ".replaced"), "trap");
              }
            }
          }
          throw Error(Errc::exists, "refused");
        };
        AtomicOutput image(folder_ / "a.nii", Kind::file, true, {}, {}, refuse_late);
        AtomicOutput residual(folder_ / "sub/r.nii", Kind::file, true, {});
        for (AtomicOutput* output : {&image, &residual}) {
          output->begin();
          put(output->staging(), "new");
        }
        expect_error(Errc::exists, "refused", [&] { commit_together(std::array{&image, &residual}); });
      }
      after_rename = nullptr;
      EXPECT_EQ(get(folder_ / "a.nii"), "old");
      EXPECT_EQ(get(folder_ / "sub/r.nii"), "old");
      for (const fs::path& folder : {folder_.path(), folder_ / "sub"}) {
        for (const auto& entry : fs::directory_iterator(folder)) {
          if (entry.path().extension() != ".replaced") continue;
          EXPECT_EQ(get(entry.path()), "trap");
          fs::remove(entry.path());
        }
      }
      expect_all("old");
    }
  }
}

/// Another's file that came to the target is kept, wherever what puts outputs in place is killed.
TEST_F(TogetherTest, WhatCameToATargetIsNeverLost) {
  for (const bool plain : {false, true}) {
    for (int number = 1; number <= 6; ++number) {
      SCOPED_TRACE(std::to_string(number) + (plain ? " plain" : ""));
      has_plain_renames = plain;
      put_all("old");
      {
        Pair pair(folder_.path(), "new");
        const pid_t itself = getpid();
        before_rename = [this, itself] {
          if (getpid() == itself) return;
          before_rename = nullptr;
          fs::remove(folder_ / "sub/r.nii");
          put(folder_ / "sub/r.nii", "another's");
        };
        at_rename(number, [itself] {
          if (getpid() != itself) raise(SIGKILL);
        });
        EXPECT_THROW(pair.commit(), Error);
      }
      before_rename = after_rename = nullptr;
      EXPECT_EQ(get(folder_ / "sub/r.nii"), "another's");
      EXPECT_EQ(get(folder_ / "a.nii"), "old");
    }
  }
}

/// Signals for the run, and for its group, are not for the process that puts outputs in place.
TEST_F(TogetherTest, SignalsDoNotReachHalfACommit) {
  const pid_t run = fork();
  if (run == 0) {
    setpgid(0, 0);
    Pair pair(folder_.path(), "new");
    const pid_t itself = getpid();
    at_rename(1, [itself] { kill(-itself, SIGINT); });
    pair.commit();
    _exit(0);
  }
  waitpid(run, nullptr, 0);
  wait_for_all();
  expect_all("new");
}

TEST_F(TogetherTest, WaitingForAnotherEndsWithAStopRequestAndSaysWhy) {
  const int other = open((folder_ / "sub").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  Pair run(folder_.path(), "new");
  std::stop_source stop;
  std::vector<std::string> notes;
  Execution execution;
  execution.stop = stop.get_token();
  execution.note = [&](const std::string& line) {
    notes.push_back(line);
    stop.request_stop();
  };
  expect_error(Errc::cancelled, "", [&] { run.commit(execution); });
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            (folder_ / "sub").string() + ": another process has locked this folder; waiting for it, 20 s at most");
  EXPECT_EQ(get(folder_ / "a.nii"), "old");
  close(other);
}

/// A new file may get the inode number of one that was removed.
TEST_F(TogetherTest, AnotherFileOfTheSameNumberIsKept) {
  const fs::path target = folder_ / "sub/r.nii";
  const auto written = [&](int second) {
    const timespec times[2]{{second, 0}, {second, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, target.c_str(), times, 0), 0);
  };
  for (const bool is_larger : {false, true}) {
    put(target, "old");
    written(1000);
    {
      Pair run(folder_.path(), "new");
      before_rename = [&] {
        before_rename = nullptr;
        put(target, is_larger ? "mine!" : "own");
        written(is_larger ? 1000 : 2000);
      };
      expect_error(Errc::exists, "r.nii: appeared while the output was being made", [&] { run.commit(); });
    }
    before_rename = nullptr;
    EXPECT_EQ(get(folder_ / "a.nii"), "old");
    EXPECT_EQ(get(target), is_larger ? "mine!" : "own");
    EXPECT_EQ(folder_.names(), (Names{"a.nii", "sub", "sub/r.nii"}));
  }
}

TEST_F(TogetherTest, NobodyWaitsForEver) {
  Pair run(folder_.path(), "new");
  before_lock = [] { return EWOULDBLOCK; };
  slept = 0ms;
  run.commit();
  EXPECT_EQ(slept, 20s);
  before_lock = nullptr;
  EXPECT_EQ(get(folder_ / "a.nii"), "new");
  EXPECT_EQ(get(folder_ / "sub/r.nii"), "new");
}

/// The lock of a private folder, which is open until the end, and what is being written when a run is cut short.
TEST_F(OutputRaces, FileSystemsThatKeepWhatIsOpenAreLeftCleanAndEndNoRunInACircle) {
  hides_what_is_open = true;
  {
    AtomicOutput output(folder_ / "a.nii", Kind::file, false, {});
    output.begin();
    put(output.staging(), "new");
    output.commit();
  }
  EXPECT_EQ(folder_.names(), Names{"a.nii"});
  std::ofstream open_file, open_below;
  {
    const StagingFolder staging(folder_ / "b.nii");
    open_file.open(staging / "b.nii");
    fs::create_directory(staging / "series");
    open_below.open(staging / "series/1.dcm");
  }
  open_file.close();
  open_below.close();
  remove_stale_stagings(folder_.path());
}

/// It knows none, or gives files an owner of its own, who alone may change them.
TEST_F(OutputRaces, FileSystemsWithoutPermissionsAreWritten) {
  for (const int error : {ENOSYS, ENOTSUP, EPERM}) {
    mode_error = error;
    AtomicOutput output(folder_ / "a.nii", Kind::file, true, {});
    output.begin();
    put(output.staging(), std::to_string(error));
    AtomicOutput folder(folder_ / "b", Kind::folder, true, {}, {},
                        [](const fs::path& found, const Execution&) { return std::vector{found}; });
    folder.begin();
    put(folder.staging() / "1.dcm", std::to_string(error));
    commit_together(std::array{&output, &folder});
    EXPECT_EQ(get(folder_ / "a.nii"), std::to_string(error));
    EXPECT_EQ(get(folder_ / "b/1.dcm"), std::to_string(error));
  }
}

/// A mount of FAT, or of Windows' own disks (9p), says the same of everything.
TEST_F(OutputRaces, FileSystemsWithOneModeForAllAreWritten) {
  mode_error = EPERM;
  for (const mode_t mode : {0777U, 0755U, 0644U}) {
    after_fstat = [mode](struct stat& status) {
      status.st_mode = (status.st_mode & S_IFMT) | mode;
      status.st_uid = 12345;
    };
    AtomicOutput output(folder_ / "a.nii", Kind::file, true, {});
    output.begin();
    put(output.staging(), std::to_string(mode));
    output.commit();
    EXPECT_EQ(get(folder_ / "a.nii"), std::to_string(mode));
  }
  EXPECT_EQ(folder_.names(), Names{"a.nii"});
}

/// Who may rename in the folder of an output can put one of his own in the place of a private folder that was just
/// made.
TEST_F(OutputRaces, NothingIsWrittenIntoAFolderOfSomebodyElse) {
  const auto begin = [this] {
    AtomicOutput output(folder_ / "a.nii", Kind::file, false, {});
    expect_error(Errc::not_writable, "Operation not permitted", [&] { output.begin(); });
    EXPECT_EQ(folder_.names(), Names{});
  };
  after_fstat = [](struct stat& status) { status.st_uid += S_ISDIR(status.st_mode) ? 1 : 0; };
  begin();
}

/// Of the same user's, into which others may write.
TEST_F(OutputRaces, AFolderThatGotTheNameOfANewOneIsPrivate) {
  fs::create_directory(folder_ / "open");
  fs::permissions(folder_ / "open", fs::perms::all);
  after_mkdir = [this](const std::string& made) {
    after_mkdir = nullptr;
    rmdir(made.c_str());
    rename((folder_ / "open").c_str(), made.c_str());
  };
  const StagingFolder staging(folder_ / "a.nii");
  EXPECT_FALSE(fs::exists(folder_ / "open"));
  EXPECT_EQ(fs::status(staging.path()).permissions(), fs::perms::owner_all);
}

/// Of the same user's, with what lies in it.
TEST_F(OutputRaces, AFolderThatGotTheNameOfANewOneKeepsWhatItHolds) {
  fs::create_directory(folder_ / "letters");
  fs::permissions(folder_ / "letters", fs::perms::owner_all);
  put(folder_ / "letters/letter.txt", "dear");
  after_mkdir = [this](const std::string& made) {
    if (!is_staging_name(fs::path(made).filename().native()) || !fs::exists(folder_ / "letters")) return;
    rmdir(made.c_str());
    rename((folder_ / "letters").c_str(), made.c_str());
  };
  {
    AtomicOutput output(folder_ / "a.nii", Kind::file, false, {});
    output.begin();
  }
  const std::string name = only_entry().filename();
  EXPECT_EQ(get(folder_ / name / "letter.txt"), "dear");
  EXPECT_EQ(folder_.names(), (Names{name, name + "/letter.txt"}));
}

/// Who may write into it may do so until it is private.
TEST_F(OutputRaces, AFolderThatGotTheNameOfANewOneHoldsNothingOfOthers) {
  fs::create_directory(folder_ / "open");
  fs::permissions(folder_ / "open", fs::perms::all);
  fs::path swapped;
  after_mkdir = [&](const std::string& made) {
    after_mkdir = nullptr;
    rmdir(made.c_str());
    rename((folder_ / "open").c_str(), made.c_str());
    swapped = made;
  };
  after_fstat = [&](struct stat& status) {
    if (!S_ISDIR(status.st_mode) || swapped.empty()) return;
    after_fstat = nullptr;
    fs::create_symlink(folder_ / "mine", swapped / "a.nii");
  };
  const StagingFolder staging(folder_ / "a.nii");
  EXPECT_FALSE(after_fstat);
  EXPECT_NE(staging.path(), swapped);
  EXPECT_TRUE(fs::is_symlink(swapped / "a.nii"));
  EXPECT_EQ(fs::status(swapped).permissions(), fs::perms::all);
}

/// ITK starts its threads again in every child that it hears of.
TEST_F(OutputRaces, LibrariesDoNotHearOfTheProcessThatRenames) {
  pthread_atfork(nullptr, nullptr, [] {
    if (ends_children) _exit(1);
  });
  ends_children = true;
  AtomicOutput output(folder_ / "a.nii", Kind::file, false, {});
  output.begin();
  put(output.staging(), "new");
  output.commit();
  EXPECT_EQ(get(folder_ / "a.nii"), "new");
}

TEST_F(OutputRaces, FileSystemsWithoutLocksGoOn) {
  for (const int error : {ENOLCK, ENOTSUP, EINVAL, ENOSYS, EBADF}) {
    before_lock = [error] { return error; };
    AtomicOutput output(folder_ / "a.nii", Kind::file, true, {});
    output.begin();
    put(output.staging(), "new");
    AtomicOutput other(folder_ / "b", Kind::folder, true, {});
    other.begin();  // would take the first for stale
    output.commit();
  }
  EXPECT_EQ(folder_.names(), Names{"a.nii"});
}

}  // namespace
}  // namespace quietvox::io
