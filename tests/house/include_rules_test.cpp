// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "house/source_tree.hpp"

namespace quietvox::test {
namespace {

/// What the files of a folder may include: folders of the project, and libraries by the start of their headers' names.
struct Rule {
  std::set<std::string> folders;
  std::vector<std::string> libraries;
};

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all{
      {"src/core",
       {{"core"}, {"oneapi/tbb/", "openssl/", "sanitizer/"}}},  // the last in builds for the thread sanitizer
      {"src/filters", {{"core", "filters", "selection"}, {"hwy/", "nlohmann/"}}},  // selection: made by the build
      {"src/backends", {{"core", "filters", "cuda", "backends"}, {}}},
      {"src/quality", {{"core", "quality"}, {}}},
      {"src/io", {{"core", "io"}, {"dcmtk/", "isa-l/", "zlib.h", "openjpeg", "nlohmann/"}}},
      {"cuda", {{"core", "filters", "cuda"}, {"cuda", "cub/", "cooperative_groups"}}},
      {"itk_adapters",
       {{"core", "filters", "backends", "io", "quality", "workflow", "itk_adapters"}, {"itk", "opencv2/"}}},
      {"src/workflow", {{"core", "filters", "backends", "quality", "io", "itk_adapters", "workflow"}, {}}},
      {"src/cli",
       {{"core", "filters", "backends", "quality", "io", "itk_adapters", "workflow", "cli"},
        {"tclap/", "png.h", "nlohmann/"}}},
  };
  return all;
}

/// Headers of the standard library have neither a folder nor an ending; these are the system's.
bool is_standard(const std::string& header) {
  static const std::set<std::string> posix{"fcntl.h",  "locale.h", "malloc.h", "poll.h", "pthread.h",
                                           "signal.h", "spawn.h",  "unistd.h", "zlib.h"};
  return header.find('/') == std::string::npos ? header.find('.') == std::string::npos || posix.contains(header)
                                               : header.starts_with("sys/");
}

struct Include {
  std::string header;
  bool quoted;
};

std::vector<Include> includes_of(const std::filesystem::path& file) {
  static const std::regex line(R"(^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"])", std::regex::multiline);
  const std::string text = text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / file);
  std::vector<Include> includes;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), line); match != std::sregex_iterator(); ++match) {
    includes.push_back({(*match)[2].str(), (*match)[1].str() == "\""});
  }
  return includes;
}

bool allowed(const Rule& rule, const Include& include) {
  if (include.quoted) {
    const std::size_t slash = include.header.find('/');
    return slash == std::string::npos || rule.folders.contains(include.header.substr(0, slash));
  }
  if (is_standard(include.header)) return true;
  for (const std::string& library : rule.libraries) {
    if (include.header.starts_with(library)) return true;
  }
  return false;
}

TEST(House, FoldersIncludeOnlyWhatTheyMay) {
  std::size_t seen = 0;
  for (const auto& [folder, rule] : rules()) {
    for (const auto& file : files_of(folder, {".hpp", ".cpp", ".h", ".hxx", ".cxx", ".cu", ".cuh"})) {
      for (const Include& include : includes_of(file)) {
        ++seen;
        EXPECT_TRUE(allowed(rule, include)) << file << " includes " << include.header;
      }
    }
  }
  EXPECT_GT(seen, 100U);
}

TEST(House, EveryFolderHasAnIncludeRule) {
  std::set<std::string> folders;
  for (const auto& file : files_of("src", {".hpp", ".cpp"})) folders.insert("src/" + std::next(file.begin())->string());
  for (const std::string& folder : folders) EXPECT_TRUE(rules().contains(folder)) << folder;
}

TEST(House, TheRulesAreNotEmptyWords) {
  EXPECT_FALSE(allowed(rules().at("src/core"), {"filters/median.hpp", true}));
  EXPECT_FALSE(allowed(rules().at("src/core"), {"cuda_runtime.h", false}));
  EXPECT_FALSE(allowed(rules().at("src/filters"), {"itkImage.h", false}));
  EXPECT_FALSE(allowed(rules().at("src/filters"), {"cuda/resources.hpp", true}));
  EXPECT_FALSE(allowed(rules().at("src/backends"), {"cuda_runtime_api.h", false}));
  EXPECT_FALSE(allowed(rules().at("src/quality"), {"dcmtk/dcmdata/dctk.h", false}));
  EXPECT_FALSE(allowed(rules().at("cuda"), {"itkImage.h", false}));
  EXPECT_TRUE(allowed(rules().at("src/core"), {"vector", false}));
}

}  // namespace
}  // namespace quietvox::test
