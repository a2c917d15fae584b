// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace quietvox::test {

inline std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Every file of the project below `part` with one of these endings; paths are relative to the project's folder.
inline std::vector<std::filesystem::path> files_of(const std::string& part, const std::set<std::string>& endings) {
  const std::filesystem::path root = QUIETVOX_SOURCE_DIR;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / part)) {
    if (entry.is_regular_file() && endings.contains(entry.path().extension())) {
      files.push_back(std::filesystem::relative(entry.path(), root));
    }
  }
  return files;
}

}  // namespace quietvox::test
