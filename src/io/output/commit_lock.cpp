// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/commit_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
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
  const auto is_anothers = [&](const fs::path& folder) {
    held_.emplace_back(folder, O_RDONLY | O_DIRECTORY);
    return flock(held_.back(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  };
  const auto note = [&](const std::string& line) {
    if (execution.note) execution.note(line);
  };
  for (bool told = false;;) {
    const auto busy = std::ranges::find_if(folders, is_anothers);
    if (busy == folders.end()) return;
    held_.clear();  // who waits holds nothing, so that no two wait for each other
    check_stop(execution.stop);
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > longest) {
      note(busy->string() + ": still locked by another process; going on without waiting");
      return;
    }
    if (waited > silent && !std::exchange(told, true)) {
      note(busy->string() + ": waiting for another process, which has locked this folder");
    }
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace quietvox::io
