// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace quietvox::cli {

/// This program once more, as a process of its own, with stderr in common.
class ChildProcess {
 public:
  /// `words`: its command line; `input`: what stands on its stdin. Throws Error(internal) where it cannot be started.
  ChildProcess(const std::vector<std::string>& words, const std::string& input);
  /// Kills the process where it is still running.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line of its stdout; none at the end, which its death brings too. Once a stop is requested, it gets
  /// SIGTERM.
  std::optional<std::string> next_line(const std::stop_token&);

  /// Waits for its end and says what that was: `signal 11 (Segmentation fault)`, `exit status 1`.
  std::string wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string read_;
  bool is_told_to_stop_ = false;
};

}  // namespace quietvox::cli
