// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>

#include "io/staging.hpp"

namespace quietvox::io {

/// The right to put outputs in place in folders, and to take away there what killed processes left: one process at a
/// time has it, so that none sees or mixes what another has half done. It is the lock of a file in each folder, and
/// ends with this object or with the process, however that ends. Where the file system knows no locks, all go on
/// without.
class CommitTurn {
 public:
  CommitTurn() = default;
  ~CommitTurn();
  CommitTurn(const CommitTurn&) = delete;
  CommitTurn& operator=(const CommitTurn&) = delete;

  /// Of the file in a folder whose lock is its turn. It is named as a staging, and so goes as an abandoned one.
  static constexpr std::string_view file_name = "outputs.part-quietvox-0-0.lock";

  enum class Answer { mine, anothers, no_locks };
  /// Adds a folder, without waiting.
  Answer take(const std::filesystem::path& folder);
  /// Adds folders, or throws Error(cancelled). Whoever waits holds none, so that no two wait for each other.
  void wait_for(std::span<const std::filesystem::path> folders, const std::stop_token&);

 private:
  struct Held {
    std::filesystem::path file;
    PathLock lock;
  };
  void let_go();

  std::map<std::pair<dev_t, ino_t>, Held> held_;  ///< by folder, whatever it was called
};

}  // namespace quietvox::io
