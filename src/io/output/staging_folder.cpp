// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/staging_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <set>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "io/files/paths.hpp"
#include "io/files/staging_name.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

/// The staging folders of this process, and the folders that it made for them to lie in.
std::mutex mutex;
std::set<StagingFolder*> stagings;
std::set<fs::path> made_parents;

/// Removes a folder that this process made, where nothing lies in it.
void leave(const fs::path& parent) {
  if (made_parents.contains(parent) && rmdir(parent.c_str()) == 0) made_parents.erase(parent);
}

/// Others may give a folder the name of a staging folder, but cannot put such a file into it.
std::string lock_name(const fs::path& staging) {
  return staging.stem().string().substr(staging_prefix.size()) + ".lock";
}

/// In a folder that others may write to they can move a private folder and put a link in its place at any time: what
/// lies in it is reached by the descriptor alone.
constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/// All zero where the file is not open.
struct stat status_of(int file) {
  struct stat status {};
  fstat(file, &status);
  return status;
}

/// Whether only its maker can reach what lies in a folder that was just made with mode 0700. Some file systems (FAT,
/// SMB, NFS as root, 9p) give all files owners or modes of their own, and so the lock in it too.
bool is_of_its_maker(int folder, int lock) {
  constexpr mode_t unusual = 0610;  // which no file system gives by itself
  const bool has_modes = fchmod(lock, unusual) == 0 && (status_of(lock).st_mode & 0777) == unusual;
  [[maybe_unused]] const int ignored = fchmod(lock, 0600);
  const struct stat status = status_of(folder);
  return status.st_uid == status_of(lock).st_uid && ((status.st_mode & 0777) == 0700 || !has_modes);
}

/// The lock of a folder that is about to be removed has a byte: it is closed before, and the maker of a new folder,
/// which another took for stale, may have it then.
constexpr off_t condemned = 1;

/// Whether it still has a name, only one, and no more than so many bytes.
bool is_lock(int file, off_t most_bytes) {
  const struct stat status = status_of(file);
  return status.st_nlink == 1 && status.st_size <= most_bytes;
}

std::string random_digits() {
  std::random_device chance;
  char text[staging_digits + 1];
  std::snprintf(text, sizeof text, "%08x%08x", chance(), chance());
  return text;
}

// A forked child calls what follows: no memory may be allocated.

/// Calls `take` with the name of each thing in an open folder, until it returns an error number. Returns that, or 0.
template <class Take>
int for_each_name(int folder, const Take& take) {
  alignas(dirent64) std::array<char, 1 << 14> entries;
  lseek(folder, 0, SEEK_SET);
  ssize_t bytes = 0;
  while ((bytes = getdents64(folder, entries.data(), entries.size())) > 0) {
    for (const char* at = entries.data(); at < entries.data() + bytes;) {
      const auto& entry = *reinterpret_cast<const dirent64*>(at);
      at += entry.d_reclen;
      const std::string_view name = entry.d_name;
      if (name == "." || name == "..") continue;
      if (const int error = take(entry.d_name)) return error;
    }
  }
  return bytes == 0 || errno == ENOENT ? 0 : errno;  // ENOENT: the folder is gone already
}

/// Deletes a file or a link. Returns an error number, or 0 where it is gone; EISDIR for a folder, into which its owner
/// may write then.
int delete_file(int folder, const char* name) {
  if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR) return errno;
  // Where it fails, what comes next fails too, and says so.
  [[maybe_unused]] const int ignored = fchmodat(folder, name, 0700, AT_SYMLINK_NOFOLLOW);
  return EISDIR;
}

/// Removes all in a private folder but `kept`, without following links. What lies deeper is first moved up, so that any
/// depth takes two open folders. Another process may do the same. Returns an error number, or 0.
int empty(int folder, std::string_view kept) {
  unsigned number = 0;
  int error = 0;
  for (bool moved = true; moved && error == 0;) {
    moved = false;
    error = for_each_name(folder, [&](const char* name) {
      if (name == kept) return 0;
      if (const int failed = delete_file(folder, name); failed != EISDIR) return failed;
      const int inside = openat(folder, name, as_folder);
      if (inside < 0) return errno == ENOENT ? 0 : errno;
      const int failed = for_each_name(inside, [&](const char* below) {
        if (const int not_deleted = delete_file(inside, below); not_deleted != EISDIR) return not_deleted;
        moved = true;
        while (true) {
          char up[16];
          std::snprintf(up, sizeof up, ".up-%u", ++number);
          if (renameat(inside, below, folder, up) == 0 || errno == ENOENT) return 0;
          if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return errno;  // else it is taken
        }
      });
      close(inside);
      return failed != 0 || unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? failed : errno;
    });
  }
  return error;
}

/// Removes a private folder, in which nobody else can change anything. The lock is deleted last, so that an interrupted
/// removal can still be recognised; it is closed first, because some file systems keep open files under another name.
/// Where a thread has just made something, the lock comes back. Returns an error number, or 0.
int remove_staging(const fs::path& path, const std::string& name_of_lock, int folder, Descriptor& lock) noexcept {
  if (const int error = empty(folder, name_of_lock)) return error;
  lock.close();
  unlinkat(folder, name_of_lock.c_str(), 0);
  // An empty folder may have been moved, and another have its name by now.
  if (rmdir(path.c_str()) == 0 || for_each_name(folder, [](const char*) { return ENOTEMPTY; }) == 0) return 0;
  close(openat(folder, name_of_lock.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return ENOTEMPTY;
}

}  // namespace

StagingFolder::StagingFolder(const fs::path& target) {
  const auto fail = [&] {
    const int error = errno;
    leave(real_parent_);
    throw Error(Errc::not_writable, target.string() + ": cannot be created: " + std::generic_category().message(error));
  };
  const fs::path parent = parent_of(target);
  remove_stale_stagings(parent);
  const std::lock_guard guard(mutex);
  real_parent_ = real_path(parent);
  made_parent_ = mkdir(real_parent_.c_str(), 0700) == 0;
  if (!made_parent_ && errno != EEXIST) fail();
  if (made_parent_) made_parents.insert(real_parent_);
  parent_.emplace(parent, O_RDONLY | O_DIRECTORY);
  if (!parent_->is_open()) fail();
  // Else somebody put another in its place.
  const auto is_ours = [](const char* name) { return is_staging_name(name) ? 0 : ENOTEMPTY; };
  made_parent_ = made_parent_ && for_each_name(*parent_, is_ours) == 0;
  constexpr int most_attempts = 100;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    path_ = parent / std::string(staging_prefix).append(random_digits()).append(staging_suffix);
    made_ = beside(path_.filename());
    if (mkdir(made_.c_str(), 0700) != 0) continue;
    const int error = open_new();
    if (error == 0) {
      stagings.insert(this);
      return;
    }
    rmdir(made_.c_str());
    errno = error;
  }
  fail();
}

int StagingFolder::open_new() {
  folder_.emplace(made_, as_folder);
  if (!folder_->is_open()) return errno;
  lock_name_ = lock_name(path_);
  const fs::path lock = *this / lock_name_;
  lock_.emplace(lock, O_RDWR | O_CREAT | O_EXCL);
  if (!lock_->is_open()) return errno;
  usual_permissions_ = status_of(*lock_).st_mode & 0666;
  // What already held something is another folder, which somebody gave this name just now.
  const auto is_ours = [&](const char* name) { return name == lock_name_ ? 0 : EPERM; };
  if (!is_of_its_maker(*folder_, *lock_) || for_each_name(*folder_, is_ours) != 0) {
    lock_->close();
    unlink(lock.c_str());
    return EPERM;
  }
  // Who looks for stale ones may be faster to lock it, and removes it.
  const bool is_taken = flock(*lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return is_taken || !is_lock(*lock_, 0) ? EWOULDBLOCK : 0;
}

StagingFolder::~StagingFolder() {
  remove();
  const std::lock_guard guard(mutex);
  stagings.erase(this);
  leave(real_parent_);
}

fs::path StagingFolder::aside() const { return beside(path_.stem().string().substr(1) + ".replaced"); }

int StagingFolder::remove() noexcept {
  const int error = is_removed_ ? 0 : remove_staging(made_, lock_name_, *folder_, *lock_);
  is_removed_ = error == 0;
  return error;
}

std::unique_lock<std::mutex> keep_stagings() { return std::unique_lock(mutex); }

bool abandon_stagings() {
  auto lock = std::unique_lock(mutex, std::try_to_lock);
  if (!lock) return false;
  (void)lock.release();  // for ever
  if (stagings.empty() && made_parents.empty()) return true;
  const pid_t child = fork_apart();
  constexpr int most_tries = 50, most_waits = 20, pause = 10'000;  // half a second, a fifth of one
  if (child <= 0) {
    for (StagingFolder* const folder : stagings) {
      // Until the process ends, its threads may make files in it, or be removing it too.
      for (int tries = 0; folder->remove() != 0 && tries < most_tries; ++tries) usleep(pause);
    }
    for (const fs::path& parent : made_parents) rmdir(parent.c_str());
  }
  if (child == 0) _exit(0);
  for (int waits = 0; waits < most_waits && child > 0 && waitpid(child, nullptr, WNOHANG) == 0; ++waits) usleep(pause);
  return true;
}

void remove_stale_stagings(const fs::path& folder) {
  for_each_name(Descriptor(folder, O_RDONLY | O_DIRECTORY), [&](const char* name) {
    if (!is_staging_name(name)) return 0;
    const fs::path path = folder / name;
    const Descriptor opened(path, as_folder);
    const struct stat status = status_of(opened);
    if (status.st_uid != geteuid() || (status.st_mode & 0777) != 0700) return 0;
    // Nobody else can change what lies in a private folder, but others may have given it this name: it must hold the
    // lock of that name, which they cannot put there, or nothing.
    const fs::path lock_path = opened.reached_by(path) / lock_name(path);
    std::error_code ignored;
    if (!fs::is_regular_file(fs::symlink_status(lock_path, ignored))) {
      rmdir(path.c_str());
    } else if (Descriptor lock(lock_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
               flock(lock, LOCK_EX | LOCK_NB) == 0 && is_lock(lock, condemned) && ftruncate(lock, condemned) == 0) {
      remove_staging(path, lock_name(path), opened, lock);
    }
    return 0;
  });
}

}  // namespace quietvox::io
