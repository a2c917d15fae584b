// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

namespace quietvox::io {

/// Files as they are when this is made, to be asked later whether one was written to meanwhile: then what was read of
/// it early and late need not belong together.
class FileStates {
 public:
  explicit FileStates(const std::vector<std::filesystem::path>&);
  /// Throws Error(input_path) with the name of the first that changed. Those that are gone did not.
  void expect_unchanged() const;

 private:
  struct State {
    std::filesystem::file_time_type written;
    std::uintmax_t bytes;
    bool operator==(const State&) const = default;
  };
  static std::optional<State> state_of(const std::filesystem::path&);  ///< none: it is gone

  std::map<std::filesystem::path, State> states_;
};

}  // namespace quietvox::io
