// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/commit_record.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/abandoned.hpp"
#include "io/disk.hpp"
#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using test::get;
using test::put;

/// An image, its sidecar, which replaces an older one, and its residual in another folder.
class Outputs {
 public:
  explicit Outputs(const fs::path& folder)
      : folder_(folder),
        image_(folder / "a.nii", Staging::Kind::file),
        sidecar_(folder / "a.json", Staging::Kind::file),
        residual_(folder / "elsewhere/r.nii", Staging::Kind::file),
        record_({step(image_, "a.nii"), step(sidecar_, "a.json"), step(residual_, "elsewhere/r.nii")}) {}

  void put_in_place(bool image_too) const {
    const fs::path residual = folder_ / "elsewhere/r.nii";
    fs::exists(residual) ? void(exchange(residual_.path(), residual)) : fs::rename(residual_.path(), residual);
    exchange(sidecar_.path(), folder_ / "a.json");
    if (image_too) fs::rename(image_.path(), folder_ / "a.nii");
  }

 private:
  CommitRecord::Output step(const Staging& staging, const char* target) const {
    put(staging.path(), "new");
    return {staging.path(), folder_ / target};
  }

  fs::path folder_;
  Staging image_, sidecar_, residual_;
  CommitRecord record_;
};

class CommitRecordTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "out/elsewhere");
    put(folder_ / "out/a.json", "old");
  }

  void kill_at_work(bool image_too) const {
    const pid_t killed = fork();
    if (killed == 0) {
      const Outputs outputs(folder_ / "out");
      outputs.put_in_place(image_too);
      raise(SIGKILL);
    }
    waitpid(killed, nullptr, 0);
    EXPECT_EQ(get(folder_ / "out/a.json"), "new");
  }

  /// But for the files whose locks are the turns of folders.
  Names names() const {
    Names found = folder_.names();
    std::erase_if(found, [](const std::string& name) { return name.ends_with(".lock"); });
    return found;
  }

  test::TemporaryFolder folder_;
};

TEST_F(CommitRecordTest, WithoutTheFirstNothingStays) {
  kill_at_work(false);
  remove_abandoned(folder_ / "out");
  EXPECT_EQ(folder_.names(), (Names{"out", "out/a.json", "out/elsewhere"}));
  EXPECT_EQ(get(folder_ / "out/a.json"), "old");
}

TEST_F(CommitRecordTest, WithTheFirstAllStay) {
  kill_at_work(true);
  remove_abandoned(folder_ / "out");
  EXPECT_EQ(folder_.names(), (Names{"out", "out/a.json", "out/a.nii", "out/elsewhere", "out/elsewhere/r.nii"}));
  EXPECT_EQ(get(folder_ / "out/a.json"), "new");
}

/// Who writes to the residual's folder first must not take what was replaced there for a rest.
TEST_F(CommitRecordTest, IsFollowedFromEveryFolder) {
  put(folder_ / "out/elsewhere/r.nii", "old");
  for (const bool image_too : {false, true}) {
    kill_at_work(image_too);
    EXPECT_EQ(get(folder_ / "out/elsewhere/r.nii"), "new");
    for (const char* folder : {"out/elsewhere", "out", "out/elsewhere"}) {
      remove_abandoned(folder_ / folder);
      Names left{"out", "out/a.json", "out/elsewhere", "out/elsewhere/r.nii"};
      if (image_too) left.insert(left.begin() + 2, "out/a.nii");
      EXPECT_EQ(folder_.names(), left);
      EXPECT_EQ(get(folder_ / "out/a.json"), image_too ? "new" : "old");
      EXPECT_EQ(get(folder_ / "out/elsewhere/r.nii"), image_too ? "new" : "old");
    }
  }
}

/// Whoever followed it was killed too, between the renames of a file system that cannot exchange.
TEST_F(CommitRecordTest, IsFollowedFromWhereThatWasCutShort) {
  for (const int renames : {1, 2}) {
    SCOPED_TRACE(renames);
    kill_at_work(false);
    fs::path staging;
    for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("a.part") && name.ends_with(".json")) staging = entry.path();
    }
    fs::rename(folder_ / "out/a.json", aside_of(staging));
    if (renames == 2) fs::rename(staging, folder_ / "out/a.json");
    remove_abandoned(folder_ / "out");
    EXPECT_EQ(folder_.names(), (Names{"out", "out/a.json", "out/elsewhere"}));
    EXPECT_EQ(get(folder_ / "out/a.json"), "old");
  }
}

TEST_F(CommitRecordTest, WhatItDoesNotUnderstandIsLeftAlone) {
  put(folder_ / "out/elsewhere/r.nii", "old");
  kill_at_work(false);
  for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
    if (entry.path().filename().string().starts_with("a.part") && entry.path().extension() == ".nii") {
      fs::remove(entry.path());  // the image, which would have come last
    }
  }
  const Names before = names();
  for (const char* folder : {"out/elsewhere", "out"}) remove_abandoned(folder_ / folder);
  EXPECT_EQ(names(), before);
}

TEST_F(CommitRecordTest, IsTrueInAFolderThatWasMoved) {
  kill_at_work(false);
  fs::rename(folder_ / "out", folder_ / "moved");
  remove_abandoned(folder_ / "moved");
  EXPECT_EQ(folder_.names(), (Names{"moved", "moved/a.json", "moved/elsewhere"}));
  EXPECT_EQ(get(folder_ / "moved/a.json"), "old");
}

TEST_F(CommitRecordTest, WhatOthersMadeMeanwhileStays) {
  kill_at_work(false);
  for (const char* name : {"out/a.json", "out/elsewhere/r.nii"}) {
    fs::remove(folder_ / name);
    put(folder_ / name, "precious");
  }
  remove_abandoned(folder_ / "out");
  EXPECT_EQ(folder_.names(), (Names{"out", "out/a.json", "out/elsewhere", "out/elsewhere/r.nii"}));
  EXPECT_EQ(get(folder_ / "out/a.json"), "precious");
}

TEST_F(CommitRecordTest, OfALivingProcessIsLeftAlone) {
  const Outputs outputs(folder_ / "out");
  outputs.put_in_place(false);
  const Names before = folder_.names();
  remove_abandoned(folder_ / "out");
  EXPECT_EQ(folder_.names(), before);
}

TEST_F(CommitRecordTest, OfAnotherUserIsLeftAloneWithAllThatItNames) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make another user's file";
  put(folder_ / "out/elsewhere/r.nii", "old");
  kill_at_work(false);
  for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
    if (CommitRecord::is_record(entry)) {
      ASSERT_EQ(chown(entry.path().c_str(), 65534, 65534), 0);
    }
  }
  const Names before = names();
  fs::create_directory_symlink("out", folder_ / "link");
  const fs::path here = fs::current_path();
  fs::current_path(folder_ / "out/elsewhere");
  for (const fs::path& folder :
       {folder_ / "out", folder_ / "out/elsewhere", folder_ / "link/elsewhere", fs::path("."), fs::path("")}) {
    remove_abandoned(folder);
  }
  fs::current_path(here);
  fs::remove(folder_ / "link");
  EXPECT_EQ(names(), before);
}

/// Written before anything is put in place: where it was cut, nothing was.
TEST_F(CommitRecordTest, CutOrForeignOnesSayNothing) {
  kill_at_work(false);
  std::string text;
  fs::path record;
  for (const auto& entry : fs::directory_iterator(folder_ / "out")) {
    if (CommitRecord::is_record(entry)) text = get(record = entry.path());
  }
  ASSERT_EQ(CommitRecord::stagings(record).size(), 3U);
  for (std::size_t size = 0; size < text.size(); ++size) {
    put(record, text.substr(0, size));
    EXPECT_TRUE(CommitRecord::stagings(record).empty()) << size;
  }
  remove_abandoned(folder_ / "out");
  EXPECT_EQ(get(folder_ / "out/a.json"), "new");
}

}  // namespace
}  // namespace quietvox::io
