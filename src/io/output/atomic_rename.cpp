// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_rename.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

// A forked child calls what follows: no memory may be allocated.

bool stands(const std::string& path) noexcept {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0;
}

int rename_to(const std::string& from, const std::string& to) noexcept {
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// Whether renameat2() failed because the file system does not know the flag.
bool lacks_flag(int error) { return error == EINVAL || error == ENOSYS; }

/// Renames only where nothing stands at `to`.
int rename_to_free_place(const std::string& from, const std::string& to) noexcept {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (!lacks_flag(errno)) return errno;
  return stands(to) ? EEXIST : rename_to(from, to);
}

/// At one instant where the file system can; otherwise in three steps, while `b` stands at `aside`.
int exchange(const std::string& a, const std::string& b, const std::string& aside) noexcept {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (!lacks_flag(errno)) return errno;
  if (const int error = rename_to_free_place(b, aside)) return error;
  if (const int error = rename_to(a, b)) {
    rename_to(aside, b);
    return error;
  }
  return rename_to(aside, a);
}

PlacementResult place_all(std::span<const Placement> placements) noexcept {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const int error = placements[i].place();
    if (error == 0) continue;
    for (std::size_t done = i + 1; done-- > 0;) placements[done].take_back();
    return {i, error};
  }
  return {};
}

}  // namespace

Placement::Placement(const fs::path& staged, const fs::path& target, const fs::path& aside, bool replaces)
    : staged_(staged), target_(target), aside_(aside), replaces_(replaces) {
  struct stat status {};
  if (lstat(staged_.c_str(), &status) != 0) return;
  device_ = status.st_dev;
  number_ = status.st_ino;
}

bool Placement::is_in_place() const noexcept {
  struct stat status {};
  return lstat(target_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == number_;
}

int Placement::place() const noexcept {
  return replaces_ ? exchange(staged_, target_, aside_) : rename_to_free_place(staged_, target_);
}

int Placement::take_back() const noexcept {
  if (is_in_place()) {
    if (replaces_ && !stands(aside_)) return exchange(staged_, target_, aside_);
    if (const int error = rename_to(target_, staged_)) return error;
  }
  return replaces_ && stands(aside_) && !stands(target_) ? rename_to(aside_, target_) : 0;
}

PlacementResult place_together(std::span<const Placement> placements) {
  std::array<int, 2> ends{};
  const bool is_one_step = placements.size() == 1 && !placements.front().replaces();
  if (is_one_step || pipe2(ends.data(), O_CLOEXEC) != 0) return place_all(placements);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a handler of the program is not for the child to run
  const pid_t child = fork();
  if (child == 0) {
    setsid();  // what is sent to the group of the program, such as Ctrl-C, is not for it
    const PlacementResult result = place_all(placements);
    const ssize_t told = write(ends[1], &result, sizeof result);
    _exit(told == sizeof result ? 0 : 1);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(ends[1]);
  PlacementResult result;
  ssize_t got = 0;
  while (child > 0 && (got = read(ends[0], &result, sizeof result)) < 0 && errno == EINTR) {
  }
  close(ends[0]);
  if (child < 0) return place_all(placements);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (got == sizeof result) return result;
  for (std::size_t i = placements.size(); i-- > 0;) placements[i].take_back();
  return {0, EOWNERDEAD};
}

}  // namespace quietvox::io
