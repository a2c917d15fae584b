// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_rename.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

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

PlacementResult place_all(std::span<const Placement> placements) noexcept {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const int error = placements[i].place();
    if (error == 0) continue;
    for (std::size_t done = i + 1; done-- > 0;) placements[done].roll_back();
    return {i, error};
  }
  return {};
}

}  // namespace

std::optional<Placement::Identity> Placement::at(const std::string& path) noexcept {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  if (S_ISDIR(status.st_mode)) status.st_size = status.st_mtim.tv_sec = status.st_mtim.tv_nsec = 0;
  return Identity{status.st_dev,  status.st_ino,         status.st_mode & S_IFMT,
                  status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

Placement::Placement(const fs::path& staged, const fs::path& target, const fs::path& aside, bool force)
    : staged_(staged), target_(target), aside_(aside), made_(at(staged_)) {
  if (force) replaced_ = at(target_);
}

int Placement::place() const noexcept {
  return replaces() ? exchange(replaced_) : rename_to_free_place(staged_, target_);
}

/// At one instant where the file system can; otherwise in three steps, while what stood at the target stands aside.
/// Something else than `expected` may have come there: ESTALE then.
int Placement::exchange(const std::optional<Identity>& expected) const noexcept {
  if (renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) {
    return at(staged_) == expected ? 0 : ESTALE;
  }
  if (!lacks_flag(errno)) return errno;
  if (const int error = rename_to_free_place(target_, aside_)) return error;
  const int error = at(aside_) == expected ? rename_to_free_place(staged_, target_) : ESTALE;
  if (error == 0) return rename_to(aside_, staged_);
  rename_to_free_place(aside_, target_);
  return error;
}

int Placement::roll_back() const noexcept {
  if (at(target_) == made_) {
    if (!replaces() || stands(aside_)) {
      if (const int error = rename_to(target_, staged_)) return error;
    } else {
      const int error = exchange(made_);
      if (error != ESTALE) return error;
      return rename_to_free_place(staged_, aside_);  // not ours, and must not go with what is
    }
  }
  return replaces() && stands(aside_) && !stands(target_) ? rename_to(aside_, target_) : 0;
}

PlacementResult place_together(std::span<const Placement> placements) {
  const bool is_one_step = placements.size() == 1 && !placements.front().replaces();
  void* const shared =
      is_one_step ? MAP_FAILED
                  : mmap(nullptr, sizeof(PlacementResult), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return place_all(placements);
  auto* const told = new (shared) PlacementResult{0, EOWNERDEAD};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a handler of the program is not for the child to run
  const pid_t child = fork();
  if (child == 0) {
    setsid();  // what is sent to the group of the program, such as Ctrl-C, is not for it
    *told = place_all(placements);
    _exit(0);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const PlacementResult result = child < 0 ? place_all(placements) : *told;
  munmap(shared, sizeof *told);
  for (std::size_t i = result.error == EOWNERDEAD ? placements.size() : 0; i-- > 0;) placements[i].roll_back();
  return result;
}

}  // namespace quietvox::io
