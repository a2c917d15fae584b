// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/placement.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <thread>

#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

using Placements = std::span<const Placement>;
using Result = std::pair<std::size_t, int>;

// A forked child calls what follows: no memory may be allocated.

/// Whether renameat2() failed because the file system does not know the flag.
bool lacks_flag(int error) { return error == EINVAL || error == ENOSYS; }

/// Renames only where nothing stands at `to`. Returns an error number, or 0.
int rename_to_free_place(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (!lacks_flag(errno)) return errno;
  if (stands_at(to)) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// Exchanges what was staged with what is expected at the target: at one instant where the file system can, else in
/// three steps, while that stands aside. Returns an error number, or 0; what was begun is not taken back.
int exchange(const Placement& one, const Placement::Identity& expected) {
  if (renameat2(AT_FDCWD, one.staged.c_str(), AT_FDCWD, one.target.c_str(), RENAME_EXCHANGE) == 0) {
    return Placement::at(one.staged) == expected ? 0 : ESTALE;
  }
  if (!lacks_flag(errno)) return errno;
  if (const int error = rename_to_free_place(one.target, one.aside)) return error;
  if (Placement::at(one.aside) != expected) return ESTALE;
  const int error = rename_to_free_place(one.staged, one.target);
  return error == 0 ? rename_to_free_place(one.aside, one.staged) : error;
}

/// However far it came.
void roll_back_one(const Placement& one) {
  if (Placement::at(one.target) == one.made) {
    if (!one.replaces() || stands_at(one.aside)) {
      rename_to_free_place(one.target, one.staged);
    } else if (exchange(one, one.made) != 0) {
      rename_to_free_place(one.aside, one.target);
      rename_to_free_place(one.staged, one.aside);  // not ours, and must not go with what is
    }
  }
  rename_to_free_place(one.aside, one.target);
}

Result roll_back_all(Placements placements) {
  for (auto placed = placements.rbegin(); placed != placements.rend(); ++placed) roll_back_one(*placed);
  return {};
}

Result place_all(Placements placements) {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const Placement& one = placements[i];
    const int error = one.replaces() ? exchange(one, one.replaced) : rename_to_free_place(one.staged, one.target);
    if (error == 0) continue;
    roll_back_all(placements);
    return {i, error};
  }
  return {};
}

/// What may take several renames runs in a child process, which goes on if this one is killed. If the child is killed,
/// this one rolls all back.
Result uninterrupted(Result (*work)(Placements), Placements placements) {
  if (placements.size() == 1 && !placements.front().replaces()) return work(placements);
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return work(placements);
  auto* const child_result = new (shared) Result(0, EOWNERDEAD);
  const pid_t child = fork_apart();
  if (child <= 0) *child_result = work(placements);
  if (child == 0) _exit(0);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const Result result = *child_result;
  munmap(shared, sizeof result);
  if (result.second == EOWNERDEAD) roll_back_all(placements);
  return result;
}

}  // namespace

Placement::Identity Placement::at(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) status.st_size = status.st_mtim.tv_sec = status.st_mtim.tv_nsec = 0;
  return {status.st_dev,  status.st_ino,         status.st_mode & S_IFMT,
          status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

std::pair<std::size_t, int> place_together(Placements placements) { return uninterrupted(place_all, placements); }

void roll_back(Placements placements) { uninterrupted(roll_back_all, placements); }

std::list<Descriptor> lock_folders(const std::set<fs::path>& folders, const Execution& execution,
                                   std::chrono::milliseconds longest) {
  std::list<Descriptor> held;
  constexpr std::chrono::milliseconds silent = 1s, pause = 10ms;
  auto waited = 0ms;
  for (const fs::path& folder : folders) {  // in the same order in each process, so that no two wait for each other
    held.emplace_back(folder, O_RDONLY | O_DIRECTORY);
    for (; flock(held.back(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; waited += pause) {
      check_stop(execution.stop);
      const bool gives_up = waited >= longest;
      if (execution.note && (gives_up || waited == silent)) {
        execution.note(folder.string() + (gives_up ? ": still locked by another process; going on without waiting"
                                                   : ": waiting for another process, which has locked this folder"));
      }
      if (gives_up) return held;
      std::this_thread::sleep_for(pause);
    }
  }
  return held;
}

}  // namespace quietvox::io
