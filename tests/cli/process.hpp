// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace quietvox::test {

/// How a run of the program ended. A process that a signal ended counts as 128 plus the signal, as shells do.
struct Result {
  int status = -1;
  int signal = 0;  ///< that ended it, or 0
  std::string out, err;
  long peak_kib = 0;  ///< of memory
};

/// The program itself, running.
class Process {
 public:
  /// `stdout_path`: where stdout goes instead of into the result.
  explicit Process(const std::vector<std::string>& arguments, const std::filesystem::path& stdout_path = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until `text` stands on stderr or the program has ended; false in the latter case.
  bool wait_for_stderr(const std::string& text);
  void send(int signal);
  Result finish();

 private:
  bool poll();

  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int wait_status_ = 0;
  rusage usage_{};
  bool ended_ = false;
};

/// While it lives, programs are started with these environment variables.
class Environment {
 public:
  explicit Environment(std::map<std::string, std::string> variables);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::string> variables_;
};

/// By which programs are started with cli/preload/fault_injection.cpp loaded, besides those given.
std::map<std::string, std::string> fault_variables(std::map<std::string, std::string> others = {});

/// Runs the program to its end.
Result quietvox(const std::vector<std::string>& arguments);

/// The same; a failure of the test where the exit status is not 0.
Result quietvox_ok(const std::vector<std::string>& arguments);

std::string read_file(const std::filesystem::path&);
void write_file(const std::filesystem::path&, const std::string& content);

/// All files below a folder with their content, to see that nothing changed.
std::vector<std::pair<std::string, std::string>> contents(const std::filesystem::path& folder);

}  // namespace quietvox::test
