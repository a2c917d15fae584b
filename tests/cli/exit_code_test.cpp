// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"

namespace quietvox::test {
namespace {

/// The largest file that this process and those that it starts may write, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

/// One row of the table of exit statuses: the command fails with one line on stderr, says nothing on stdout, and
/// leaves the folder as it was.
class ExitCode : public ::testing::Test {
 protected:
  void SetUp() override { write_nifti(folder_ / "in.nii", {{8, 8, 8}}, random_integers(512, 1)); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  void expect(int status, const std::vector<std::string>& arguments, const std::string& text) {
    const auto before = contents(folder_.path());
    expect(status, quietvox(arguments), text);
    EXPECT_EQ(contents(folder_.path()), before);
  }
  static void expect(int status, const Result& result, const std::string& text) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(result.err.starts_with("quietvox: ")) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }

  TemporaryFolder folder_;
};

TEST_F(ExitCode, Done0) {
  const Result result = quietvox({"median", path("in.nii"), path("out.nii")});
  EXPECT_EQ(result.status, 0) << result.err;
}

TEST_F(ExitCode, ResultThatCannotBePrinted1) {
  EXPECT_EQ(Process({"filters"}, "/dev/full").finish().status, 1);
  EXPECT_EQ(Process({"--help"}, "/dev/full").finish().status, 1);
  EXPECT_EQ(Process({"compare", path("in.nii"), path("in.nii")}, "/dev/full").finish().status, 1);
}

/// Files that a run opens must not become the streams that its caller closed.
TEST_F(ExitCode, ClosedStreamsHarmNothing) {
  std::filesystem::create_directory(folder_ / "in");
  write_dicom(folder_ / "in/a.dcm", {});
  const auto before = folder_.names();
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    const std::string program = QUIETVOX_BINARY_DIR "/bin/quietvox median ";
    EXPECT_EQ(std::system((program + path("in") + " " + path("out") + " " + closed).c_str()), 0);
    EXPECT_EQ(std::system((program + path("in") + " " + path("out") + " --force " + closed).c_str()), 0);
    const std::string log = " --log-file " + path("log");
    EXPECT_EQ(std::system((QUIETVOX_BINARY_DIR "/bin/quietvox info " + path("in") + log + " " + closed).c_str()) != 0,
              (" " + closed).find(" >") != std::string::npos);
    EXPECT_EQ(read_file(folder_ / "log").find("modality"), std::string::npos);
    std::filesystem::remove(folder_ / "log");
    EXPECT_EQ(std::filesystem::remove_all(folder_ / "out"), 2U);
    EXPECT_EQ(folder_.names(), before);
  }
}

/// A pipe that holds less than the result, and is closed once some of it is there: what `head` does.
TEST_F(ExitCode, NobodyReadsTheResult141) {
  const std::filesystem::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(fcntl(reader, F_SETPIPE_SZ, 4096), 4096);
  Process process({"filters", "--markdown"}, pipe);
  pollfd some{reader, POLLIN, 0};
  ASSERT_EQ(poll(&some, 1, -1), 1);
  close(reader);
  const Result result = process.finish();
  EXPECT_EQ(result.status, 141);
  EXPECT_EQ(result.err, "");
}

TEST_F(ExitCode, NoInput2) {
  write_file(folder_ / "text.txt", "This is no image.\n");
  write_file(folder_ / "empty.nii", "");
  std::filesystem::create_directory(folder_ / "empty");
  expect(2, {"median", path("text.txt"), path("out.nii")}, "text.txt");
  expect(2, {"median", path("empty"), path("out")}, "empty");
  const std::string no_utf8(200, '\xbf');
  expect(5, {"median", no_utf8 + "/" + no_utf8 + "/in.nii", path("out.nii")}, "no such file or folder");
  expect(2, {"info", path("text.txt")}, "text.txt");
  std::filesystem::create_directory(folder_ / "report");
  write_dicom(folder_ / "report/a.dcm", {.more = {{DCM_SOPClassUID, UID_BasicTextSRStorage}}});
  for (const char* name : {"report", "report/a.dcm"}) {
    expect(2, {"median", path(name), path("out")}, ": holds no DICOM image; skipped a.dcm: a structured report");
  }
}

TEST_F(ExitCode, CorruptInput4) {
  write_file(folder_ / "short.nii", read_file(folder_ / "in.nii").substr(0, 500));
  expect(4, {"median", path("short.nii"), path("out.nii")}, "short.nii");
  expect(4, {"info", path("short.nii")}, "short.nii");
}

TEST_F(ExitCode, InputPath5) {
  expect(5, {"median", path("nothing.nii"), path("out.nii")}, "nothing.nii: no such file");
  expect(5, {"median", path("in.nii"), path("out.nii"), "--mask", path("no-mask.nii")}, "no-mask.nii");
  expect(5, {"median", path(std::string(300, 'n')), path("out.nii")}, "nnn: cannot be examined: ");
  expect(5, {"info", path("nothing.nii")}, "nothing.nii");
  expect(5, {"compare", path("in.nii"), path("nothing.nii")}, "nothing.nii");
  expect(5, {"add-noise", path("nothing.nii"), path("out.nii")}, "nothing.nii");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string pipe = "/dev/fd/" + std::to_string(ends[0]), message = pipe + ": is neither a file nor a folder";
  expect(5, {"median", pipe, path("out.nii")}, message);
  expect(5, {"median", path("in.nii"), path("out.nii"), "--mask", pipe}, message);
  expect(5, {"info", pipe}, message);
  expect(5, {"compare", path("in.nii"), pipe, "--picture", path("a.png")}, message);
  expect(5, {"train-quadratic", path("in.nii"), pipe, path("c.json")}, message);
  expect(5, {"train-quadratic", pipe, path("in.nii"), path("c.json")}, message);
  for (const int end : ends) close(end);
}

TEST_F(ExitCode, OutputPath6) {
  expect(6, {"median", path("in.nii"), path("no/such/out.nii")}, "there is no folder");
  expect(6, {"median", path("in.nii"), path("in.nii")}, "is also given as input");
  write_dicom(folder_ / "in.dcm", {});
  expect(6, {"median", path("in.dcm"), path("out/")}, "give the name of a file");
  expect(6, {"phantom", path("no/such/out.nii")}, "there is no folder");
  expect(6, {"compare", path("in.nii"), path("in.nii"), "--picture", path("no/such/a.png")}, "there is no folder");
}

TEST_F(ExitCode, NotWritable7) {
  expect(7, {"median", path("in.nii"), "/proc/quietvox.nii"}, "/proc/quietvox.nii");
  expect(7, {"median", path("in.nii"), path("out.nii"), "--log-file", "/proc/quietvox.log"}, "--log-file");
}

TEST_F(ExitCode, FilesLargerThanTheLimitOfTheSystemAreNotWritable) {
  const std::string in = path("large.nii"), series = path("series");
  quietvox_ok({"phantom", in, "--size", "256x256x2", "--noise", "gaussian:20"});
  quietvox_ok({"phantom", series, "--size", "256x256x2"});
  const FileSizeLimit limit(64 << 10);
  for (const std::string output : {"out.nii", "out.nii.gz", "out.nrrd", "out.mha"}) {
    expect(7, {"median", in, path(output), "--radius", "0"}, path(output) + ": ");
  }
  expect(7, {"median", series, path("out"), "--radius", "0"}, path("out") + ": ");
  expect(7, {"phantom", path("out"), "--size", "256x256x2"}, path("out"));
}

TEST_F(ExitCode, OutputExists20) {
  write_file(folder_ / "out.nii", "precious");
  write_file(folder_ / "out.png", "precious");
  expect(20, {"median", path("in.nii"), path("out.nii")}, "--force");
  expect(20, {"median", path("in.nii"), path("new.nii"), "--residual", path("out.nii")}, "--force");
  expect(20, {"add-noise", path("in.nii"), path("out.nii")}, "--force");
  expect(20, {"phantom", path("out.nii")}, "--force");
  expect(20, {"compare", path("in.nii"), path("in.nii"), "--picture", path("out.png")}, "--force");
}

TEST_F(ExitCode, OutputExistsIsFoundBeforeTheInputIsOpened) {
  write_file(folder_ / "broken.nii", read_file(folder_ / "in.nii").substr(0, 500));
  write_file(folder_ / "out.nii", "precious");
  expect(20, {"median", path("broken.nii"), path("out.nii")}, "--force");
}

TEST_F(ExitCode, NoDevice21) { expect(21, {"median", path("in.nii"), path("out.nii"), "--backend", "cuda:4000"}, ""); }

TEST_F(ExitCode, OutOfMemory22) {
  expect(22, {"median", path("in.nii"), path("out.nii"), "--memory-limit", "1"}, "--memory-limit");
  expect(22, {"median", path("in.nii"), path("out.nii"), "--memory-limit", "1", "--dry-run"}, "--memory-limit");
  expect(22, {"phantom", path("huge.nii"), "--size", "8192x8192x8192"}, "the phantom would take");
}

/// As with `ulimit -u`: the first thread waits for signals, others read, filter and write.
TEST_F(ExitCode, NoMoreThreads22) {
  const std::string text = "the system gives no more threads";
  // Where oneTBB throws on a thread of its own, the process ends at once, without waiting for the threads that it has.
  const char* const options = std::getenv("TSAN_OPTIONS");
  const std::string no_leaks = std::string(options ? options : "") + ":report_thread_leaks=0";
  for (int threads = 0; threads < 8; ++threads) {
    for (const bool with_json : {false, true}) {
      SCOPED_TRACE(std::to_string(threads) + (with_json ? ", JSON" : ""));
      const Environment limit(
          fault_variables({{"QUIETVOX_TEST_THREADS", std::to_string(threads)}, {"TSAN_OPTIONS", no_leaks}}));
      std::vector<std::string> words{"median", path("in.nii"), path("out.nii.gz"), "--threads", "8"};
      if (with_json) words.emplace_back("--json");
      Result result = quietvox(words);
      if (threads == 0 || result.status != 0) {
        if (with_json) {
          EXPECT_EQ(nlohmann::json::parse(std::exchange(result.out, ""))["error"]["status"], 22);
        }
        expect(22, result, text);
      } else {
        for (const char* const made : {"out.nii.gz", "out.json"}) EXPECT_TRUE(std::filesystem::remove(folder_ / made));
      }
      EXPECT_EQ(folder_.names(), std::vector<std::string>{"in.nii"});
    }
  }
}

TEST_F(ExitCode, Usage64) { expect(64, {"median", path("in.nii"), path("out.nii"), "--radius", "x"}, "--radius"); }

}  // namespace
}  // namespace quietvox::test
