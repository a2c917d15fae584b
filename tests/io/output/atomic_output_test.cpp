// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_output.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "io/create.hpp"
#include "io/dicom/result_series_key.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Kind = AtomicOutput::Kind;
using Names = std::vector<std::string>;
using test::expect_error;
using test::get;
using test::put;

AtomicOutput::Examine examine(const fs::path& target, Kind kind) {
  return kind == Kind::folder ? dicom_results_of_one_series(target) : AtomicOutput::Examine();
}

/// One that has begun.
struct Output : AtomicOutput {
  Output(const fs::path& target, Kind kind, bool force, const fs::path& input, const Access& most = {})
      : AtomicOutput(target, kind, force, input, most, examine(target, kind)) {
    begin();
  }
};

/// A DICOM file as quietvox makes it.
void make_result(const fs::path& path) {
  const test::TemporaryFolder folder;
  const auto writer = create_dicom(folder / "series", {.extent = {{2, 2, 1}}}, "CT", {});
  const std::vector<float> voxels(4);
  writer->begin_volume(0, {});
  writer->write({voxels.data(), {{2, 2, 1}}, {1, 1, 1}});
  writer->commit();
  fs::copy_file(folder / "series/slice_0001.dcm", path);
}

class AtomicOutputTest : public testing::Test {
 protected:
  void expect_refused(Errc code, const std::string& text, const fs::path& target, Kind kind, bool force,
                      const fs::path& input = {}) {
    const Names before = folder_.names();
    expect_error(code, text, [&] { AtomicOutput output(target, kind, force, input, {}, examine(target, kind)); });
    EXPECT_EQ(folder_.names(), before);
  }

  test::TemporaryFolder folder_;
};

/// In a folder that others may write to. They cannot move a private folder into another one.
TEST_F(AtomicOutputTest, ALinkPutInPlaceOfThePrivateFolderLeadsNowhere) {
  fs::create_directories(folder_ / "private/out");
  put(folder_ / "private/out.nii", "mine");
  put(folder_ / "private/out/mine", "mine");
  fs::create_directory(folder_ / "shared");
  for (const Kind kind : {Kind::file, Kind::folder}) {
    for (const bool is_written_before : {true, false}) {
      const fs::path target = folder_ / (kind == Kind::file ? "shared/out.nii" : "shared/out");
      {
        Output output(target, kind, false, {});
        const auto write = [&] { put(kind == Kind::file ? output.staging() : output.staging() / "a", "result"); };
        if (is_written_before) write();
        fs::path name;
        for (const auto& entry : fs::directory_iterator(folder_ / "shared")) name = entry.path();
        fs::rename(name, folder_ / "shared/moved");
        fs::create_symlink(folder_ / "private", name);
        if (!is_written_before) write();
        output.commit();
        EXPECT_EQ(get(kind == Kind::file ? target : target / "a"), "result");
        fs::remove(name);
      }
      EXPECT_EQ(get(folder_ / "private/out.nii"), "mine");
      EXPECT_EQ(get(folder_ / "private/out/mine"), "mine");
      EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "private/out"), {}), 1);
      EXPECT_TRUE(fs::is_empty(folder_ / "shared/moved"));
      fs::remove(folder_ / "shared/moved");
      fs::remove_all(target);
    }
  }
}

/// Who may rename the folder that it lies in must not make a run replace what lies elsewhere.
TEST_F(AtomicOutputTest, ALinkPutInPlaceOfItsFolderLeadsNowhere) {
  fs::create_directories(folder_ / "private/out");
  make_result(folder_ / "private/out/mine");
  put(folder_ / "private/out.nii", "mine");
  const Names before = test::TemporaryFolder::names_in(folder_ / "private");
  for (const bool existing : {false, true}) {
    for (const Kind kind : {Kind::file, Kind::folder}) {
      const bool is_file = kind == Kind::file;
      fs::create_directory(folder_ / "shared");
      if (existing && is_file) put(folder_ / "shared/out.nii", "old");
      if (existing && !is_file) fs::create_directory(folder_ / "shared/out");
      {
        Output output(folder_ / (is_file ? "shared/out.nii" : "shared/out"), kind, true, {});
        put(is_file ? output.staging() : output.staging() / "a", "result");
        fs::rename(folder_ / "shared", folder_ / "moved");
        fs::create_directory_symlink(folder_ / "private", folder_ / "shared");
        output.commit();
      }
      EXPECT_EQ(get(folder_ / (is_file ? "moved/out.nii" : "moved/out/a")), "result");
      EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "moved"), {}), 1);
      EXPECT_EQ(get(folder_ / "private/out.nii"), "mine");
      EXPECT_EQ(test::TemporaryFolder::names_in(folder_ / "private"), before);
      fs::remove(folder_ / "shared");
      fs::remove_all(folder_ / "moved");
    }
  }
}

TEST_F(AtomicOutputTest, FileAppearsOnlyAtCommit) {
  Output output(folder_ / "a.nii.gz", Kind::file, false, {});
  EXPECT_EQ(output.staging().filename(), "a.nii.gz");
  EXPECT_FALSE(fs::exists(output.staging()));
  put(output.staging(), "new");
  EXPECT_FALSE(fs::exists(folder_ / "a.nii.gz"));
  output.commit();
  EXPECT_EQ(folder_.names(), Names{"a.nii.gz"});
  EXPECT_EQ(get(folder_ / "a.nii.gz"), "new");
}

TEST_F(AtomicOutputTest, FolderAppearsOnlyAtCommit) {
  Output output(folder_ / "series/", Kind::folder, false, {});
  fs::create_directory(output.staging() / "sub");
  put(output.staging() / "sub" / "1.dcm", "new");
  EXPECT_FALSE(fs::exists(folder_ / "series"));
  output.commit();
  EXPECT_EQ(folder_.names(), (Names{"series", "series/sub", "series/sub/1.dcm"}));
}

TEST_F(AtomicOutputTest, LeavesNothingWithoutCommit) {
  {
    Output file(folder_ / "a.nii", Kind::file, false, {});
    put(file.staging(), "half");
    Output series(folder_ / "series", Kind::folder, false, {});
    put(series.staging() / "1.dcm", "half");
  }
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(AtomicOutputTest, NothingIsWrittenBeforeItBegins) {
  put(folder_ / "old.nii", "old");
  fs::create_directory(folder_ / ".quietvox-0123456789abcdef.part");
  const Names before = folder_.names();
  const AtomicOutput file(folder_ / "a.nii", Kind::file, false, {});
  const AtomicOutput replaced(folder_ / "old.nii", Kind::file, true, {});
  const AtomicOutput series(folder_ / "new/series", Kind::folder, false, {});
  EXPECT_EQ(folder_.names(), before);
}

TEST_F(AtomicOutputTest, TakesWhatWasMadeElsewhere) {
  Output output(folder_ / "a.mha", Kind::file, false, {});
  put(folder_ / "made", "new");
  fs::rename(folder_ / "made", output.staging());
  { const Output other(folder_ / "b.mha", Kind::file, false, {}); }
  output.commit();
  EXPECT_EQ(get(folder_ / "a.mha"), "new");
  EXPECT_EQ(folder_.names(), Names{"a.mha"});
}

TEST_F(AtomicOutputTest, ForceReplacesAFolderInWhichAProcessWasKilled) {
  fs::create_directory(folder_ / "all");
  make_result(folder_ / "all/1.dcm");
  const fs::path left = folder_ / "all/.quietvox-0123456789abcdef.part";
  fs::create_directory(left);
  fs::permissions(left, fs::perms::owner_all);
  put(left / "0123456789abcdef.lock", "");
  put(left / "1.dcm", "half");
  Output output(folder_ / "all", Kind::folder, true, {});
  put(output.staging() / "1.dcm", "new");
  output.commit();
  EXPECT_EQ(folder_.names(), (Names{"all", "all/1.dcm"}));
}

TEST_F(AtomicOutputTest, AMissingFolderIsMadeAndGoesWithAFailure) {
  {
    Output first(folder_ / "new/a.nii", Kind::file, false, {}, {.bits = 040, .group = {}});
    const Output second(folder_ / "new/b.nii", Kind::file, false, {});
    EXPECT_EQ(fs::status(folder_ / "new").permissions(), static_cast<fs::perms>(0750));
  }
  EXPECT_TRUE(folder_.names().empty());
  {
    std::optional<Output> first(std::in_place, folder_ / "new/a.nii", Kind::file, false, fs::path());
    const Output second(folder_ / "new/b.nii", Kind::file, false, {});
    first.reset();
  }
  EXPECT_TRUE(folder_.names().empty()) << "whichever goes last";
  {
    const AtomicOutput none(folder_ / "new/a.nii", Kind::file, false, {});
    fs::create_directory(folder_ / "new");
    const Output second(folder_ / "new/b.nii", Kind::file, false, {});
  }
  EXPECT_EQ(folder_.names(), Names{"new"}) << "another made it";
  fs::remove(folder_ / "new");
  {
    Output first(folder_ / "new/a.nii", Kind::file, false, {});
    const Output second(folder_ / "new/b.nii", Kind::file, false, {});
    put(first.staging(), "new");
    first.commit();
  }
  EXPECT_EQ(folder_.names(), (Names{"new", "new/a.nii"}));
}

/// What is above it is where the link leads, not where the link lies.
TEST_F(AtomicOutputTest, AFolderAboveALinkIsMadeThereAlone) {
  fs::create_directories(folder_ / "elsewhere/sub");
  fs::create_directory_symlink("elsewhere/sub", folder_ / "link");
  Output output(folder_ / "link/../new/a.nii", Kind::file, false, {});
  put(output.staging(), "new");
  EXPECT_FALSE(fs::exists(folder_ / "new"));
  output.commit();
  EXPECT_EQ(get(folder_ / "elsewhere/new/a.nii"), "new");
}

/// The permissions of a file or folder for the group and for others.
TEST_F(AtomicOutputTest, AnOutputGivesNoMoreAccessThanItsInputAndWhatItReplaces) {
  const auto mode = [&](const fs::path& path) {
    return static_cast<unsigned>(fs::status(folder_ / path).permissions()) & 0777;
  };
  const auto write_file = [&](bool force, const Access& most) {
    Output output(folder_ / "a.nii", Kind::file, force, {}, most);
    put(output.staging(), "new");
    output.commit();
    return mode("a.nii");
  };
  const mode_t before = umask(022);
  EXPECT_EQ(write_file(false, {}), 0644U);
  EXPECT_EQ(write_file(true, {.bits = 0, .group = {}}), 0600U);
  EXPECT_EQ(write_file(true, {}), 0600U);  // what it replaces
  Output series(folder_ / "series", Kind::folder, false, {}, {.bits = 044, .group = {}});
  Output hidden(folder_ / "hidden", Kind::folder, false, {}, {.bits = 0, .group = {}});
  for (Output* output : {&series, &hidden}) {
    fs::create_directory(output->staging() / "sub");
    put(output->staging() / "sub/1.dcm", "new");
    EXPECT_EQ(fs::status(output->staging().parent_path()).permissions(), fs::perms::owner_all);
    output->commit();
  }
  umask(before);
  EXPECT_EQ(mode("series"), 0755U);
  EXPECT_EQ(mode("series/sub"), 0755U);
  EXPECT_EQ(mode("series/sub/1.dcm"), 0644U);
  EXPECT_EQ(mode("hidden"), 0700U);
  EXPECT_EQ(mode("hidden/sub/1.dcm"), 0600U);
}

/// Their folder may be open to all.
TEST_F(AtomicOutputTest, AFolderGivesNoMoreAccessThanAnyFileThatItReplaces) {
  fs::create_directories(folder_ / "series/sub");
  make_result(folder_ / "series/1.dcm");
  make_result(folder_ / "series/sub/2.dcm");
  const auto allow = [&](const char* name, mode_t mode) { ASSERT_EQ(chmod((folder_ / name).c_str(), mode), 0); };
  for (const char* name : {"series", "series/sub"}) allow(name, 0755);
  allow("series/1.dcm", 0644);
  allow("series/sub/2.dcm", 0600);
  Output output(folder_ / "series", Kind::folder, true, {});
  put(output.staging() / "1.dcm", "new");
  output.commit();
  EXPECT_EQ(fs::status(folder_ / "series/1.dcm").permissions(), static_cast<fs::perms>(0600));
  EXPECT_EQ(fs::status(folder_ / "series").permissions(), static_cast<fs::perms>(0700));
}

/// What is there when the output comes counts, not what was there before.
TEST_F(AtomicOutputTest, AnOutputGivesNoMoreAccessThanWhatCameInItsPlaceMeanwhile) {
  for (const bool is_new : {false, true}) {
    const fs::path target = folder_ / (is_new ? "b.nii" : "a.nii");
    if (!is_new) put(target, "old");
    Output output(target, Kind::file, true, {});
    put(output.staging(), "new");
    if (is_new) put(target, "old");
    ASSERT_EQ(chmod(target.c_str(), 0600), 0);
    output.commit();
    EXPECT_EQ(get(target), "new");
    EXPECT_EQ(fs::status(target).permissions(), static_cast<fs::perms>(0600));
  }
}

/// Beside an input in a home that only its owner may enter, the output is as open as that.
TEST_F(AtomicOutputTest, AnOutputThatComesElsewhereThanItWasToIsForItsOwnerAlone) {
  for (const char* name : {"home", "home/new", "pub"}) fs::create_directory(folder_ / name);
  put(folder_ / "home/scan", "scan");
  ASSERT_EQ(chmod((folder_ / "home").c_str(), 0700), 0);
  ASSERT_EQ(chmod((folder_ / "home/scan").c_str(), 0644), 0);
  const auto mode_of_output = [&](const char* target, bool has_new_folder, bool is_swapped) {
    const fs::path link = folder_ / "link", path = link / target;
    fs::remove(link);
    fs::create_directory_symlink("home", link);
    {
      AtomicOutput output(path, Kind::file, false, {}, access_of(std::array{folder_ / "home/scan"}, path));
      if (is_swapped) {
        fs::remove(link);
        fs::create_directory_symlink("pub", link);
      }
      output.begin();
      put(output.staging(), "new");
      output.commit();
    }
    const unsigned mode = static_cast<unsigned>(fs::status(path).permissions());
    if (has_new_folder && is_swapped) {
      EXPECT_EQ(fs::status(path.parent_path()).permissions(), fs::perms::owner_all);
    }
    has_new_folder ? fs::remove_all(path.parent_path()) : fs::remove(path);
    return mode;
  };
  const mode_t before = umask(022);
  for (const char* target : {"a.nii", "made/a.nii"}) {
    EXPECT_EQ(mode_of_output(target, fs::path(target).has_parent_path(), false), 0644U) << target;
    EXPECT_EQ(mode_of_output(target, fs::path(target).has_parent_path(), true), 0600U) << target;
  }
  umask(before);
}

/// Who may rename the folder of both can put another in its place while the input is measured, and that back later.
TEST_F(AtomicOutputTest, AFolderOfTheSameNameIsAnotherPlace) {
  fs::create_directory(folder_ / "study");
  put(folder_ / "study/scan", "scan");
  ASSERT_EQ(chmod((folder_ / "study").c_str(), 0700), 0);
  ASSERT_EQ(chmod((folder_ / "study/scan").c_str(), 0644), 0);
  const fs::path path = folder_ / "study/a.nii";
  AtomicOutput output(path, Kind::file, false, {}, access_of(std::array{folder_ / "study/scan"}, path));
  fs::rename(folder_ / "study", folder_ / "moved");
  fs::create_directory(folder_ / "study");
  output.begin();
  put(output.staging(), "new");
  output.commit();
  EXPECT_EQ(fs::status(path).permissions(), static_cast<fs::perms>(0600));
}

TEST_F(AtomicOutputTest, AFolderThatIsMadeIsOfTheGroupThatMayReadTheInput) {
  constexpr gid_t group = 4242;
  struct stat status {};
  const mode_t before = umask(022);
  if (geteuid() == 0) {
    const Output output(folder_ / "new/a.nii", Kind::file, false, {}, {.bits = 040, .group = group});
    ASSERT_EQ(stat((folder_ / "new").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0750U);
    EXPECT_EQ(status.st_gid, group);
    ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
    ASSERT_EQ(seteuid(65534), 0);
  }
  {
    const Output output(folder_ / "other/a.nii", Kind::file, false, {}, {.bits = 040, .group = group});
    ASSERT_EQ(stat((folder_ / "other").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U) << "who may not give files to that group";
  }
  umask(before);
  if (getuid() == 0) {
    ASSERT_EQ(seteuid(0), 0);
  }
}

/// New files in a folder of a group (set-group-ID) are that group's.
TEST_F(AtomicOutputTest, OutputsInAFolderOfAGroupAreOfThatGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make folders of other groups";
  constexpr gid_t group = 4242;
  ASSERT_EQ(chown(folder_.path().c_str(), 0, group), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 02775), 0);
  Output image(folder_ / "a.nii", Kind::file, false, {}), series(folder_ / "series", Kind::folder, false, {});
  put(image.staging(), "new");
  put(series.staging() / "1.dcm", "new");
  commit_together(std::array<AtomicOutput*, 2>{&image, &series});
  for (const char* name : {"a.nii", "series", "series/1.dcm"}) {
    struct stat status {};
    ASSERT_EQ(stat((folder_ / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_gid, group) << name;
    EXPECT_EQ(S_ISDIR(status.st_mode), (status.st_mode & S_ISGID) != 0) << name;
  }
}

TEST_F(AtomicOutputTest, AFolderOfAnyDepthTakesFewDescriptors) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs descriptors of its own";
#endif
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  Output output(folder_ / "series", Kind::folder, false, {});
  fs::path deep = output.staging();
  for (int i = 0; i < 200; ++i) deep /= "a";
  fs::create_directories(deep);
  put(deep / "1.dcm", "new");
  const rlimit few{64, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  EXPECT_NO_THROW(output.commit());
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(fs::exists(folder_ / "series" / deep.lexically_relative(output.staging()) / "1.dcm"));
}

/// From where it lies then, a relative link leads elsewhere.
TEST_F(AtomicOutputTest, ALinkThatIsReplacedIsExaminedOnlyWhereItStands) {
  put(folder_ / "real.nii", "old");
  fs::create_symlink("real.nii", folder_ / "link.nii");
  std::vector<fs::path> looks;
  AtomicOutput output(folder_ / "link.nii", Kind::file, true, {}, {}, [&](const fs::path& found, const Execution&) {
    EXPECT_EQ(get(found), "old");
    looks.push_back(found);
    return looks;
  });
  output.begin();
  put(output.staging(), "new");
  output.commit();
  EXPECT_EQ(looks.size(), 2U);
  EXPECT_EQ(get(folder_ / "link.nii"), "new");
}

TEST_F(AtomicOutputTest, ForceDoesNotReplaceAFolderInWhichAnotherRunWorks) {
  fs::create_directory(folder_ / "all");
  const Output other(folder_ / "all/series", Kind::folder, false, {});
  expect_refused(Errc::exists, ".part, in which another run may be writing", folder_ / "all", Kind::folder, true);
}

TEST_F(AtomicOutputTest, RelativeTargetStandsInTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  {
    Output output("a.nii", Kind::file, false, {});
    put(output.staging(), "new");
    output.commit();
  }
  fs::current_path(before);
  EXPECT_EQ(folder_.names(), Names{"a.nii"});
}

TEST_F(AtomicOutputTest, ExistingTargetIsRefusedWithoutForce) {
  put(folder_ / "a.nii", "old");
  fs::create_directory(folder_ / "series");
  fs::create_symlink(folder_ / "nowhere", folder_ / "dangling");
  expect_refused(Errc::exists, "a.nii", folder_ / "a.nii", Kind::file, false);
  expect_refused(Errc::exists, "series", folder_ / "series", Kind::folder, false);
  expect_refused(Errc::exists, "series", folder_ / "series/", Kind::folder, false);
  EXPECT_EQ(get(folder_ / "a.nii"), "old");
}

TEST_F(AtomicOutputTest, TargetThatAppearsMeanwhileIsKept) {
  {
    Output file(folder_ / "a.nii", Kind::file, false, {});
    Output series(folder_ / "series", Kind::folder, false, {});
    put(folder_ / "a.nii", "other");
    fs::create_directory(folder_ / "series");
    put(file.staging(), "new");
    expect_error(Errc::exists, "a.nii", [&] { file.commit(); });
    expect_error(Errc::exists, "series", [&] { series.commit(); });
  }
  EXPECT_EQ(folder_.names(), (Names{"a.nii", "series"}));
  EXPECT_EQ(get(folder_ / "a.nii"), "other");
}

TEST_F(AtomicOutputTest, ForceReplacesFileOnlyAtCommit) {
  put(folder_ / "a.nii", "old");
  { Output abandoned(folder_ / "a.nii", Kind::file, true, {}); }
  EXPECT_EQ(get(folder_ / "a.nii"), "old");
  Output output(folder_ / "a.nii", Kind::file, true, {});
  put(output.staging(), "new");
  EXPECT_EQ(get(folder_ / "a.nii"), "old");
  output.commit();
  EXPECT_EQ(get(folder_ / "a.nii"), "new");
  EXPECT_EQ(folder_.names(), Names{"a.nii"});
}

TEST_F(AtomicOutputTest, ForceReplacesFolderOnlyAtCommit) {
  fs::create_directories(folder_ / "series/sub");
  make_result(folder_ / "series/sub/old.dcm");
  { Output abandoned(folder_ / "series", Kind::folder, true, {}); }
  Output output(folder_ / "series", Kind::folder, true, {});
  put(output.staging() / "new.dcm", "new");
  EXPECT_TRUE(fs::exists(folder_ / "series/sub/old.dcm"));
  output.commit();
  EXPECT_EQ(folder_.names(), (Names{"series", "series/new.dcm"}));
}

TEST_F(AtomicOutputTest, ForceDoesNotRemoveWhatIsNoEarlierResult) {
  fs::create_directories(folder_ / "documents/letters");
  make_result(folder_ / "documents/1.dcm");
  put(folder_ / "documents/letters/letter.txt", "dear");
  for (const bool force : {false, true}) {  // nobody is told to give --force where that is refused
    expect_refused(Errc::exists, "letters/letter.txt", folder_ / "documents", Kind::folder, force);
  }
}

/// Folders of results are those of the input.
TEST_F(AtomicOutputTest, ForceReplacesResultsHoweverDeepTheyLie) {
  fs::path deep = "all";
  for (int i = 0; i < 300; ++i) deep /= "a";
  fs::create_directories(folder_ / deep);
  make_result(folder_ / deep / "1.dcm");
  Output output(folder_ / "all", Kind::folder, true, {});
  put(output.staging() / "1.dcm", "new");
  output.commit();
  EXPECT_EQ(folder_.names(), (Names{"all", "all/1.dcm"}));
}

/// A folder above the results of a night would go as a whole.
TEST_F(AtomicOutputTest, AFolderWithResultsOfSeveralSeriesIsNotReplaced) {
  for (const char* study : {"1.2.3", "1.2.4"}) {
    fs::create_directories(folder_ / "night" / study);
    for (const char* name : {"1.dcm", "2.dcm"}) {
      const fs::path path = folder_ / "night" / study / name;
      make_result(path);
      const auto file = test::parse_dicom(path);
      file->getDataset()->putAndInsertString(DCM_StudyInstanceUID, study);
      ASSERT_TRUE(file->saveFile(path.c_str(), EXS_LittleEndianExplicit).good());
    }
  }
  expect_refused(Errc::exists, "holds results of several series", folder_ / "night", Kind::folder, true);
  const fs::path night = folder_ / "night/1.2.3";
  const AtomicOutput one(night, Kind::folder, true, {}, {}, dicom_results_of_one_series(night));
}

/// Another run replaced the folder, or took it away, while it was looked at.
TEST_F(AtomicOutputTest, WhatWasSeenOfTwoFoldersIsNoReasonToRefuse) {
  for (const bool is_replaced : {true, false}) {
    fs::create_directory(folder_ / "out");
    fs::create_directory(folder_ / "another");
    const auto meanwhile = [&] {
      fs::rename(folder_ / "out", folder_ / "old");
      if (is_replaced) fs::rename(folder_ / "another", folder_ / "out");
    };
    int looked = 0;
    AtomicOutput(folder_ / "out", Kind::folder, true, {}, {}, [&](const fs::path& found, const Execution&) {
      if (++looked == 1) {
        meanwhile();
        throw Error(Errc::exists, "files of two folders");
      }
      return std::vector{found};
    });
    EXPECT_EQ(looked, is_replaced ? 2 : 1);
    for (const char* const name : {"out", "another", "old"}) fs::remove(folder_ / name);
  }
}

/// What is to be replaced is looked at before the run, before it is replaced and once more after that.
TEST_F(AtomicOutputTest, LookingAtWhatIsReplacedEndsOnAStopRequest) {
  fs::create_directory(folder_ / "all");
  put(folder_ / "all/1", "old");
  for (const int last : {2, 3}) {
    std::stop_source stop;
    int looks = 0;
    AtomicOutput output(folder_ / "all", Kind::folder, true, {}, {},
                        [&](const fs::path& found, const Execution& given) {
                          EXPECT_EQ(get(found / "1"), "old");
                          if (++looks == last) stop.request_stop();
                          check_stop(given.stop);
                          return std::vector{found, found / "1"};
                        });
    output.begin();
    put(output.staging() / "1", "new");
    expect_error(Errc::cancelled, "stopped",
                 [&] { output.commit({.threads = 1, .memory_limit = {}, .stop = stop.get_token()}); });
    EXPECT_EQ(looks, last);
    EXPECT_EQ(get(folder_ / "all/1"), "old");
  }
}

/// Of whom they are is found out file by file, which may take long.
TEST_F(AtomicOutputTest, LookingAtResultsEndsOnAStopRequest) {
  fs::create_directory(folder_ / "all");
  make_result(folder_ / "all/1.dcm");
  std::stop_source stop;
  const auto look = dicom_results_of_one_series(folder_ / "all");
  const Execution execution{.threads = 1, .memory_limit = {}, .stop = stop.get_token()};
  EXPECT_EQ(look(folder_ / "all", execution), (std::vector{folder_ / "all", folder_ / "all/1.dcm"}));
  stop.request_stop();
  expect_error(Errc::cancelled, "stopped", [&] { look(folder_ / "all", execution); });
}

TEST_F(AtomicOutputTest, ForceDoesNotRemoveScansOfOthers) {
  fs::create_directories(folder_ / "scans/patient");
  make_result(folder_ / "scans/1.dcm");
  const auto scan_with_contributions = [&](std::vector<const char*> manufacturers) {
    test::write_dicom(folder_ / "scans/patient/2.dcm", {.change = [&](DcmDataset& data) {
                        for (const char* manufacturer : manufacturers) {
                          DcmItem* item = nullptr;
                          data.findOrCreateSequenceItem(DCM_ContributingEquipmentSequence, item, -2);
                          ASSERT_TRUE(item && item->putAndInsertString(DCM_Manufacturer, manufacturer).good());
                        }
                      }});
  };
  const char* refusal = "patient/2.dcm, which was not made by quietvox";
  scan_with_contributions({});
  expect_refused(Errc::exists, refusal, folder_ / "scans", Kind::folder, true);
  // What another program made of a result of quietvox is no result of quietvox any more.
  scan_with_contributions({"quietvox", "another"});
  expect_refused(Errc::exists, refusal, folder_ / "scans", Kind::folder, true);
  scan_with_contributions({"another", "quietvox"});
  fs::remove(folder_ / "scans/1.dcm");  // of another series
  Output accepted(folder_ / "scans", Kind::folder, true, {});
}

TEST_F(AtomicOutputTest, ForceReplacesALinkAndSparesWhatItPointsTo) {
  put(folder_ / "real.nii", "old");
  fs::create_symlink("real.nii", folder_ / "link.nii");
  Output output(folder_ / "link.nii", Kind::file, true, {});
  put(output.staging(), "new");
  output.commit();
  EXPECT_FALSE(fs::is_symlink(folder_ / "link.nii"));
  EXPECT_EQ(get(folder_ / "link.nii"), "new");
  EXPECT_EQ(get(folder_ / "real.nii"), "old");
}

TEST_F(AtomicOutputTest, OutputsThatBelongTogetherComeTogetherOrNotAtAll) {
  for (const bool existing : {false, true}) {
    SCOPED_TRACE(existing);
    if (existing) {
      put(folder_ / "a.hdr", "old");
      fs::create_directory(folder_ / "series");
      make_result(folder_ / "series/old.dcm");
    }
    const Names before = folder_.names();
    {
      Output header(folder_ / "a.hdr", Kind::file, true, {}), voxels(folder_ / "a.img", Kind::file, true, {});
      Output series(folder_ / "series", Kind::folder, true, {});
      for (const AtomicOutput* output : {&header, &voxels}) put(output->staging(), "new");
      put(series.staging() / "new.dcm", "new");
      fs::create_directory(folder_ / "a.img");  // stands in the way of the last one
      expect_error(Errc::output_path, (folder_ / "a.img").string(), [&] {
        commit_together(std::array<AtomicOutput*, 3>{&header, &series, &voxels});
      });
    }
    fs::remove(folder_ / "a.img");
    EXPECT_EQ(folder_.names(), before);
    if (existing) {
      EXPECT_EQ(get(folder_ / "a.hdr"), "old");
    }
  }
}

TEST_F(AtomicOutputTest, FolderWithForeignFilesThatAppearsMeanwhileIsKept) {
  Output output(folder_ / "series", Kind::folder, true, {});
  fs::create_directory(folder_ / "series");
  put(folder_ / "series/letter.txt", "dear");
  expect_error(Errc::exists, "letter.txt", [&] { output.commit(); });
  EXPECT_EQ(get(folder_ / "series/letter.txt"), "dear");
}

TEST_F(AtomicOutputTest, ErrorsOfTheCommitNameTheTarget) {
  Output output(folder_ / "a.nii", Kind::file, false, {});
  expect_error(Errc::not_writable, (folder_ / "a.nii").string() + ": ", [&] { output.commit(); });
}

TEST_F(AtomicOutputTest, TargetOfAnotherKindIsRefused) {
  put(folder_ / "a.nii", "old");
  fs::create_directory(folder_ / "series");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const bool force : {false, true}) {
    expect_refused(Errc::output_path, "give the name of a file", folder_ / "series", Kind::file, force);
    expect_refused(Errc::output_path, "give the name of a folder", folder_ / "a.nii", Kind::folder, force);
    expect_refused(Errc::output_path, "not a regular file", folder_ / "pipe", Kind::file, force);
    expect_refused(Errc::output_path, "not a regular file", "/dev/null", Kind::file, force);
  }
}

TEST_F(AtomicOutputTest, MissingParentIsRefused) {
  expect_refused(Errc::output_path, "no folder", folder_ / "none/at all/a.nii", Kind::file, false);
  put(folder_ / "file", "");
  expect_refused(Errc::output_path, "no folder", folder_ / "file/a.nii", Kind::file, false);
  expect_refused(Errc::output_path, "cannot name", "", Kind::file, false);
  expect_refused(Errc::output_path, "cannot name", folder_ / "..", Kind::folder, true);
}

TEST_F(AtomicOutputTest, OutputThatIsOrOverlapsTheInputIsRefused) {
  fs::create_directories(folder_ / "in/sub");
  put(folder_ / "in/1.dcm", "scan");
  fs::create_directory_symlink(folder_ / "in", folder_ / "link");
  fs::create_hard_link(folder_ / "in/1.dcm", folder_ / "same.dcm");
  const fs::path in = folder_ / "in";
  expect_refused(Errc::output_path, "is also given as input", in, Kind::folder, true, in);
  expect_refused(Errc::output_path, "is also given as input", folder_ / "in/", Kind::folder, true,
                 folder_ / "in/sub/..");
  expect_refused(Errc::output_path, "is also given as input", folder_ / "link", Kind::folder, true, in);
  expect_refused(Errc::output_path, "is also given as input", folder_ / "same.dcm", Kind::file, true, in / "1.dcm");
  expect_refused(Errc::output_path, "inside the input", in / "out", Kind::folder, false, in);
  expect_refused(Errc::output_path, "inside the input", folder_ / "link/sub/out.dcm", Kind::file, false, in);
  expect_refused(Errc::output_path, "inside the input", in / "sub/out", Kind::folder, false, folder_ / "link");
  expect_refused(Errc::output_path, "inside the output", in, Kind::folder, true, in / "1.dcm");
  Output beside(folder_ / "in-median", Kind::folder, false, in);  // shares the name's beginning only
}

TEST_F(AtomicOutputTest, NamesAloneLieInTheFolderWeAreIn) {
  fs::create_directories(folder_ / "in/sub");
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "in/sub");
  for (const char* in : {".", "..", "./"}) {
    for (const char* out : {"out", "out/"}) {
      expect_refused(Errc::output_path, "inside the input", out, Kind::folder, false, in);
    }
  }
  expect_refused(Errc::output_path, "inside the input", "../out", Kind::folder, false, folder_ / "in");
  fs::current_path(before);
}

TEST_F(AtomicOutputTest, NamesThatAreTooLongAreNamed) {
  expect_refused(Errc::output_path, "too long", folder_ / std::string(300, 'a'), Kind::file, false, folder_ / "in");
  expect_refused(Errc::not_writable, "too long", folder_ / std::string(256, 'a'), Kind::file, false);
}

TEST_F(AtomicOutputTest, TheLongestNamesThatAFileSystemKnowsAreWritten) {
  std::string letters;
  for (int i = 0; i < 124; ++i) letters += "\u00e4";
  for (const std::string& name : {letters + "aaa.nii", "a" + letters + "aa.nii", std::string(251, 'a') + ".nii"}) {
    ASSERT_EQ(name.size(), 255U);
    for (const bool force : {false, true}) {
      Output output(folder_ / name, Kind::file, force, {});
      put(output.staging(), "new");
      output.commit();
    }
    EXPECT_EQ(folder_.names(), Names{name});
    fs::remove(folder_ / name);
  }
}

/// As where it holds a folder of another user.
TEST_F(AtomicOutputTest, WhatCannotBeRemovedOfWhatWasReplacedIsToldOf) {
  constexpr uid_t nobody = 65534;
  if (geteuid() != 0 || seteuid(nobody) != 0) GTEST_SKIP() << "only root can make files of another user";
  ASSERT_EQ(seteuid(0), 0);
  fs::permissions(folder_.path(), static_cast<fs::perms>(0777));
  fs::create_directories(folder_ / "all/of-root");
  make_result(folder_ / "all/of-root/1.dcm");
  ASSERT_EQ(chown((folder_ / "all").c_str(), nobody, nobody), 0);
  fs::permissions(folder_ / "all/of-root/1.dcm", static_cast<fs::perms>(0644));
  std::vector<std::string> notes;
  ASSERT_EQ(seteuid(nobody), 0);
  {
    Output output(folder_ / "all", Kind::folder, true, {});
    put(output.staging() / "1.dcm", "new");
    EXPECT_NO_THROW(output.commit(
        {.threads = 1, .memory_limit = {}, .note = [&](const std::string& line) { notes.push_back(line); }}));
  }
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(get(folder_ / "all/1.dcm"), "new");
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("all: what it replaced cannot be removed"), std::string::npos) << notes[0];
  EXPECT_NE(notes[0].find(".part"), std::string::npos) << notes[0];
}

/// What is made in a folder that may not be read cannot be synced.
TEST_F(AtomicOutputTest, AParentThatIsReadOnlyOrMayNotBeReadIsRefused) {
  constexpr uid_t nobody = 65534;
  const bool is_root = geteuid() == 0;  // who may write everywhere
  if (is_root && seteuid(nobody) != 0) GTEST_SKIP() << "root may write everywhere";
  for (const int mode : {0555, 0333}) {
    if (is_root) {
      ASSERT_EQ(seteuid(0), 0);
    }
    fs::permissions(folder_.path(), static_cast<fs::perms>(mode));
    if (is_root) {
      ASSERT_EQ(seteuid(nobody), 0);
    }
    for (const Kind kind : {Kind::file, Kind::folder}) {
      expect_error(Errc::not_writable, "its folder must be readable and writable: Permission denied",
                   [&] { AtomicOutput(folder_ / "a", kind, false, {}); });
    }
  }
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(folder_.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace quietvox::io
