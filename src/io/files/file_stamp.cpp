// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/file_stamp.hpp"

#include <system_error>

namespace quietvox::io {

FileStamp::FileStamp(const std::filesystem::path& file) : path(file) {
  std::error_code error;
  written = std::filesystem::last_write_time(file, error);
  bytes = std::filesystem::file_size(file, error);
  is_there = !error;
}

bool FileStamp::has_changed() const {
  const FileStamp now(path);
  return now.is_there && (now.bytes != bytes || now.written != written);
}

void expect_unchanged(std::span<const FileStamp> files) {
  for (const FileStamp& file : files) {
    if (!file.has_changed()) continue;
    throw Error(Errc::input_path, file.path.string() + ": changed while it was being read; nothing was written",
                "run again when it is complete");
  }
}

}  // namespace quietvox::io
