// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_rename.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "io/files/paths.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

// A forked child calls what follows: no memory may be allocated.

/// Whether renameat2() failed because the file system does not know the flag.
bool lacks_flag(int error) { return error == EINVAL || error == ENOSYS; }

/// Renames only where nothing stands at `to`. Returns an error number, or 0.
int rename_to_free_place(const fs::path& from, const fs::path& to) noexcept {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (!lacks_flag(errno)) return errno;
  if (stands_at(to)) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

PlacementResult roll_back_all(std::span<const Placement> placements) noexcept {
  for (auto placed = placements.rbegin(); placed != placements.rend(); ++placed) placed->roll_back();
  return {};
}

PlacementResult place_all(std::span<const Placement> placements) noexcept {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (const int error = placements[i].place()) {
      roll_back_all(placements);
      return {i, error};
    }
  }
  return {};
}

/// What may take several renames runs in a child process, which goes on if this one is killed. If the child is killed,
/// this one rolls all back.
PlacementResult uninterrupted(PlacementResult (*work)(std::span<const Placement>) noexcept,
                              std::span<const Placement> placements) {
  if (placements.size() == 1 && !placements.front().replaces()) return work(placements);
  void* const shared =
      mmap(nullptr, sizeof(PlacementResult), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return work(placements);
  auto* const child_result = new (shared) PlacementResult{0, EOWNERDEAD};
  const pid_t child = fork_apart();
  if (child <= 0) *child_result = work(placements);
  if (child == 0) _exit(0);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (child_result->error == EOWNERDEAD) roll_back_all(placements);
  const PlacementResult result = *child_result;
  munmap(shared, sizeof *child_result);
  return result;
}

}  // namespace

Placement::Identity Placement::at(const fs::path& path) noexcept {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) status.st_size = status.st_mtim.tv_sec = status.st_mtim.tv_nsec = 0;
  return {status.st_dev,  status.st_ino,         status.st_mode & S_IFMT,
          status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

Placement::Placement(const fs::path& staged, const fs::path& target, const fs::path& aside, bool force)
    : staged_(staged), target_(target), aside_(aside), made_(at(staged)), replaced_(force ? at(target) : Identity()) {}

int Placement::place() const noexcept {
  return replaces() ? exchange(replaced_) : rename_to_free_place(staged_, target_);
}

/// At one instant where the file system can; otherwise in three steps, while what stood at the target stands aside.
/// Something else than `expected` may have come there: ESTALE then.
int Placement::exchange(const Identity& expected) const noexcept {
  if (renameat2(AT_FDCWD, staged_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) == 0) {
    return at(staged_) == expected ? 0 : ESTALE;
  }
  if (!lacks_flag(errno)) return errno;
  if (const int error = rename_to_free_place(target_, aside_)) return error;
  const int error = at(aside_) == expected ? rename_to_free_place(staged_, target_) : ESTALE;
  if (error == 0) return rename_to_free_place(aside_, staged_);
  rename_to_free_place(aside_, target_);
  return error;
}

void Placement::roll_back() const noexcept {
  if (at(target_) == made_) {
    if (!replaces() || stands_at(aside_)) {
      rename_to_free_place(target_, staged_);
    } else if (exchange(made_) == ESTALE) {
      rename_to_free_place(staged_, aside_);  // not ours, and must not go with what is
    }
  }
  rename_to_free_place(aside_, target_);
}

PlacementResult place_together(std::span<const Placement> placements) { return uninterrupted(place_all, placements); }

void roll_back(std::span<const Placement> placements) { uninterrupted(roll_back_all, placements); }

}  // namespace quietvox::io
