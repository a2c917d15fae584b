// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/file_states.hpp"

#include <system_error>

#include "core/error.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;

FileStates::FileStates(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    if (const auto state = state_of(file)) states_.emplace(file, *state);
  }
}

void FileStates::expect_unchanged() const {
  for (const auto& [file, state] : states_) {
    if (state_of(file).value_or(state) == state) continue;
    throw Error(Errc::input_path, file.string() +
                                      ": was written to while it was read, so that nothing is made of it; give it "
                                      "again when it is complete");
  }
}

std::optional<FileStates::State> FileStates::state_of(const fs::path& file) {
  std::error_code error;
  const State state{fs::last_write_time(file, error), error ? 0 : fs::file_size(file, error)};
  return error ? std::nullopt : std::optional(state);
}

}  // namespace quietvox::io
