// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>

namespace quietvox::io {

/// Which file stood at a path, and when it was last written to: to be taken before it is read, so that what was read of
/// it early and late is known to belong together.
struct FileState {
  std::filesystem::path path;
  dev_t device = 0;
  ino_t number = 0;
  off_t bytes = 0;
  std::int64_t written = 0;  ///< ns

  FileState() = default;
  explicit FileState(const std::filesystem::path&);
  /// Another file stands there, or it was written to. One that is gone has not changed.
  bool has_changed() const;
};

/// Throws Error(input_path) with the name of the first that changed.
void expect_unchanged(std::span<const FileState>);

}  // namespace quietvox::io
