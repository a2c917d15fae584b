// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/file_state.hpp"

#include <sys/stat.h>

#include <tuple>

#include "core/error.hpp"

namespace quietvox::io {

FileState::FileState(const std::filesystem::path& file) : path(file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return;
  device = found.st_dev;
  number = found.st_ino;
  bytes = found.st_size;
  written = std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec;
}

bool FileState::has_changed() const {
  const FileState now(path);
  const auto all = [](const FileState& state) {
    return std::tuple(state.device, state.number, state.bytes, state.written);
  };
  return all(now) != all({}) && all(now) != all(*this);
}

void expect_unchanged(std::span<const FileState> files) {
  for (const FileState& file : files) {
    if (!file.has_changed()) continue;
    throw Error(Errc::input_path, file.path.string() +
                                      ": changed while it was read, so that nothing is made of it; give it again when "
                                      "it is complete");
  }
}

}  // namespace quietvox::io
