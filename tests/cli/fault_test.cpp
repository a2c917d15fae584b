// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs that are ended by force, at any moment.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/make_dicom.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A command, `in` and `out` in its words standing for folders, and what it writes, the first of which appears last.
struct Scenario {
  const char* name;
  std::vector<std::string> words;
  std::vector<std::string> outputs;
  bool replaces = false;  ///< what an earlier run wrote
};

const std::vector<Scenario> scenarios{
    {"one file", {"median", "in/a.nii", "out/b.nii"}, {"b.nii", "b.json"}},
    {"compressed, with a residual",
     {"gaussian", "in/a.nii", "out/b.nii.gz", "--residual", "out/r.nii"},
     {"b.nii.gz", "b.json", "r.nii", "r.json"}},
    {"a pair of files", {"median", "in/a.nii", "out/b.hdr"}, {"b.hdr", "b.img", "b.json"}},
    {"written by ITK", {"median", "in/a.nii", "out/b.mhd"}, {"b.mhd", "b.raw", "b.json"}},
    {"a file replaced", {"gaussian", "in/a.nii", "out/b.nii", "--force"}, {"b.nii", "b.json"}, true},
    {"a series", {"median", "in/ct", "out/ct"}, {"ct"}},
    {"a compressed series", {"median", "in/ct", "out/ct", "--codec", "rle"}, {"ct"}},
    {"a series replaced", {"gaussian", "in/ct", "out/ct", "--force"}, {"ct"}, true},
    {"several series", {"median", "in/both", "out/all", "--all-series", "--force"}, {"all"}},
};

/// What stands in a file or folder: for DICOM its voxels, as the rest tells the time of the run.
std::map<std::string, std::string> content_of(const fs::path& path) {
  std::map<std::string, std::string> content;
  if (!fs::is_directory(path)) return {{"", read_file(path)}};
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const auto voxels = read_voxels(entry.path());
    content[entry.path().lexically_relative(path).string()] =
        std::string(reinterpret_cast<const char*>(voxels.data()), voxels.size() * sizeof(float));
  }
  return content;
}

class Faults : public ::testing::Test {
 protected:
  void SetUp() override {
    // A killed run may leave a worker behind, which then belongs to this process.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const char* name : {"in", "in/both", "out"}) fs::create_directory(folder_ / name);
    quietvox_ok({"phantom", path("in/a.nii"), "--size", "48x48x32", "--noise", "gaussian:20"});
    quietvox_ok({"phantom", path("in/ct"), "--size", "64x64x12", "--noise", "gaussian:20"});
    for (int z = 0; z < 4; ++z) {
      for (const char* series : {"1.2.3.1", "1.2.3.2"}) {
        write_dicom(folder_ / "in/both" / (series + std::to_string(z)),
                    {.columns = 32, .rows = 32, .position = {0, 0, 1.0 * z}, .series = series});
      }
    }
    before_ = contents(folder_ / "in");
  }
  void TearDown() override { EXPECT_EQ(contents(folder_ / "in"), before_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> words_of(const Scenario& scenario) const {
    std::vector<std::string> words = scenario.words;
    for (std::string& word : words) {
      if (word.starts_with("in/") || word.starts_with("out/")) word = path(word);
    }
    words.insert(words.end(), {"--progress", "none"});
    return words;
  }

  void empty_out() const {
    fs::remove_all(folder_ / "out");
    fs::create_directory(folder_ / "out");
  }

  /// What the scenario writes when nothing disturbs it, and how long that takes.
  struct Whole {
    std::map<std::string, std::map<std::string, std::string>> content, replaced;
    std::chrono::microseconds time{};
  };
  Whole whole_run(const Scenario& scenario) {
    Whole whole;
    if (scenario.replaces) whole.replaced = make_earlier(scenario);
    const auto start = Clock::now();
    quietvox_ok(words_of(scenario));
    whole.time = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
    whole.content = found(scenario);
    EXPECT_EQ(whole.content.size(), scenario.outputs.size()) << scenario.name;
    empty_out();
    return whole;
  }
  std::map<std::string, std::map<std::string, std::string>> make_earlier(const Scenario& scenario) {
    Scenario earlier = scenario;
    earlier.words[0] = "median";
    quietvox_ok(words_of(earlier));
    return found(scenario);
  }
  std::map<std::string, std::map<std::string, std::string>> found(const Scenario& scenario) const {
    std::map<std::string, std::map<std::string, std::string>> result;
    for (const std::string& output : scenario.outputs) {
      if (fs::exists(folder_ / "out" / output)) result[output] = content_of(folder_ / "out" / output);
    }
    return result;
  }

  /// Workers of a killed run have ended when this returns.
  static void wait_for_orphans() {
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }

  TemporaryFolder folder_;
  std::vector<std::pair<std::string, std::string>> before_;
};

/// Set QUIETVOX_KILLS for more than the few of an ordinary run.
int wanted_kills(std::size_t usual) {
  const char* const wanted = std::getenv("QUIETVOX_KILLS");
  return wanted ? std::atoi(wanted) : static_cast<int>(usual);
}

TEST_F(Faults, KilledRunsLeaveTheWholeResultOrNothingNew) {
  const int kills = wanted_kills(2 * scenarios.size());
  std::mt19937 random(20240607);
  std::map<std::string, int> seen;
  std::vector<Whole> wholes;
  for (const Scenario& scenario : scenarios) wholes.push_back(whole_run(scenario));
  for (int kill = 0; kill < kills; ++kill) {
    const auto index = static_cast<std::size_t>(kill) % scenarios.size();
    const Scenario& scenario = scenarios[index];
    const Whole& whole = wholes[index];
    const int signal = std::array{SIGKILL, SIGINT, SIGTERM, SIGKILL}[random() % 4];
    const std::chrono::microseconds delay(random() % (whole.time.count() * 5 / 4));
    SCOPED_TRACE(std::string(scenario.name) + ", signal " + std::to_string(signal) + " after " +
                 std::to_string(delay.count()) + " us, run " + std::to_string(kill));
    if (scenario.replaces) make_earlier(scenario);
    const auto names_before = TemporaryFolder::names_in(folder_ / "out");
    {
      Process process(words_of(scenario));
      std::this_thread::sleep_for(delay);
      process.send(signal);
      const int status = process.finish().status;
      EXPECT_TRUE(status == 0 || status == 128 + signal) << status;
      wait_for_orphans();
    }
    const auto left = found(scenario);
    if (scenario.outputs == std::vector<std::string>{"all"}) {
      // Each series by itself.
      const auto all = left.contains("all") ? left.at("all") : std::map<std::string, std::string>();
      for (const char* series : {"1.2.3.1", "1.2.3.2"}) {
        std::size_t files = 0;
        for (const auto& [name, pixels] : all) {
          if (!name.starts_with(std::string(series) + "/")) continue;
          ++files;
          EXPECT_TRUE(whole.content.at("all").at(name) == pixels) << name;
        }
        EXPECT_TRUE(files == 0 || files == 4) << files;
      }
      ++seen[all.size() == 8 ? "whole" : all.empty() ? "nothing" : "some series"];
    } else if (left == whole.content) {
      ++seen["whole"];
    } else {
      EXPECT_TRUE(left == whole.replaced) << testing::PrintToString(TemporaryFolder::names_in(folder_ / "out"));
      ++seen["nothing"];
    }
    if (signal != SIGKILL && left != whole.content && !scenario.words.back().starts_with("--force")) {
      EXPECT_EQ(TemporaryFolder::names_in(folder_ / "out"), names_before);
    }

    // The next run does its work and tidies up.
    std::vector<std::string> again = words_of(scenario);
    if (left == whole.content && again[again.size() - 3] != "--force") again.emplace_back("--force");
    const Result result = quietvox(again);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(found(scenario) == whole.content);
    for (const std::string& name : TemporaryFolder::names_in(folder_ / "out")) {
      EXPECT_EQ(name.find(".part"), std::string::npos) << name;
    }
    if (HasFailure()) return;
    empty_out();
  }
  for (const auto& [what, count] : seen) std::cout << what << ": " << count << "\n";
}

/// Two runs replace the same outputs at the same time, and are killed: what stands there is what an earlier run made,
/// or one of the two, and never a mixture.
TEST_F(Faults, RunsThatAreKilledWhileAnotherReplacesTheSameLeaveTheOutputsOfOne) {
  struct Target {
    const char *what, *input, *output;
    std::vector<std::string> more, outputs;
  };
  const std::vector<Target> targets{
      {"files", "in/a.nii", "out/b.nii.gz", {"--residual", "out/r.nii"}, {"b.nii.gz", "b.json", "r.nii", "r.json"}},
      {"a folder", "in/ct", "out/ct", {}, {"ct"}}};
  std::mt19937 random(20240811);
  std::map<std::string, int> seen;
  for (const Target& target : targets) {
    const auto run_with = [&](const std::string& radius) {
      Scenario scenario{target.what, {"median", target.input, target.output, "--radius", radius}, target.outputs};
      scenario.words.insert(scenario.words.end(), target.more.begin(), target.more.end());
      scenario.words.emplace_back("--force");
      return scenario;
    };
    const std::array runs{run_with("0"), run_with("1"), run_with("2")};  // an earlier one, and two at the same time
    const std::array wholes{whole_run(runs[0]), whole_run(runs[1]), whole_run(runs[2])};
    for (int kill = 0; kill < wanted_kills(12); kill += 2) {
      quietvox_ok(words_of(runs[0]));
      std::array<std::chrono::microseconds, 2> delays;
      for (std::size_t i : {0, 1}) {
        delays[i] = std::chrono::microseconds(random() % (wholes[i + 1].time.count() * 5 / 4));
      }
      SCOPED_TRACE(std::string(target.what) + ", killed after " + std::to_string(delays[0].count()) + " and " +
                   std::to_string(delays[1].count()) + " us, run " + std::to_string(kill));
      {
        Process first(words_of(runs[1])), second(words_of(runs[2]));
        const auto start = Clock::now();
        const std::size_t sooner = delays[0] < delays[1] ? 0 : 1;
        for (const std::size_t i : {sooner, 1 - sooner}) {
          std::this_thread::sleep_until(start + delays[i]);
          (i == 0 ? first : second).send(SIGKILL);
        }
        for (Process* const process : {&first, &second}) {
          const Result result = process->finish();
          EXPECT_TRUE(result.status == 0 || result.status == 128 + SIGKILL) << result.status << result.err;
        }
        wait_for_orphans();
      }
      const auto left = found(runs[0]);
      const auto whole = std::ranges::find(wholes, left, &Whole::content);
      EXPECT_NE(whole, wholes.end()) << testing::PrintToString(TemporaryFolder::names_in(folder_ / "out"));
      ++seen["that of run " + std::to_string(whole - wholes.begin())];

      // Whatever is made there next tidies up.
      quietvox_ok({"median", path("in/a.nii"), path("out/other.nii")});
      EXPECT_TRUE(found(runs[0]) == left);
      for (const char* other : {"other.nii", "other.json"}) EXPECT_TRUE(fs::remove(folder_ / "out" / other));
      EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "out"), {}), std::ssize(target.outputs));
      if (HasFailure()) return;
      empty_out();
    }
  }
  for (const auto& [what, count] : seen) std::cout << what << ": " << count << "\n";
}

/// Killed after each of the renames that put outputs in place: the run, or the process that renames for it.
TEST_F(Faults, KilledWhileItPutsOutputsInPlaceARunLeavesAllOrNothingNew) {
  for (const Scenario& scenario : scenarios) {
    if (scenario.outputs[0] == "all") continue;  // its series come one by one
    const Whole whole = whole_run(scenario);
    for (const bool plain : {false, true}) {
      for (const bool kill_run : {false, true}) {
        int renames = 0;
        for (bool was_killed = true; was_killed;) {
          SCOPED_TRACE(std::string(scenario.name) + ", " + std::to_string(++renames) + (plain ? " plain" : "") +
                       " renames, " + (kill_run ? "run" : "helper") + " killed");
          if (scenario.replaces) make_earlier(scenario);
          {
            std::map<std::string, std::string> variables{{"QUIETVOX_TEST_RENAMES", std::to_string(renames)}};
            if (plain) variables["QUIETVOX_TEST_PLAIN_RENAMES"] = "1";
            if (kill_run) variables["QUIETVOX_TEST_KILL_RUN"] = "1";
            const Environment crashes(fault_variables(variables));
            const int status = quietvox(words_of(scenario)).status;
            ASSERT_TRUE(status == 0 || status == 7 || status == 128 + SIGKILL) << status;
            was_killed = status != 0;
            wait_for_orphans();
          }
          const auto left = found(scenario);
          EXPECT_TRUE(left == whole.content || (was_killed && left == whole.replaced));

          // Whatever is made there next tidies up.
          quietvox_ok({"median", path("in/a.nii"), path("out/other.nii")});
          EXPECT_TRUE(found(scenario) == left);
          for (const std::string& name : TemporaryFolder::names_in(folder_ / "out")) {
            EXPECT_EQ(name.find(".part"), std::string::npos) << name;
          }
          if (HasFailure()) return;
          empty_out();
        }
        EXPECT_GT(renames, static_cast<int>(scenario.outputs.size())) << scenario.name;
      }
    }
  }
}

/// What comes to stand at an output's name in the instant when --force replaces what stood there, is not removed.
TEST_F(Faults, WhatComesBetweenTheLookAndTheExchangeIsKept) {
  struct Case {
    const char *what, *variable, *target;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases{
      {"another file", "QUIETVOX_TEST_SWAP", "b.nii", {"gaussian", "in/a.nii", "out/b.nii", "--force"}},
      {"a folder instead of a file", "QUIETVOX_TEST_SWAP", "b.nii", {"gaussian", "in/a.nii", "out/b.nii", "--force"}},
      {"another folder", "QUIETVOX_TEST_SWAP", "ct", {"gaussian", "in/ct", "out/ct", "--force"}},
      {"a file in the folder", "QUIETVOX_TEST_PLANT", "ct/planted", {"gaussian", "in/ct", "out/ct", "--force"}}};
  for (const Case& one : cases) {
    for (const bool plain : {false, true}) {
      SCOPED_TRACE(std::string(one.what) + (plain ? ", plain renames" : ""));
      const Scenario scenario{one.what, one.words, {one.words[2].substr(4)}};
      const auto earlier = make_earlier(scenario);
      const fs::path precious = folder_ / "out/precious";
      const bool is_folder = std::string(one.what).find(" folder") != std::string::npos && one.variable[14] == 'S';
      if (is_folder) fs::create_directory(precious);
      write_file(is_folder ? precious / "letter.txt" : precious, "dear");
      // The JSON file beside an image is exchanged first.
      if (fs::exists(folder_ / "out/b.json")) fs::remove(folder_ / "out/b.json");
      {
        std::map<std::string, std::string> variables{{one.variable, precious.string()}};
        if (plain) variables["QUIETVOX_TEST_PLAIN_RENAMES"] = "1";
        const Environment crashes(fault_variables(variables));
        const Result result = quietvox(words_of(scenario));
        EXPECT_TRUE(result.status == 7 || result.status == 20) << result.status;
        EXPECT_NE(result.err.find(path(one.words[2])), std::string::npos) << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      }
      const fs::path kept = folder_ / "out" / one.target;
      EXPECT_TRUE(read_file(is_folder ? kept / "letter.txt" : kept) == "dear");
      if (one.variable[14] == 'P') {
        fs::remove(kept);
        EXPECT_TRUE(found(scenario) == earlier);
      } else {
        EXPECT_TRUE(fs::exists(precious.string() + ".was"));
      }
      for (const std::string& name : TemporaryFolder::names_in(folder_ / "out")) {
        EXPECT_EQ(name.find("quietvox"), std::string::npos) << name;
      }
      empty_out();
    }
  }
}

/// Stopped while it reads back and syncs what it wrote.
TEST_F(Faults, SignalsDuringVerificationLeaveNothing) {
  quietvox_ok({"phantom", path("in/large.nii"), "--size", "256x256x64", "--noise", "gaussian:20"});
  before_ = contents(folder_ / "in");
  for (const int signal : {SIGINT, SIGTERM}) {
    Process process({"median", path("in/large.nii"), path("out/b.nii.gz"), "--radius", "0", "--progress", "json"});
    ASSERT_TRUE(process.wait_for_stderr("\"progress\":1.00"));  // all is filtered: reading back has begun
    process.send(signal);
    const Result result = process.finish();
    // Where this process was kept waiting, the other may have got to its end.
    EXPECT_TRUE(result.status == 128 + signal || result.status == 0) << result.err;
    EXPECT_EQ(TemporaryFolder::names_in(folder_ / "out").size(), result.status == 0 ? 2U : 0U);
    empty_out();
  }
}

/// The files go while they are filtered.
TEST_F(Faults, InputThatVanishesIsAnErrorAndLeavesNothing) {
  fs::create_directory(folder_ / "gone");
  for (const char* name : {"gone/ct", "gone/a.nii.gz"}) {
    SCOPED_TRACE(name);
    const bool is_series = std::string(name) == "gone/ct";
    quietvox_ok({"phantom", path(name), "--size", "128x128x96", "--noise", "gaussian:20"});
    Process process({"bilateral", path(name), path(is_series ? "out/b" : "out/b.nii"), "--radius", "5",
                     "--domain-sigma", "3", "--range-sigma", "40", "--progress", "json"});
    ASSERT_TRUE(process.wait_for_stderr("progress"));
    process.send(SIGSTOP);
    if (is_series) fs::remove_all(folder_ / name);
    if (!is_series) fs::resize_file(folder_ / name, 1000);
    process.send(SIGCONT);
    const Result result = process.finish();
    EXPECT_TRUE(result.status == 4 || result.status == 5) << result.status << ": " << result.err;
    EXPECT_NE(result.err.find("quietvox: " + path(name)), std::string::npos) << result.err;
    EXPECT_TRUE(TemporaryFolder::names_in(folder_ / "out").empty());
  }
}

/// Another image of the same size comes to stand there.
TEST_F(Faults, InputThatChangesIsAnErrorAndLeavesNothing) {
  fs::create_directories(folder_ / "changing/other");
  for (const std::string name : {"ct", "a.nii", "b.mha"}) {
    SCOPED_TRACE(name);
    quietvox_ok({"phantom", path("changing/" + name), "--size", "128x128x64", "--noise", "gaussian:20"});
    quietvox_ok({"phantom", path("changing/other/" + name), "--size", "128x128x64", "--noise", "gaussian:30"});
    Process process({"bilateral", path("changing/" + name), path("out/" + name), "--radius", "5", "--domain-sigma", "3",
                     "--range-sigma", "40", "--progress", "json"});
    ASSERT_TRUE(process.wait_for_stderr("progress"));
    process.send(SIGSTOP);
    const bool is_series = name == "ct";
    const std::string file = is_series ? name + "/slice_0001.dcm" : name;
    fs::rename(path("changing/other/" + file), path("changing/" + file));
    process.send(SIGCONT);
    const Result result = process.finish();
    EXPECT_EQ(result.status, 5) << result.err;
    EXPECT_NE(result.err.find(path("changing/" + file) + ": changed while it was being read"), std::string::npos)
        << result.err;
    EXPECT_TRUE(TemporaryFolder::names_in(folder_ / "out").empty());
  }
}

/// A file that changes before its series is begun is an error too: its header was read with all the others.
TEST_F(Faults, ASeriesWhoseFilesChangeBeforeItsTurnIsAnError) {
  fs::create_directory(folder_ / "changing");
  for (const std::string name : {"a", "b"}) {
    const std::string noise = name == "a" ? "gaussian:20" : "gaussian:30";
    quietvox_ok({"phantom", path("changing/" + name), "--size", "128x128x64", "--noise", noise});
  }
  const auto uid = [&](const std::string& name) {
    return dicom_text(folder_ / "changing" / name / "slice_0001.dcm", DCM_SeriesInstanceUID);
  };
  const std::string last = uid("a") < uid("b") ? "b" : "a", first = last == "b" ? "a" : "b";
  Process process({"bilateral", path("changing"), path("out/all"), "--all-series", "--radius", "5", "--domain-sigma",
                   "3", "--range-sigma", "40", "--progress", "json"});
  ASSERT_TRUE(process.wait_for_stderr("progress"));
  const fs::path folder = folder_ / "changing" / last;
  fs::rename(folder / "slice_0010.dcm", folder_ / "changing/aside");
  fs::rename(folder / "slice_0030.dcm", folder / "slice_0010.dcm");
  fs::rename(folder_ / "changing/aside", folder / "slice_0030.dcm");
  const Result result = process.finish();
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_NE(result.err.find(": changed while it was being read"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "out/all" / uid(first)));
  EXPECT_FALSE(fs::exists(folder_ / "out/all" / uid(last)));
}

}  // namespace
}  // namespace quietvox::test
