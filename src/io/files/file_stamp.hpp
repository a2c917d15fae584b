// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "core/error.hpp"

namespace quietvox::io {

/// The size and the time of the last write of a file, taken before it is read. If neither has changed afterwards, all
/// that was read belongs together. The number of the file is not used: some network file systems change it.
struct FileStamp {
  std::filesystem::path path;
  std::uintmax_t bytes = 0;
  std::filesystem::file_time_type written{};
  bool is_there = false;

  FileStamp() = default;
  explicit FileStamp(const std::filesystem::path&);
  /// False of one that is gone.
  bool has_changed() const;
};

/// Throws Error(input_path) with the name of the first that changed.
void expect_unchanged(std::span<const FileStamp>);

/// Calls `body`. If that fails, though it was not asked to stop, and a file has changed, throws Error(input_path) with
/// the name of that file instead.
template <class Body>
void with_change_check(std::span<const FileStamp> files, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.code() != Errc::cancelled) expect_unchanged(files);
    throw;
  }
}

}  // namespace quietvox::io
