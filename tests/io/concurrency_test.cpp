// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Processes that work in one folder at the same time, at the moments at which they might harm each other: the calls to
// lock and to rename that are made here stop for what another process does meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "io/abandoned.hpp"
#include "io/atomic_output.hpp"
#include "io/commit_turn.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace {

/// What another process does before the next lock is tried; returns an error for the file system to give, or 0.
std::function<int()> before_lock;
/// The same for what was renamed last.
std::function<void()> after_rename;

}  // namespace

extern "C" int flock(int file, int operation) {
  const auto hook = before_lock;  // which may put another in its place
  if (const int error = hook ? hook() : 0) {
    errno = error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const auto status = static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
  const auto hook = after_rename;
  if (hook) hook();
  return status;
}

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Kind = AtomicOutput::Kind;
using Names = std::vector<std::string>;
using test::expect_error;
using test::get;
using test::put;

class ConcurrencyTest : public testing::Test {
 protected:
  void TearDown() override {
    before_lock = nullptr;
    after_rename = nullptr;
  }

  /// Another process looks whether what was just made is abandoned, and holds its lock until unlock().
  void lock_next() {
    before_lock = [this] {
      before_lock = nullptr;
      locked_ = folder_ / folder_.names().back();
      file_ = open(locked_.c_str(), O_RDONLY | O_CLOEXEC);
      return static_cast<int>(syscall(SYS_flock, file_, LOCK_EX | LOCK_NB));
    };
  }
  void unlock() const { close(file_); }

  test::TemporaryFolder folder_;
  fs::path locked_;
  int file_ = -1;
};

TEST_F(ConcurrencyTest, AStagingThatAnotherLooksAtIsLockedAllTheSame) {
  for (const Kind kind : {Kind::file, Kind::folder}) {
    lock_next();
    const Staging staging(folder_ / "a.nii", kind);
    ASSERT_FALSE(locked_.empty());
    const Names before = folder_.names();
    remove_abandoned(folder_.path());
    unlock();
    EXPECT_EQ(folder_.names(), before);
    EXPECT_TRUE(PathLock(staging.path()).is_anothers());
    remove_abandoned(folder_.path());
    EXPECT_EQ(folder_.names(), Names{staging.path().filename().string()});
  }
}

/// A look that ends at once costs no other name.
TEST_F(ConcurrencyTest, AStagingWaitsForWhoLooksAtIt) {
  lock_next();
  const auto look = std::exchange(before_lock, nullptr);
  before_lock = [&] {
    const int error = look();
    before_lock = [this] {
      before_lock = nullptr;
      unlock();
      return 0;
    };
    return error;
  };
  const Staging staging(folder_ / "a", Kind::folder);
  EXPECT_EQ(staging.path(), locked_);
  EXPECT_TRUE(PathLock(staging.path()).is_anothers());
}

/// Who has it for abandoned removes it by its name: that must not be given again until then.
TEST_F(ConcurrencyTest, WhoRemovesAnAbandonedOneDoesNotRemoveAnother) {
  lock_next();
  { const Staging first(folder_ / "a", Kind::folder); }
  const Staging second(folder_ / "a", Kind::folder);
  fs::remove_all(locked_);
  unlock();
  EXPECT_FALSE(second.is_lost());
}

TEST_F(ConcurrencyTest, AStagingThatIsLostIsNotRemovedAndNotCommitted) {
  AtomicOutput output(folder_ / "series", Kind::folder, false, {});
  const fs::path staging = output.staging();
  for (const bool is_made_again : {false, true}) {
    fs::remove_all(staging);
    if (is_made_again) {
      fs::create_directory(staging);
      put(staging / "1.dcm", "another's");
    }
    expect_error(Errc::not_writable, "removed", [&] { output.commit(); });
  }
  EXPECT_FALSE(fs::exists(folder_ / "series"));
  const Names before = folder_.names();
  {
    const Staging lost(folder_ / "c", Kind::folder);
    fs::rename(lost.path(), folder_ / "elsewhere");
    fs::create_directory(lost.path());
    put(lost.path() / "1.dcm", "another's");
  }
  EXPECT_EQ(folder_.names().size(), before.size() + 3);
}

/// A run of which another removes what it has written so far: all, one file, or a folder within.
TEST_F(ConcurrencyTest, ASeriesThatLostFilesIsAnError) {
  for (int z = 0; z < 6; ++z) {
    fs::create_directories(folder_ / "in/sub");
    test::write_dicom(folder_ / (z < 3 ? "in/" : "in/sub/") / std::to_string(z), {.position = {0, 0, 1.0 * z}});
  }
  const auto image = open_image(folder_ / "in", {});
  const Extent extent = image->geometry(0).extent;
  const std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
  const VolumeView<const float> slices{voxels.data(), extent};
  for (const char* lost : {"", "0", "sub"}) {
    SCOPED_TRACE(lost);
    expect_error(Errc::not_writable, (folder_ / "out").string() + ": ", [&] {
      const auto writer = image->writer(folder_ / "out", Values::real, {});
      writer->begin_volume(0, {});
      for (std::int64_t z = 0; z < extent.z; ++z) {
        if (z == 4) {
          for (const std::string& name : folder_.names()) {
            if (name.starts_with("out.part") && name.find('/') == std::string::npos) {
              fs::remove_all(folder_ / name / lost);
            }
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
    for (const AtomicOutput* output : {&image_, &residual_}) put(output->staging(), text);
  }
  void commit(std::stop_token stop = {}) {
    Execution execution;
    execution.stop = std::move(stop);
    commit_together(std::array{&image_, &residual_}, execution);
  }
  /// Killed with the residual in place and the image not.
  [[noreturn]] void commit_half() {
    after_rename = [] { raise(SIGKILL); };
    commit();
    _exit(1);
  }

 private:
  AtomicOutput image_, residual_;
};

class TogetherTest : public ConcurrencyTest {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "sub");
    for (const char* name : {"a.nii", "sub/r.nii"}) put(folder_ / name, "old");
  }
  /// Also where another run has only just been killed, and nothing of it stays.
  void expect_all(const std::string& text) const {
    EXPECT_EQ(get(folder_ / "a.nii"), text);
    EXPECT_EQ(get(folder_ / "sub/r.nii"), text);
    EXPECT_EQ(folder_.names(), (Names{"a.nii", "sub", "sub/r.nii"}));
  }
  static void wait_for(pid_t killed) {
    int status = 0;
    waitpid(killed, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }
};

TEST_F(TogetherTest, OutputsOfTwoRunsNeverMix) {
  for (const bool existing : {true, false}) {
    if (!existing) {
      for (const char* name : {"a.nii", "sub/r.nii"}) fs::remove(folder_ / name);
    }
    std::thread other;
    {
      Pair first(folder_.path(), "first");
      Pair second(folder_.path(), "second");
      std::promise<void> done;
      after_rename = [&] {  // where nothing stops the second, it is done before the first goes on
        after_rename = nullptr;
        other = std::thread([&] {
          second.commit();
          done.set_value();
        });
        done.get_future().wait_for(std::chrono::milliseconds(300));
      };
      first.commit();
      other.join();
    }
    expect_all("second");
  }
}

TEST_F(TogetherTest, WaitingForAnotherRunEndsWithAStopRequest) {
  Pair run(folder_.path(), "new");
  CommitTurn turn;
  ASSERT_EQ(turn.take(folder_ / "sub"), CommitTurn::Answer::mine);
  std::stop_source stop;
  const std::jthread request([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  expect_error(Errc::cancelled, "", [&] { run.commit(stop.get_token()); });
  EXPECT_EQ(get(folder_ / "a.nii"), "old");
}

TEST_F(TogetherTest, WhatWasLeftIsTakenBackInTurnOnly) {
  const pid_t killed = fork();
  if (killed == 0) Pair(folder_.path(), "killed").commit_half();
  wait_for(killed);
  for (const auto& [of_another, tidied] :
       {std::pair(folder_.path(), folder_ / "sub"), std::pair(folder_ / "sub", folder_.path())}) {
    CommitTurn turn;
    ASSERT_EQ(turn.take(of_another), CommitTurn::Answer::mine);
    remove_abandoned(tidied);
    EXPECT_EQ(get(folder_ / "sub/r.nii"), "killed");
  }
  remove_abandoned(folder_ / "sub");
  remove_abandoned(folder_.path());
  expect_all("old");
}

/// The next to commit must not replace what one that was killed meanwhile would have taken back.
TEST_F(TogetherTest, TwoRunsKilledOneAfterTheOtherLeaveNothingNew) {
  const pid_t second = fork();
  if (second == 0) {
    Pair run(folder_.path(), "second");
    const pid_t first = fork();
    if (first == 0) Pair(folder_.path(), "first").commit_half();
    waitpid(first, nullptr, 0);
    run.commit_half();
  }
  wait_for(second);
  remove_abandoned(folder_.path());
  remove_abandoned(folder_ / "sub");
  expect_all("old");
}

/// What was listed may since have become what a run replaced that was killed.
TEST_F(TogetherTest, ARunKilledWhileAnotherTidiesUpLeavesNothingNew) {
  std::array<int, 2> pipe_ends;
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t killed = fork();
  if (killed == 0) {
    Pair run(folder_.path(), "killed");
    char go = 0;
    if (write(pipe_ends[1], &go, 1) == 1) raise(SIGSTOP);
    run.commit_half();
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  waitpid(killed, nullptr, WUNTRACED);
  put(folder_ / "sub/outputs.part-quietvox-17-0.record", "");  // looked at first
  before_lock = [&] {
    before_lock = nullptr;
    kill(killed, SIGCONT);
    wait_for(killed);
    return 0;
  };
  remove_abandoned(folder_ / "sub");
  remove_abandoned(folder_.path());
  remove_abandoned(folder_ / "sub");
  expect_all("old");
  for (const int end : pipe_ends) close(end);
}

TEST_F(ConcurrencyTest, FileSystemsWithoutLocksGoOn) {
  for (const int error : {ENOLCK, ENOTSUP, EINVAL, ENOSYS, EBADF}) {
    before_lock = [error] { return error; };
    AtomicOutput output(folder_ / "a.nii", Kind::file, true, {});
    put(output.staging(), "new");
    const AtomicOutput other(folder_ / "b", Kind::folder, true, {});
    EXPECT_TRUE(fs::exists(output.staging()));
    output.commit();
  }
  EXPECT_EQ(folder_.names(), Names{"a.nii"});
}

}  // namespace
}  // namespace quietvox::io
