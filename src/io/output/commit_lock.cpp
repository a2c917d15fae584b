// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/commit_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

namespace quietvox::io {
namespace fs = std::filesystem;
using namespace std::chrono_literals;

CommitLock::CommitLock(const std::set<fs::path>& folders, const Execution& execution,
                       std::chrono::milliseconds longest) {
  constexpr auto silent = 1s;
  const auto start = std::chrono::steady_clock::now();
  const auto note = [&](const std::string& line) {
    if (execution.note) execution.note(line);
  };
  bool announced = false;
  for (const fs::path& folder : folders) {  // in the same order in each process, so that no two wait for each other
    held_.emplace_back(folder, O_RDONLY | O_DIRECTORY);
    while (flock(held_.back(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      check_stop(execution.stop);
      const auto waited = std::chrono::steady_clock::now() - start;
      if (waited > longest) {
        note(folder.string() + ": still locked by another process; going on without waiting");
        return;
      }
      if (waited > silent && !std::exchange(announced, true)) {
        note(folder.string() + ": waiting for another process, which has locked this folder");
      }
      std::this_thread::sleep_for(1ms);
    }
  }
}

}  // namespace quietvox::io
