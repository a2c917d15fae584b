// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "cli/process.hpp"
#include "filters/registry.hpp"
#include "house/source_tree.hpp"

namespace quietvox::test {
namespace {

const std::vector<std::string> shared_filter_options{"series",
                                                     "allow-gaps",
                                                     "mask",
                                                     "residual",
                                                     "output-type",
                                                     "output-format",
                                                     "compress",
                                                     "no-compress",
                                                     "codec",
                                                     "force",
                                                     "series-description-suffix",
                                                     "dry-run",
                                                     "backend",
                                                     "threads",
                                                     "memory-limit",
                                                     "progress",
                                                     "quiet",
                                                     "verbose",
                                                     "json",
                                                     "log-file"};

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A usage error: exit 64, nothing on stdout, one line on stderr that holds `text`.
void expect_usage_error(const std::vector<std::string>& arguments, const std::string& text) {
  const Result result = quietvox(arguments);
  EXPECT_EQ(result.status, 64) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(mentions(result.err, text)) << result.err;
  EXPECT_TRUE(result.err.starts_with("quietvox: ")) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST(Help, OfTheProgramListsEveryCommandAndGoesToStdout) {
  for (const char* word : {"--help", "-h", "help"}) {
    const Result result = quietvox_ok({word});
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(mentions(result.out, "Not for diagnostic use"));
    for (const Filter& filter : filters()) EXPECT_TRUE(mentions(result.out, "\n  " + filter.name + " ")) << filter.name;
    for (const char* command : {"run", "info", "filters", "compare", "phantom", "add-noise", "benchmark"}) {
      EXPECT_TRUE(mentions(result.out, "\n  " + std::string(command) + " ")) << command;
    }
  }
}

TEST(Help, OfACommandIsAlsoCalledHelpCommand) {
  EXPECT_EQ(quietvox_ok({"help", "median"}).out, quietvox_ok({"median", "--help"}).out);
  EXPECT_EQ(quietvox_ok({"--help", "info"}).out, quietvox_ok({"info", "--help"}).out);
  expect_usage_error({"help", "medain"}, "did you mean 'median'?");
}

TEST(Help, OfAFilterListsEveryOption) {
  for (const Filter& filter : filters()) {
    const Result result = quietvox_ok({filter.name, "--help"});
    EXPECT_EQ(result.err, "");
    EXPECT_TRUE(mentions(result.out, "Not for diagnostic use"));
    EXPECT_TRUE(mentions(result.out, filter.summary));
    for (const FieldInfo& field : filter.fields) {
      EXPECT_TRUE(mentions(result.out, "--" + field.name + " ")) << filter.name << " " << field.name;
      EXPECT_TRUE(mentions(result.out, "default: " + field.default_text) ||
                  mentions(result.out, "\n      " + field.default_text))
          << filter.name << " " << field.name;
    }
    for (const std::string& option : shared_filter_options) {
      EXPECT_TRUE(mentions(result.out, "--" + option)) << filter.name << " " << option;
    }
  }
}

TEST(Help, IsGivenForEveryCommandWhateverElseIsThere) {
  for (const char* command : {"run", "info", "filters", "compare", "phantom", "add-noise", "benchmark"}) {
    const Result result = quietvox_ok({command, "one", "--help", "two", "three"});
    EXPECT_TRUE(mentions(result.out, "Usage: quietvox " + std::string(command)));
    EXPECT_TRUE(mentions(result.out, "--json"));
    EXPECT_TRUE(mentions(result.out, "Not for diagnostic use"));
  }
}

TEST(Help, LinesFitIntoAHundredColumns) {
  for (const char* command : {"median", "bilateral", "run", "compare", "phantom", "add-noise"}) {
    std::istringstream lines(quietvox_ok({command, "--help"}).out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Version, IsOneLineOnStdout) {
  const Result result = quietvox_ok({"--version"});
  EXPECT_TRUE(result.out.starts_with("quietvox "));
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_EQ(quietvox_ok({"median", "--version"}).out, result.out);
}

TEST(Usage, UnknownCommandsGetAHint) {
  expect_usage_error({}, "no command");
  expect_usage_error({"medain", "a", "b"}, "did you mean 'median'?");
  expect_usage_error({"bilatral"}, "did you mean 'bilateral'?");
  expect_usage_error({"med", "a", "b"}, "did you mean 'median'?");
  expect_usage_error({"median", "a", "b", "--forc"}, "did you mean '--force'?");
  expect_usage_error({"add_noise"}, "did you mean 'add-noise'?");
  expect_usage_error({"image.nii", "out.nii"}, "unknown command 'image.nii'; see 'quietvox --help'");
}

TEST(Usage, CommandsThatAreNotThereAreUnknown) {
  for (const char* command : {"smooth", "sharpen"}) {
    expect_usage_error({command}, "unknown command '" + std::string(command) + "'");
    EXPECT_FALSE(mentions(quietvox_ok({"--help"}).out, "\n  " + std::string(command)));
  }
}

TEST(Usage, UnknownOptionsGetTheNearestAsAHint) {
  expect_usage_error({"median", "a", "b", "--raduis", "1"}, "unknown option '--raduis'; did you mean '--radius'?");
  expect_usage_error({"median", "a", "b", "--radus=1"}, "unknown option '--radus'; did you mean '--radius'?");
  expect_usage_error({"median", "a", "b", "-radius", "1"}, "unknown option '-radius'; did you mean '--radius'?");
  expect_usage_error({"bilateral", "a", "b", "--range_sgma", "1"}, "did you mean '--range-sigma'?");
  expect_usage_error({"median", "a", "b", "--forse"}, "did you mean '--force'?");
  expect_usage_error({"median", "a", "b", "---"}, "unknown option '---'");
  expect_usage_error({"median", "a", "b", "--xyzzy-plugh"}, "unknown option '--xyzzy-plugh'; see");
  expect_usage_error({"median", "a", "b", "--range-sigma", "3"}, "unknown option '--range-sigma'");
}

TEST(Usage, WrongWordsAreNamed) {
  expect_usage_error({"median", "a"}, "OUTPUT");
  expect_usage_error({"median"}, "INPUT");
  expect_usage_error({"median", "a", "b", "c"}, "c");
  expect_usage_error({"median", "a", ""}, "empty");
  expect_usage_error({"median", "a", "-"}, "'-' is not supported");
  expect_usage_error({"median", "a", "b", "--radius"}, "--radius needs a value");
  expect_usage_error({"median", "a", "b", "--radius", "--force"}, "--radius needs a value");
  expect_usage_error({"median", "a", "b", "--radius="}, "--radius needs a value");
  expect_usage_error({"median", "a", "b", "--force=true"}, "--force is a switch");
  expect_usage_error({"median", "a", "b", "--radius", "1", "--radius", "2"}, "--radius");
  expect_usage_error({"median", "a", "b", "--compress", "--no-compress"}, "compress");
  expect_usage_error({"median", "a", "b", "--no-force"}, "unknown option '--no-force'");
}

TEST(Usage, BadValuesNameOptionValueAndWhatIsAllowed) {
  expect_usage_error({"median", "a", "b", "--radius", "16"}, "--radius = '16' is not allowed; give 0 to 15");
  expect_usage_error({"median", "a", "b", "--radius", "-1"}, "--radius = '-1'");
  expect_usage_error({"median", "a", "b", "--radius", "1x1"}, "--radius = '1x1'");
  expect_usage_error({"median", "a", "b", "--radius", "1.5"}, "--radius = '1.5'");
  expect_usage_error({"median", "a", "b", "--shape", "ball"}, "box, cross, row, column");
  expect_usage_error({"bilateral", "a", "b", "--range-sigma=-3"}, "--range-sigma = '-3'");
  expect_usage_error({"bilateral", "a", "b", "--range-sigma", "nan"}, "--range-sigma = 'nan'");
  expect_usage_error({"median", "a", "b", "--threads", "-2"}, "--threads = '-2'");
  expect_usage_error({"median", "a", "b", "--memory-limit", "0"}, "--memory-limit = '0'");
  expect_usage_error({"median", "a", "b", "--progress", "loud"}, "auto, bar, plain, json, none");
  expect_usage_error({"median", "a", "b", "--backend", "gpu"}, "--backend = 'gpu'");
  expect_usage_error({"median", "a", "b", "--backend", "cuda:x"}, "--backend = 'cuda:x'");
  expect_usage_error({"filters", "mediann"}, "median");
  expect_usage_error({"benchmark", "--slices", "7"}, "--slices = '7' is not allowed; give 8 to 2000");
  expect_usage_error({"phantom", "a", "--noise", "gaussian"}, "KIND:AMOUNT");
  expect_usage_error({"phantom", "a", "--noise", "snow:3"}, "snow");
  expect_usage_error({"phantom", "a", "--kind", "mammogram", "--size", "64x64x2"}, "one slice");
}

TEST(Usage, ChainsAreReadStepByStep) {
  expect_usage_error({"run", "a", "b"}, "at least one --filter");
  expect_usage_error({"run", "a", "b", "--filter", "medain"}, "did you mean 'median'?");
  expect_usage_error({"run", "a", "b", "--filter", "median:radius"}, "'radius' is not KEY=VALUE");
  expect_usage_error({"run", "a", "b", "--filter", "median:raduis=1"}, "raduis");
  expect_usage_error(
      {"run", "a", "b", "--filter", "median:radius=99"},
      "quietvox: --filter: median: radius = '99' is not allowed; give 0 to 15 as one number or radius=XxYxZ");
  expect_usage_error({"median", "a", "b", "c"}, "one argument too many: 'c'");
  expect_usage_error({"median", "--", "a", "b", "--dry-run"}, "one argument too many: '--dry-run'");
  expect_usage_error({"median", "a", "--", "b", "c"}, "one argument too many: 'c'");
  expect_usage_error({"info", "--", "a", "b"}, "one argument too many: 'b'");
  expect_usage_error({"run", "a", "b", "--filter", "median:radius=1,radius=2"}, "'radius' is given twice");
  expect_usage_error({"median", "a", "b", "--threads", "two"}, "quietvox: --threads = 'two' is not allowed");
}

TEST(Usage, FormsOfOptionsAreEqual) {
  // All of these get past the command line and fail for the missing input: exit 5.
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"bilateral", "nowhere.nii", "b.nii", "--range-sigma", "3"},
                                             {"bilateral", "nowhere.nii", "b.nii", "--range-sigma=3"},
                                             {"bilateral", "nowhere.nii", "b.nii", "--range_sigma=3"},
                                             {"bilateral", "--range_sigma", "3", "nowhere.nii", "b.nii"},
                                             {"bilateral", "--range-sigma=3", "--", "nowhere.nii", "b.nii"},
                                             {"median", "--", "--radius", "b.nii"},
                                             {"median", "--", "-x", "--force"}}) {
    const Result result = quietvox(words);
    EXPECT_EQ(result.status, 5) << result.err;
    EXPECT_TRUE(mentions(result.err, "no such file")) << result.err;
  }
}

/// What bash offers for the last of the words.
std::string completed(const TemporaryFolder& folder, const std::string& words, int last) {
  const std::string script = "source '" + (folder / "completion").string() + "'; COMP_WORDS=(" + words +
                             "); COMP_CWORD=" + std::to_string(last) + "; _quietvox; echo \"${COMPREPLY[*]}\" > '" +
                             (folder / "offered").string() + "'";
  EXPECT_EQ(std::system(("bash -c '" + std::regex_replace(script, std::regex("'"), "'\\''") + "'").c_str()), 0);
  return read_file(folder / "offered");
}

TEST(Usage, BashCompletesCommandsOptionsAndChoices) {
  const TemporaryFolder folder;
  write_file(folder / "completion", quietvox_ok({"--bash-completion"}).out);
  EXPECT_EQ(completed(folder, "quietvox med", 1), "median\n");
  EXPECT_EQ(completed(folder, "quietvox median --sha", 2), "--shape\n");
  EXPECT_EQ(completed(folder, "quietvox median --shape c", 3), "cross column\n");
  EXPECT_EQ(completed(folder, "quietvox bilateral --no-c", 2), "--no-compress\n");
  EXPECT_EQ(completed(folder, "quietvox median --backend c", 3), "cpu cuda\n");
  EXPECT_EQ(completed(folder, "quietvox run --filter bila", 3), "bilateral\n");
  EXPECT_EQ(completed(folder, "quietvox filters nl", 2), "nlm\n");
  EXPECT_EQ(completed(folder, "quietvox help est", 2), "estimate\n");
}

TEST(Usage, ManualPageHoldsEveryCommandAndOption) {
  const std::string page = std::regex_replace(quietvox_ok({"--man-page"}).out, std::regex(R"(\\-)"), "-");
  std::string completion = quietvox_ok({"--bash-completion"}).out;
  completion.erase(0, completion.find("_quietvox()"));
  const std::regex option("--[a-z][a-z-]+"), command(R"(\n    ([a-z0-9-]+)\))");
  const std::sregex_iterator end;
  std::size_t options = 0, commands = 0;
  for (std::sregex_iterator match(completion.begin(), completion.end(), option); match != end; ++match, ++options) {
    EXPECT_NE(page.find(match->str()), std::string::npos) << match->str();
  }
  EXPECT_GT(options, 500U);
  for (std::sregex_iterator match(completion.begin(), completion.end(), command); match != end; ++match, ++commands) {
    EXPECT_NE(page.find(".SH \"" + (*match)[1].str() + '"'), std::string::npos) << (*match)[1];
  }
  EXPECT_GT(commands, 15U);
}

TEST(Usage, ManualPageAndReadmeGiveTheSameExitStatuses) {
  const std::string page = std::regex_replace(quietvox_ok({"--man-page"}).out, std::regex(R"(\\-)"), "-");
  const std::string readme =
      std::regex_replace(text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / "README.md"), std::regex("`"), "");
  const std::regex entry(R"(\.TP\n([0-9, ]+)\n(.+)\n)");
  std::size_t statuses = 0;
  for (std::sregex_iterator match(page.begin(), page.end(), entry), end; match != end; ++match, ++statuses) {
    const std::string row = "| " + (*match)[1].str() + " | " + (*match)[2].str() + " |";
    EXPECT_NE(readme.find(row), std::string::npos) << row;
  }
  EXPECT_EQ(statuses, 14U);
}

}  // namespace
}  // namespace quietvox::test
