// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/process.hpp"
#include "support/make_dicom.hpp"

namespace quietvox::test {
namespace {

/// Long enough to be interrupted: a window of 15^3 voxels.
std::vector<std::string> long_run(const TemporaryFolder& folder, const std::string& output) {
  return {"bilateral",
          (folder / "in.nii").string(),
          (folder / output).string(),
          "--radius",
          "7",
          "--domain-sigma",
          "9",
          "--range-sigma",
          "40",
          "--progress",
          "json",
          "--residual",
          (folder / "residual.nii").string()};
}

/// Stopped while it works: the status says which signal came, one line says so, and nothing is left behind.
TEST(Signals, WhileFilteringLeaveNothing) {
  TemporaryFolder folder;
  quietvox_ok({"phantom", (folder / "in.nii").string(), "--size", "128x128x64", "--noise", "gaussian:20"});
  const auto before = folder.names();
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const std::string output : {"out.nii", "out.nii.gz", "out.nrrd"}) {
      Process process(long_run(folder, output));
      ASSERT_TRUE(process.wait_for_stderr("progress"));
      process.send(signal);
      const Result result = process.finish();
      EXPECT_EQ(result.signal, signal) << result.err;  // by the signal itself: a loop of a shell ends too
      EXPECT_EQ(result.out, "");
      EXPECT_NE(result.err.find("quietvox: stopped by a signal"), std::string::npos) << result.err;
      EXPECT_EQ(folder.names(), before);
    }
  }
}

/// At whatever moment the signal comes, the outputs are there whole or not at all.
TEST(Signals, AtAnyMomentLeaveAllOrNothing) {
  TemporaryFolder folder;
  quietvox_ok({"phantom", (folder / "in.nii").string(), "--size", "64x64x64", "--noise", "gaussian:20"});
  quietvox_ok({"median", (folder / "in.nii").string(), (folder / "whole.nii").string()});
  const std::string whole = read_file(folder / "whole.nii");
  std::filesystem::remove(folder / "whole.nii");
  const auto before = folder.names();
  for (int milliseconds = 0; milliseconds <= 60; milliseconds += 3) {
    Process process({"median", (folder / "in.nii").string(), (folder / "out.nii").string()});
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.send(SIGTERM);
    const Result result = process.finish();
    if (result.status == 0) {
      EXPECT_EQ(read_file(folder / "out.nii"), whole);
      std::filesystem::remove_all(folder / "out.nii");
      std::filesystem::remove_all(folder / "out.json");
    } else {
      EXPECT_EQ(result.status, 128 + SIGTERM) << result.err;
    }
    EXPECT_EQ(folder.names(), before) << milliseconds << " ms, status " << result.status;
  }
}

/// Signals without a handler do not end the first process of a container. It ends with the status that shells give.
TEST(Signals, EndTheFirstProcessToo) {
  if (std::system("unshare -rpf true 2>/dev/null") != 0) {
    GTEST_SKIP() << "unshare is not installed, or may make no namespaces here";
  }
  TemporaryFolder folder;
  quietvox_ok({"phantom", (folder / "in.nii").string(), "--size", "128x128x64", "--noise", "gaussian:20"});
  write_dicom(folder / "keeps-the-parser", {});
  const auto before = folder.names();
  const Environment preload(fault_variables());
  const std::string log = (folder / "log").string();
  const std::vector<std::string> parsing{"median", (folder / "keeps-the-parser").string(), (folder / "o.dcm").string()};
  for (const std::vector<std::string>& words : {long_run(folder, "out.nii"), parsing}) {
    const TemporaryFolder streams;
    const std::string errors = (streams / "err").string();
    // Leaks cannot be looked for where /proc shows another namespace.
    std::string command = "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 unshare -rpf " QUIETVOX_BINARY_DIR "/bin/quietvox";
    for (const std::string& word : words) command += " " + word;
    command += " --verbose --log-file " + log + " 2>" + errors + " & run=$!; waits=0; ";
    command += "while [ ! -e " + log + " ] && [ $waits -lt 1000 ]; do sleep 0.01; waits=$((waits + 1)); done; ";
    command += "sleep 0.3; kill -TERM $(cat /proc/$run/task/$run/children); wait $run";
    SCOPED_TRACE(command);
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 128 + SIGTERM);
    EXPECT_NE(read_file(errors).find("quietvox: stopped by a signal"), std::string::npos) << read_file(errors);
    std::filesystem::remove(log);
    EXPECT_EQ(folder.names(), before);
  }
}

}  // namespace
}  // namespace quietvox::test
