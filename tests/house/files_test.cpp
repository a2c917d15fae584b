// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "house/source_tree.hpp"

namespace quietvox::test {
namespace {

/// Folders that hold the project's own text.
std::vector<std::filesystem::path> own_files(const std::set<std::string>& endings) {
  std::vector<std::filesystem::path> files;
  for (const char* folder :
       {"src", "cuda", "itk_adapters", "python", "tests", "bench", "cmake", "scripts", "docs", ".github"}) {
    for (const auto& file : files_of(folder, endings)) files.push_back(file);
  }
  return files;
}

const std::set<std::string> sources{".hpp", ".cpp",   ".h",  ".hxx", ".cxx", ".cu",
                                    ".cuh", ".cmake", ".py", ".sh",  ".yml"};

TEST(House, EverySourceNamesItsLicence) {
  const auto files = own_files(sources);
  ASSERT_GT(files.size(), 50U);
  for (const auto& file : files) {
    const std::string text = text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / file);
    const std::string head = text.substr(0, 300);
    EXPECT_NE(head.find("SPDX-FileCopyrightText: The quietvox authors\n"), std::string::npos) << file;
    EXPECT_NE(head.find("SPDX-License-Identifier: Apache-2.0\n"), std::string::npos) << file;
  }
}

TEST(House, FilesEndInOneNewlineAndHoldNoTabsOrTrailingSpace) {
  static const std::regex trailing("[ \\t]\\n");
  for (const auto& file : own_files(sources)) {
    const std::string text = text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / file);
    EXPECT_TRUE(text.ends_with("\n") && !text.ends_with("\n\n")) << file;
    EXPECT_EQ(text.find('\t'), std::string::npos) << file;
    EXPECT_FALSE(std::regex_search(text, trailing)) << file;
  }
}

TEST(House, NothingIsLeftToDoInTheText) {
  const std::regex unfinished(R"(\b(TO)DO\b|\b(FIX)ME\b|\b(XX)X\b)");
  for (const auto& file : own_files(sources)) {
    EXPECT_FALSE(std::regex_search(text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / file), unfinished)) << file;
  }
}

TEST(House, HeadersAreIncludedOnce) {
  for (const auto& file : own_files({".hpp", ".cuh"})) {
    const std::string text = text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / file);
    const bool per_target = text.find("HWY_TARGET_TOGGLE") != std::string::npos;  // Highway includes those repeatedly
    EXPECT_TRUE(per_target || text.find("\n#pragma once\n") != std::string::npos) << file;
  }
}

TEST(House, TheReadmeShowsTheShortExamplesAsTheyAreBuilt) {
  const std::string readme = text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / "README.md");
  for (const auto& [name, most] : {std::pair{"denoise_file.cpp", 10}, {"denoise_array.cpp", 12}}) {
    std::string text = text_of(std::filesystem::path(QUIETVOX_SOURCE_DIR) / "tests/package/consumer" / name);
    text.erase(0, text.find("#include"));
    EXPECT_NE(readme.find("```cpp\n" + text + "```\n"), std::string::npos) << name;
    EXPECT_LE(std::ranges::count(text.substr(text.find("int main")), '\n'), most) << name;
  }
}

TEST(House, PagesLinkToFilesThatExist) {
  static const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  std::vector<std::filesystem::path> pages = files_of("docs", {".md"});
  for (const char* page : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "bench/NOTES.md"})
    pages.emplace_back(page);
  const std::filesystem::path root = QUIETVOX_SOURCE_DIR;
  for (const auto& page : pages) {
    const std::string text = text_of(root / page);
    for (auto match = std::sregex_iterator(text.begin(), text.end(), link); match != std::sregex_iterator(); ++match) {
      const auto target = (root / page).parent_path() / (*match)[1].str();
      EXPECT_TRUE(std::filesystem::exists(target)) << page << " links to " << (*match)[1].str();
    }
  }
}

}  // namespace
}  // namespace quietvox::test
