// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Files made to make a run crash, hang or fill the memory: it ends, soon, with one line and the status for bad input.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/deflated.hpp"
#include "support/make_dicom.hpp"
#include "support/raw_dicom.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;

const bool is_plain = std::string(QUIETVOX_SANITIZE).empty();  // sanitizers take memory of their own

/// While it lives, programs are started with so small a stack.
class SmallStack {
 public:
  SmallStack() {
    getrlimit(RLIMIT_STACK, &before_);
    rlimit small = before_;
    small.rlim_cur = std::size_t{512} << 10;
    setrlimit(RLIMIT_STACK, &small);
  }
  ~SmallStack() { setrlimit(RLIMIT_STACK, &before_); }
  SmallStack(const SmallStack&) = delete;
  SmallStack& operator=(const SmallStack&) = delete;

 private:
  rlimit before_{};
};

class Limits : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const RawDicom& file) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, file.bytes());
  }

  /// Runs a command that is to fail so, and say so in one line.
  void expect_failure(int status, const std::string& text, const std::vector<std::string>& words, int lines = 1) const {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    SCOPED_TRACE(line);
    const Result result = quietvox(words);
    EXPECT_EQ(result.status, status);
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err.substr(0, 2000);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), lines) << result.err.substr(0, 2000);
  }

  TemporaryFolder folder_;
};

TEST_F(Limits, NestedSequencesOverflowNoStack) {
  const SmallStack small;
  write("in/1.dcm", {.before_series = nested_sequences(0x0008, 0x1140, 10000)});
  write("good.dcm", {});
  fs::create_directories(folder_ / "out");
  fs::copy(folder_ / "in/1.dcm", folder_ / "out/1.dcm");
  const std::string text = "sequences are nested more than 64 deep";
  for (const std::string input : {"in", "in/1.dcm"}) {
    for (const std::string command : {"info", "estimate"}) expect_failure(4, text, {command, path(input)});
    expect_failure(4, text, {"compare", path(input), path("good.dcm")});
    expect_failure(4, text, {"compare", path("good.dcm"), path(input)});
    for (const std::string command : {"median", "nlm"}) {
      expect_failure(4, text, {command, path(input), path("o.nii")});
      expect_failure(4, text, {command, path(input), path("o"), "--dry-run"});
    }
    expect_failure(4, text, {"run", path(input), path("o"), "--filter", "median"});
    expect_failure(4, text, {"median", path("good.dcm"), path("o.nii"), "--mask", path(input)});
    expect_failure(4, text, {"add-noise", path(input), path("o.nii"), "--amount", "3"});
    expect_failure(4, text, {"train-quadratic", path(input), path("good.dcm"), path("q.json")});
  }
  expect_failure(4, text, {"median", path("in"), path("all"), "--all-series"}, 2);
  write("series/1.dcm", {});
  expect_failure(20, "out", {"median", path("series"), path("out"), "--force"});
}

TEST_F(Limits, ZerosWithoutEndKeepNoFolderFromBeingRead) {
  write("in/1.dcm", {});
  write_file(folder_ / "in/zeros.dcm", RawDicom().bytes().substr(0, 132));
  fs::resize_file(folder_ / "in/zeros.dcm", std::uintmax_t{1} << 40);
  for (const std::string command : {"info", "estimate"}) {
    expect_failure(4, "zeros.dcm: broken DICOM file", {command, path("in/zeros.dcm")});
  }
  const Result result = quietvox_ok({"median", path("in"), path("out.dcm")});
  EXPECT_NE(result.err.find("zeros.dcm: nothing but zeros"), std::string::npos) << result.err;
  quietvox_ok({"median", path("in"), path("all"), "--all-series"});
}

TEST_F(Limits, NestedFoldersOverflowNoStack) {
  const SmallStack small;
  fs::path deepest = folder_ / "in";
  for (fs::create_directory(deepest); deepest.native().size() < 3600; fs::create_directory(deepest)) deepest /= "a";
  write_file(deepest / "1.dcm", RawDicom().bytes());
  quietvox_ok({"info", path("in")});
  write_file(deepest / "2.dcm", RawDicom({.before_series = nested_sequences(0x0008, 0x1140, 100)}).bytes());
  expect_failure(4, "nested", {"info", path("in")});
}

/// Folders one in the other, so deep that no path leads to the last one.
void make_deep(const fs::path& folder) {
  constexpr int depth = 400;
  const std::string name(200, 'a');
  fs::create_directory(folder);
  int here = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < depth; ++i) {
    ASSERT_EQ(mkdirat(here, name.c_str(), 0700), 0);
    const int next = openat(here, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(here);
    here = next;
  }
  ASSERT_GE(here, 0);
  close(openat(here, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  close(here);
}

TEST_F(Limits, FoldersNestedWithoutEndAreNeitherReplacedNorLeft) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{256, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  write("in.dcm", {});
  write("in/1.dcm", {});
  quietvox_ok({"median", path("in"), path("out")});
  make_deep(folder_ / "out/deep");
  expect_failure(20, "which was not made by quietvox", {"median", path("in"), path("out"), "--force"});
  // As an unpacked archive may hold it: named as an unfinished output.
  const fs::path staging = folder_ / "results/.quietvox-0123456789abcdef.part";
  fs::create_directory(folder_ / "results");
  fs::rename(folder_ / "out/deep", staging);
  fs::permissions(staging, fs::perms::owner_all);
  write_file(staging / "0123456789abcdef.lock", "");
  fs::permissions(staging / std::string(200, 'a'), fs::perms::none);
  quietvox_ok({"median", path("in.dcm"), path("results/out.dcm")});
  EXPECT_EQ(TemporaryFolder::names_in(folder_ / "results"), std::vector<std::string>{"out.dcm"});
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(Limits, NestedJsonOverflowsNoStack) {
  const SmallStack small;
  write("good.dcm", {});
  for (const std::string begin : {"[", "{\"a\":", "{\"provenance\":["}) {
    std::string deep = "{\"size\":";
    for (int i = 0; i < 50000; ++i) deep += begin;  // 1 MiB at most
    write_file(folder_ / "q.json", deep);
    expect_failure(4, "nested", {"quadratic", path("good.dcm"), path("o.nii"), "--coefficients", path("q.json")});
    write_file(folder_ / "j.json", deep);
    expect_failure(20, "j.json", {"median", path("good.dcm"), path("j.nii"), "--force"});
  }
  write_file(folder_ / "big.json", std::string(1, '"').append(std::size_t{64} << 20, 'x').append("\""));
  expect_failure(4, "big.json", {"quadratic", path("good.dcm"), path("o.nii"), "--coefficients", path("big.json")});
}

/// It is looked at only to see whether it may be replaced.
TEST_F(Limits, JsonBesideAnOutputTakesLittleMemory) {
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, random_integers(512, 1), 1, true);
  {
    std::string json = "{\"quietvox\": \"1\"";
    for (int i = 0; i < 4000000; ++i) json.append(",\"").append(std::to_string(i)).append("\":1");
    write_file(folder_ / "o.json", json);
  }
  const Result result = quietvox({"median", path("in.nii"), path("o.nii"), "--force"});
  EXPECT_EQ(result.status, 0) << result.err;  // as far as anybody reads it, it is of quietvox
  if (is_plain) {
    EXPECT_LT(result.peak_kib, 200 << 10);
  }
}

/// Eight times as many take eight times as long at most; by the square of their number it would be 64 times.
TEST_F(Limits, CoefficientsOfManyEntriesTakeLittleTime) {
  write("good.dcm", {});
  for (const std::string begin : {"{\"size\":3", "{\"size\":{\"a\":3"}) {
    const auto time_of = [&](int entries) {
      std::string json = begin;
      for (int i = 0; i < entries; ++i) json.append(",\"").append(std::to_string(i)).append("\":1");
      write_file(folder_ / "q.json", json + (begin.size() > 10 ? "}}" : "}"));
      const auto start = std::chrono::steady_clock::now();
      expect_failure(4, "q.json: ", {"quadratic", path("good.dcm"), path("o.nii"), "--coefficients", path("q.json")});
      return std::chrono::steady_clock::now() - start;
    };
    const auto few = time_of(10000);
    EXPECT_LT(time_of(80000), 24 * few);
  }
}

TEST_F(Limits, SmallFilesTakeLittleMemory) {
  constexpr long most_kib = 400 << 10;
  write("frames.dcm", {.columns = 1, .rows = 1, .frames = 4000000});
  {  // let go before a process is forked, whose peak it would be
    RawDicom deflated{.before_series = raw_element(0x0009, 0x1010, "OB", std::string(std::size_t{512} << 20, '\0'))};
    deflated.is_deflated = true;
    write("deflated.dcm", deflated);
  }
  for (const std::string input : {"frames.dcm", "deflated.dcm"}) {
    for (const std::vector<std::string>& words :
         {std::vector{std::string("info"), path(input)}, {"median", path(input), path("out.dcm")}}) {
      const Result result = quietvox(words);
      EXPECT_EQ(result.status, 4) << result.err;
      EXPECT_NE(result.err.find(input), std::string::npos) << result.err;
      if (is_plain) {
        EXPECT_LT(result.peak_kib, most_kib) << input;
      }
    }
  }
}

/// That of the input, and that of the output while it is made, or while it is read back.
TEST_F(Limits, AtMostTwoHeadersOfManyElementsAreInMemory) {
  write_dicom(folder_ / "in.dcm", {.change = [](DcmDataset& data) {
                constexpr int group_size = 0x8000, groups = 10;
                for (int i = 0; i < groups * group_size; ++i) {
                  const DcmTagKey key(static_cast<Uint16>(0x0029 + 2 * (i / group_size)),
                                      static_cast<Uint16>(0x1000 + i % group_size));
                  data.insert(new DcmLongString(DcmTag(key, EVR_LO)));
                }
              }});
  const auto reading = static_cast<double>(quietvox_ok({"info", path("in.dcm")}).peak_kib);
  const auto writing = static_cast<double>(quietvox_ok({"median", path("in.dcm"), path("out.dcm")}).peak_kib);
  if (is_plain) {
    EXPECT_LT(writing, 2.15 * reading) << reading << " KiB";
  }
}

TEST_F(Limits, MemoryThatThereIsNotIsNoFaultOfTheFile) {
  if (!std::string(QUIETVOX_SANITIZE).empty()) {
    GTEST_SKIP() << "a sanitizer takes more address space than any limit leaves";
  }
  RawDicom file{.columns = 8, .rows = 8};
  file.before_pixels = raw_element(0x0029, 0x1010, "OB", std::string(std::size_t{400} << 20, '\0'));
  write("in.dcm", file);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit small{std::size_t{300} << 20, before.rlim_max};
  const auto status_of = [&](const std::vector<std::string>& arguments) {
    setrlimit(RLIMIT_AS, &small);
    Process process(arguments);
    setrlimit(RLIMIT_AS, &before);
    return process.finish().status;
  };
  EXPECT_EQ(status_of({"info", path("in.dcm")}), 0);  // which leaves on disk what it does not need
  EXPECT_EQ(status_of({"median", path("in.dcm"), path("out.dcm")}), 22);
}

/// A terabyte behind what is needed, which takes no place on the disk.
TEST_F(Limits, FilesMuchLargerThanTheirVoxelsAreRefused) {
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, random_integers(512, 1), 1, true);
  for (const char* name : {"in.nii.gz", "in.hdr", "in.nrrd", "in.mha", "in.mhd"}) {
    quietvox_ok({"median", path("in.nii"), path(name)});
    fs::remove(folder_ / "in.json");
  }
  std::string text = "NRRD0004\ntype: short\ndimension: 3\nsizes: 8 8 8\nencoding: text\n\n";
  for (int i = 0; i < 512; ++i) text += "1 ";
  write_file(folder_ / "text.nrrd", text);
  const std::map<std::string, std::string> opened_by{{"in.img", "in.hdr"}, {"in.raw", "in.mhd"}};
  for (const std::string name :
       {"in.nii", "in.nii.gz", "in.hdr", "in.img", "in.nrrd", "in.mha", "in.mhd", "in.raw", "text.nrrd"}) {
    const auto size = fs::file_size(folder_ / name);
    fs::resize_file(folder_ / name, std::uintmax_t{1} << 40);
    const std::string opened = opened_by.contains(name) ? opened_by.at(name) : name;
    for (const std::string command : {"info", "estimate"}) {
      expect_failure(4, name + ": a file of 1048576 MiB for ", {command, path(opened)});
    }
    expect_failure(4, name + ": a file of 1048576 MiB for ", {"median", path(opened), path("out.mha")});
    fs::resize_file(folder_ / name, size);
  }
}

/// A file of 180 GB that takes no place on the disk.
TEST_F(Limits, VolumesThatAreNeededWholeMustFit) {
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, random_integers(512, 1), 1, true);
  std::string bytes = read_file(folder_ / "in.nii").substr(0, 352);
  const std::int16_t extent[] = {30000, 1000, 3000};
  bytes.replace(42, sizeof extent, reinterpret_cast<const char*>(extent), sizeof extent);
  write_file(folder_ / "in.nii", bytes);
  fs::resize_file(folder_ / "in.nii", 352 + std::uintmax_t{180'000'000'000});
  const std::string text = "the volume, which is needed whole, would take 343323 MiB of memory";
  expect_failure(22, text, {"compare", path("in.nii"), path("in.nii")});
  expect_failure(22, text, {"train-quadratic", path("in.nii"), path("in.nii"), path("q.json")});
}

/// ITK unpacks bzip2 at once; so few bytes could hold so many voxels.
TEST_F(Limits, VoxelsThatItkReadsWholeMustFit) {
  write_file(folder_ / "in.nrrd",
             "NRRD0004\ntype: short\ndimension: 3\nsizes: 1000 1000 1000\nencoding: bzip2\nendian: little\n\n" +
                 std::string(50000, '\1'));
  const std::string text = "in.nrrd: its voxels would take 1908 MiB of memory or more; a file of its size may take ";
  expect_failure(4, text, {"info", path("in.nrrd")});
  expect_failure(4, text, {"median", path("in.nrrd"), path("out.nii")});
}

TEST_F(Limits, WhatFollowsTheVoxelsOfAFileIsNotUnpackedForEver) {
  write_nifti(folder_ / "in.nii", {{8, 8, 8}}, random_integers(512, 1), 1, true);
  std::string packed = deflated(read_file(folder_ / "in.nii"), MAX_WBITS + 16);
  const std::string member = deflated(std::string(std::size_t{16} << 20, '\0'), MAX_WBITS + 16);
  for (int i = 0; i < 300; ++i) packed += member;  // 5 GB
  write_file(folder_ / "in.nii.gz", packed);
  quietvox_ok({"info", path("in.nii.gz")});
  expect_failure(4, "in.nii.gz: more than 268435456 bytes in it are not voxels",
                 {"median", path("in.nii.gz"), path("out.nii.gz")});
  fs::remove(folder_ / "in.nii.gz");
  fs::resize_file(folder_ / "in.nii", std::uintmax_t{400} << 20);  // which takes no place on the disk
  expect_failure(4, "in.nii: more than 268435456 bytes in it are not voxels",
                 {"median", path("in.nii"), path("out.nii")});
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii"});
}

/// A parser that does not return for half a minute, and would be told nothing then.
TEST_F(Limits, SignalsEndWhatDoesNotReturn) {
  write("in/keeps-the-parser", {});
  const auto before = folder_.names();
  const Environment preload(fault_variables());
  for (const int signal : {SIGTERM, SIGINT}) {
    Process process({"median", path("in"), path("out.dcm"), "--log-file", path("log"), "--verbose"});
    for (int waits = 0; waits < 5000 && !fs::exists(folder_ / "log"); ++waits) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const auto sent = std::chrono::steady_clock::now();
    process.send(signal);
    const Result result = process.finish();
    EXPECT_EQ(result.status, 128 + signal) << result.err;
    EXPECT_NE(result.err.find("quietvox: stopped by a signal"), std::string::npos) << result.err;
    EXPECT_LT(std::chrono::steady_clock::now() - sent, std::chrono::seconds(10));
    fs::remove(folder_ / "log");
    EXPECT_EQ(folder_.names(), before);
  }
}

/// ITK reads text whole, and does not ask whether it is to go on.
TEST_F(Limits, SignalsEndWhatOthersParse) {
  std::string text = "NRRD0004\ntype: short\ndimension: 3\nsizes: 200 200 200\nencoding: ascii\n\n";
  for (int i = 0; i < 200 * 200 * 200; ++i) text += i % 100 ? "1 " : "1\n";
  write_file(folder_ / "in.nrrd", text);
  const auto before = folder_.names();
  for (const std::vector<std::string>& words :
       {std::vector{std::string("info"), path("in.nrrd")}, {"median", path("in.nrrd"), path("out/o.nrrd")}}) {
    const auto start = std::chrono::steady_clock::now();
    const Result whole = Process(words).finish();
    EXPECT_EQ(whole.status, 0) << whole.err;
    const std::chrono::duration<double> whole_run = std::chrono::steady_clock::now() - start;
    fs::remove_all(folder_ / "out");
    Process process(words);
    std::this_thread::sleep_for(whole_run / 4);
    process.send(SIGTERM);
    const auto sent = std::chrono::steady_clock::now();
    const Result result = process.finish();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - sent;
    EXPECT_EQ(result.status, 128 + SIGTERM) << result.err;
    EXPECT_NE(result.err.find("quietvox: stopped by a signal"), std::string::npos) << result.err;
    EXPECT_LT(waited.count(), std::max(1.0, whole_run.count() / 2)) << "of " << whole_run.count() << " s";
    fs::remove(folder_ / "out");  // a folder that a run made and could not remove again
    EXPECT_EQ(folder_.names(), before);
  }
}

}  // namespace
}  // namespace quietvox::test
