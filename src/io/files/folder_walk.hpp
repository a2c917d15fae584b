// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace quietvox::io {

/// What lies in a folder, in its subfolders, and in the folders that links in it lead to. Each folder is looked into
/// once, by whichever way; one that the folder itself lies in is not.
struct FolderWalk {
  struct File {
    std::filesystem::path path, name;  ///< name: relative to the folder, links as they are
  };
  std::vector<File> files;                    ///< regular ones, in the order of their names
  std::vector<Error> closed;                  ///< what may hold some, but cannot be looked into
  std::vector<std::string> skipped;           ///< `NAME: reason`, for links that are not followed
  std::vector<std::filesystem::path> linked;  ///< where the files and folders really lie that links lead to
};

/// Throws Error(input_path) where the folder itself cannot be read.
FolderWalk walk_folder(const std::filesystem::path&);

}  // namespace quietvox::io
