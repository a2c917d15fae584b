// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/commit_turn.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/execution.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;

CommitTurn::~CommitTurn() { let_go(); }

CommitTurn::Answer CommitTurn::take(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return Answer::mine;  // nobody can put anything there
  const std::pair key{status.st_dev, status.st_ino};
  if (held_.contains(key)) return Answer::mine;
  const fs::path file = folder / file_name;
  PathLock lock;
  do {
    lock = PathLock(file, O_CREAT);
  } while (lock && !lock.is_of(file));  // the one before removed it
  if (lock.is_anothers()) return Answer::anothers;
  if (!lock) {
    if (lock.are_unknown()) unlink(file.c_str());
    return Answer::no_locks;
  }
  chmod(file.c_str(), 0666);  // others may wait for it too
  held_.emplace(key, Held{file, std::move(lock)});
  return Answer::mine;
}

void CommitTurn::wait_for(std::span<const fs::path> folders, const std::stop_token& stop) {
  while (std::ranges::any_of(folders, [&](const fs::path& folder) { return take(folder) == Answer::anothers; })) {
    let_go();
    check_stop(stop);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void CommitTurn::let_go() {
  for (const auto& [folder, held] : held_) unlink(held.file.c_str());
  held_.clear();
}

}  // namespace quietvox::io
