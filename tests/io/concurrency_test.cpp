// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Processes that work in one folder at the same time, at the moments at which they might harm each other: the calls to
// lock and to rename that are made here stop for what another process does meanwhile.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>
#include <fstream>
#include <functional>

#include "io/abandoned.hpp"
#include "io/atomic_output.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace {

/// What another process does before the next lock is tried; returns an error for the file system to give, or 0.
std::function<int()> before_lock;

}  // namespace

extern "C" int flock(int file, int operation) {
  if (const int error = before_lock ? before_lock() : 0) {
    errno = error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Kind = AtomicOutput::Kind;
using Names = std::vector<std::string>;
using test::expect_error;

void put(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class ConcurrencyTest : public testing::Test {
 protected:
  void TearDown() override { before_lock = nullptr; }

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
