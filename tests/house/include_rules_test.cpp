// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "house/source_tree.hpp"

namespace quietvox::test {
namespace {

/// What the files of a folder may include: folders of the project, whole or one by one, and libraries by the start of
/// their headers' names. A folder holds those below it where these have no rule of their own.
struct Rule {
  std::set<std::string> folders;
  std::vector<std::string> libraries;
};

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> all{
      {"src/core", {{"core"}, {"oneapi/tbb/", "openssl/", "sanitizer/"}}},  // the last for the thread sanitizer
      // The headers of filters/ are what every filter promises; how one does it is its folder's.
      {"src/filters", {{"core", "filters", "filters/common"}, {}}},
      {"src/filters/common", {{"core"}, {}}},
      {"src/filters/simd", {{"core"}, {"hwy/"}}},
      {"src/filters/adaptive_bilateral", {{"filters", "filters/bilateral"}, {"hwy/"}}},
      {"src/filters/bilateral", {{"filters", "filters/common", "filters/simd"}, {"hwy/"}}},
      {"src/filters/bm4d", {{"core", "filters", "filters/common", "filters/simd"}, {"hwy/"}}},
      {"src/filters/dct", {{"core", "filters", "filters/common", "filters/simd"}, {"hwy/"}}},
      {"src/filters/gaussian", {{"filters"}, {"hwy/"}}},
      {"src/filters/median", {{"core", "filters", "filters/common", "selection"}, {"hwy/"}}},  // selection: made
      {"src/filters/median/generator", {{"core"}, {}}},
      {"src/filters/nlm", {{"core", "filters", "filters/bilateral", "filters/common", "filters/simd"}, {"hwy/"}}},
      {"src/filters/prinlm", {{"core", "filters", "filters/common", "filters/simd"}, {"hwy/"}}},
      {"src/filters/quadratic", {{"core", "filters", "filters/common"}, {"hwy/", "nlohmann/"}}},
      {"src/backends", {{"core", "filters", "cuda"}, {}}},
      {"src/analysis", {{"core", "rician_tables.hpp"}, {}}},
      {"src/analysis/stabilisation/generator", {{"analysis/stabilisation"}, {}}},
      {"src/phantom", {{"core"}, {}}},
      {"src/io/files", {{"core"}, {"isa-l/", "libdeflate.h", "zlib.h"}}},
      {"src/io/output", {{"core", "io/files"}, {}}},
      {"src/io", {{"core", "io/files", "io/output"}, {"hwy/", "nlohmann/"}}},
      {"src/io/provenance", {{"core", "io", "io/files", "io/output"}, {"nlohmann/", "xxhash.h"}}},
      {"src/io/nifti", {{"core", "io", "io/files", "io/output", "io/provenance"}, {}}},
      {"src/io/dicom",
       {{"core", "dicom_dictionaries.inc", "io", "io/files", "io/output"}, {"dcmtk/", "hwy/", "openjpeg"}}},
      {"cuda", {{"core", "filters", "filters/median"}, {"cuda"}}},
      {"cuda/filters/common", {{"core", "cuda"}, {"cuda"}}},
      {"cuda/filters", {{"core", "cuda", "cuda/filters/common", "filters"}, {"cuda", "cub/"}}},
      {"cuda/filters/adaptive_bilateral", {{"cuda", "cuda/filters/bilateral", "cuda/filters/common", "filters"}, {}}},
      {"cuda/filters/bm4d", {{"core", "cuda", "cuda/filters/common", "filters", "filters/bm4d"}, {}}},
      {"cuda/filters/gaussian", {{"cuda", "cuda/filters/common", "filters/gaussian"}, {}}},
      {"itk_adapters", {{"core", "filters", "backends", "io", "workflow", "itk_adapters/filters"}, {"itk"}}},
      {"itk_adapters/file_io", {{"core", "io", "io/files", "io/output", "io/provenance"}, {"itk"}}},
      {"itk_adapters/filters", {{"core", "workflow"}, {}}},
      {"itk_adapters/generate", {{"filters", "itk_adapters/filters"}, {}}},
      {"itk_adapters/examples",
       {{"itk_adapters", "quietvoxBilateralImageFilter.h", "quietvoxMedianImageFilter.h"}, {}}},
      {"itk_adapters/peers", {{"core"}, {"itk", "opencv2/"}}},
      {"src/workflow",
       {{"core", "filters", "backends", "analysis", "io", "io/dicom", "io/files", "io/nifti", "io/output",
         "io/provenance", "itk_adapters/file_io"},
        {}}},
      {"python", {{"core", "filters", "io/provenance", "workflow"}, {"pybind11/"}}},
      {"src/cli",
       {{"core", "filters", "io/files", "io/output", "io/provenance", "workflow", "cli/parsing"}, {"png.h"}}},
      {"src/cli/parsing", {{"core", "workflow"}, {"tclap/"}}},
      {"src/cli/commands",
       {{"core", "filters", "filters/quadratic", "analysis", "phantom", "io", "io/files", "io/output", "io/provenance",
         "workflow", "itk_adapters/filters", "cli", "cli/filter_job", "cli/parsing"},
        {}}},
      {"src/cli/commands/benchmark",
       {{"core", "filters", "filters/simd", "backends", "phantom", "io", "io/output", "workflow", "itk_adapters/peers",
         "cli"},
        {}}},
      {"src/cli/filter_job", {{"core", "io", "io/files", "io/output", "workflow", "cli", "cli/parsing"}, {}}},
  };
  return all;
}

/// Headers of the standard library have neither a folder nor an ending; these are the system's.
bool is_standard(const std::string& header) {
  static const std::set<std::string> posix{"dirent.h",  "fcntl.h",  "locale.h", "malloc.h", "poll.h",
                                           "pthread.h", "signal.h", "spawn.h",  "unistd.h"};
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

/// The rule of a folder is that of the nearest one above it, or its own.
const Rule* rule_of(std::filesystem::path folder) {
  for (; !folder.empty(); folder = folder.parent_path()) {
    if (const auto rule = rules().find(folder.string()); rule != rules().end()) return &rule->second;
  }
  return nullptr;
}

/// The folder of a source as includes spell it.
std::filesystem::path spelled(const std::filesystem::path& folder) {
  const std::string text = folder.string();
  return text.starts_with("src/") ? text.substr(4) : text;
}

/// A header that a file of `folder` includes, with its folder. ITK's are spelled without: then it is that of the file,
/// or `itk_adapters`. Headers that the build makes have none.
std::filesystem::path found(const std::filesystem::path& folder, const Include& include) {
  const std::filesystem::path root = QUIETVOX_SOURCE_DIR;
  std::filesystem::path header = include.header;
  if (header.has_parent_path()) return header;
  if (exists(root / folder / header)) return spelled(folder) / header;
  return exists(root / "itk_adapters" / header) ? "itk_adapters" / header : header;
}

/// What the rule of a file's folder must name: the folder of a header, or a header that the build makes.
std::string to_name(const std::filesystem::path& folder, const Include& include) {
  const std::filesystem::path header = found(folder, include);
  return header.has_parent_path() ? header.parent_path().string() : header.string();
}

bool allowed(const std::filesystem::path& folder, const Include& include) {
  const Rule* const rule = rule_of(folder);
  if (!rule) return false;
  if (include.quoted) {
    const std::string name = to_name(folder, include);
    return name == spelled(folder) || rule->folders.contains(name);
  }
  if (is_standard(include.header)) return true;
  for (const std::string& library : rule->libraries) {
    if (include.header.starts_with(library)) return true;
  }
  return false;
}

std::vector<std::filesystem::path> ruled_files() {
  std::vector<std::filesystem::path> files;
  for (const char* part : {"src", "cuda", "itk_adapters", "python"}) {
    for (auto& file : files_of(part, {".hpp", ".cpp", ".h", ".hxx", ".cxx", ".cu", ".cuh"})) files.push_back(file);
  }
  return files;
}

/// What ends in .cuh is nvcc's alone; a .hpp or .cpp is for any compiler.
TEST(House, OnlyCudaSourcesIncludeCudaHeaders) {
  std::size_t cuda_headers = 0;
  for (const auto& file : ruled_files()) {
    const bool is_cuda = file.extension() == ".cu" || file.extension() == ".cuh";
    for (const Include& include : includes_of(file)) {
      if (!include.header.ends_with(".cuh")) continue;
      EXPECT_TRUE(is_cuda) << file << " includes " << include.header << ", which only nvcc compiles";
      ++cuda_headers;
    }
  }
  EXPECT_GT(cuda_headers, 20U);
}

TEST(House, FoldersIncludeOnlyWhatTheyMay) {
  std::size_t seen = 0;
  for (const auto& file : ruled_files()) {
    ASSERT_NE(rule_of(file.parent_path()), nullptr) << file << " has no rule";
    for (const Include& include : includes_of(file)) {
      ++seen;
      EXPECT_TRUE(allowed(file.parent_path(), include)) << file << " includes " << include.header;
    }
  }
  EXPECT_GT(seen, 1000U);
}

TEST(House, TheRulesNameNothingThatIsNotUsed) {
  std::map<const Rule*, std::set<std::string>> folders, libraries;
  for (const auto& file : ruled_files()) {
    const Rule* const rule = rule_of(file.parent_path());
    for (const auto& [header, quoted] : includes_of(file)) {
      if (quoted) {
        folders[rule].insert(to_name(file.parent_path(), {header, quoted}));
      } else {
        libraries[rule].insert(header);
      }
    }
  }
  for (const auto& [folder, rule] : rules()) {
    for (const std::string& named : rule.folders)
      EXPECT_TRUE(folders[&rule].contains(named)) << folder << ": " << named;
    for (const std::string& named : rule.libraries) {
      const auto is_of_it = [&](const std::string& header) { return header.starts_with(named); };
      EXPECT_TRUE(std::ranges::any_of(libraries[&rule], is_of_it)) << folder << ": " << named;
    }
  }
}

using Graph = std::map<std::string, std::set<std::string>>;

void expect_no_circles(Graph includes) {
  // What includes nothing that is left is in no circle.
  for (bool smaller = true; smaller;) {
    const auto leads_nowhere = [&](const auto& node) {
      return std::ranges::none_of(node.second, [&](const std::string& other) { return includes.contains(other); });
    };
    smaller = std::erase_if(includes, leads_nowhere) > 0;
  }
  for (const auto& [node, others] : includes) ADD_FAILURE() << node << " is in a circle of includes, or leads to one";
}

/// Files, and folders, that include each other, by way of others or not. ITK's headers include their .hxx, and these
/// them.
TEST(House, NoFileAndNoFolderIncludesItself) {
  Graph files, folders;
  for (const auto& file : ruled_files()) {
    if (file.extension() == ".hxx") continue;
    const std::string name = spelled(file).string(), folder = spelled(file.parent_path()).string();
    for (const Include& include : includes_of(file)) {
      if (!include.quoted) continue;
      files[name].insert(found(file.parent_path(), include).string());
      const std::string other = to_name(file.parent_path(), include);
      if (other != folder) folders[folder].insert(other);
    }
  }
  expect_no_circles(files);
  expect_no_circles(folders);
}

/// So the build shows that a header needs nothing before it.
TEST(House, ASourceBeginsWithItsOwnHeader) {
  const std::filesystem::path root = QUIETVOX_SOURCE_DIR;
  std::size_t seen = 0;
  for (const auto& file : ruled_files()) {
    const bool is_cuda = file.extension() == ".cu";
    auto header = std::filesystem::path(file).replace_extension(is_cuda ? ".cuh" : ".hpp");
    if (is_cuda && !exists(root / header)) header.replace_extension(".hpp");
    if ((!is_cuda && file.extension() != ".cpp") || !exists(root / header)) continue;
    ++seen;
    ASSERT_FALSE(includes_of(file).empty()) << file;
    EXPECT_EQ(includes_of(file).front().header, spelled(header.parent_path()) / header.filename()) << file;
  }
  EXPECT_GT(seen, 100U);
}

TEST(House, TheRulesAreNotEmptyWords) {
  EXPECT_FALSE(allowed("src/core", {"filters/median.hpp", true}));
  EXPECT_FALSE(allowed("src/core", {"cuda_runtime.h", false}));
  EXPECT_FALSE(allowed("src/filters", {"itkImage.h", false}));
  EXPECT_FALSE(allowed("src/filters", {"cuda/resources.hpp", true}));
  EXPECT_FALSE(allowed("src/filters/dct", {"filters/nlm/kernel.hpp", true}));
  EXPECT_FALSE(allowed("src/io/output", {"io/dicom/result_series_key.hpp", true}));
  EXPECT_FALSE(allowed("src/io/nifti", {"dcmtk/dcmdata/dctk.h", false}));
  EXPECT_FALSE(allowed("src/core", {"quietvoxSeriesImageSource.h", true}));
  EXPECT_FALSE(allowed("src/core", {"made.inc", true}));
  EXPECT_FALSE(allowed("src/elsewhere", {"vector", false}));
  EXPECT_TRUE(allowed("src/core", {"vector", false}));
}

}  // namespace
}  // namespace quietvox::test
