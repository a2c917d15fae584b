// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/staging_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <random>
#include <set>
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
/// A process that is to end removes no more than it can until then.
using Clock = std::chrono::steady_clock;
std::atomic<Clock::time_point> removes_until = Clock::time_point::max();

/// In a folder that others may write to they can give a private folder another name, and put a link in its place, at
/// any time: what lies in it is reached by the descriptor alone.
constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

fs::path random_name() {
  std::random_device chance;
  char digits[staging_digits + 1];
  std::snprintf(digits, sizeof digits, "%08x%08x", chance(), chance());
  return std::string(staging_prefix).append(digits).append(staging_suffix);
}

/// Others may give a folder the name of a staging folder, but cannot put such a file into it.
std::string lock_name(const fs::path& staging) {
  return staging.stem().string().substr(staging_prefix.size()) + ".lock";
}

/// All zero where the file is not open, or does not stand in the open folder.
struct stat status_of(int file) {
  struct stat status {};
  fstat(file, &status);
  return status;
}
struct stat status_of(int folder, const std::string& name) {
  struct stat status {};
  fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  return status;
}

/// What stands under such a name, opened, and locked if it is stale.
struct Found {
  explicit Found(const fs::path& path) : folder(path, as_folder) {
    const struct stat of_folder = status_of(folder);
    is_private = of_folder.st_uid == geteuid() && (of_folder.st_mode & 0777) == 0700;
    if (!is_private) return;
    const std::string name = lock_name(path);
    const struct stat of_lock = status_of(folder, name);
    constexpr off_t most_bytes = 1;  // of what earlier versions left
    if (!S_ISREG(of_lock.st_mode) || of_lock.st_nlink != 1 || of_lock.st_size > most_bytes) return;
    lock.emplace(folder.reached_by(path) / name, O_RDWR | O_NOFOLLOW);
    is_stale = flock(*lock, LOCK_EX | LOCK_NB) == 0;
  }

  Descriptor folder;
  std::optional<Descriptor> lock;
  bool is_private = false, is_stale = false;
};

/// Calls `take` with all that lies in a folder, until it returns an error number. Returns that, or 0.
template <class Take>
int for_each_in(const fs::path& folder, const Take& take) {
  std::error_code error;
  int failed = 0;
  for (fs::directory_iterator at(folder, error), end; failed == 0 && at != end; at.increment(error)) {
    failed = take(at->path());
  }
  return failed == 0 && error != std::errc::no_such_file_or_directory ? error.value() : failed;
}

/// Removes a file, a link or an empty folder. Returns an error number, or 0; ENOTEMPTY for a folder that holds
/// something, into which its owner may write then.
int remove_one(const fs::path& path) {
  if (Clock::now() > removes_until.load()) return ETIME;
  if (unlinkat(AT_FDCWD, path.c_str(), 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR) return errno;
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return 0;
  // Where it fails, what comes next fails too. The owner of what was replaced may still change what it holds.
  [[maybe_unused]] const int ignored = fchmodat(AT_FDCWD, path.c_str(), 0700, AT_SYMLINK_NOFOLLOW);
  return ENOTEMPTY;
}

/// Removes all in a private folder but one file, as another thread may do too. Links are not followed. What lies deeper
/// is first moved up, so that any depth takes two open folders. Returns an error number, or 0.
int remove_all_but(const fs::path& kept, const fs::path& folder) {
  int error = 0;
  for (bool has_moved = true; has_moved && error == 0;) {
    has_moved = false;
    error = for_each_in(folder, [&](const fs::path& path) {
      if (path.filename() == kept) return 0;
      if (const int failed = remove_one(path); failed != ENOTEMPTY) return failed;
      const int failed = for_each_in(path, [&](const fs::path& below) {
        if (const int not_removed = remove_one(below); not_removed != ENOTEMPTY) return not_removed;
        has_moved = true;
        return std::rename(below.c_str(), (folder / random_name()).c_str()) == 0 || errno == ENOENT ? 0 : errno;
      });
      return failed == 0 ? remove_one(path) : failed;
    });
  }
  return error;
}

/// Removes a private folder. The lock goes last, so that an interrupted removal can be recognised, and while it is
/// held: who made the folder, and was not the first to lock it, sees that it is gone. Returns an error number, or 0.
int remove_staging(const fs::path& path, const Descriptor& folder, Descriptor& lock) {
  const fs::path inside = folder.reached_by(path);
  if (const int error = remove_all_but(lock_name(path), inside)) return error;
  unlinkat(folder, lock_name(path).c_str(), 0);
  lock.close();
  remove_all_but({}, inside);  // NFS and FUSE keep what is open under another name, until it is closed
  // An empty folder may have been moved, and another have its name by now.
  if (rmdir((inside / ".." / path.filename()).c_str()) == 0) return 0;
  if (for_each_in(inside, [](const fs::path&) { return ENOTEMPTY; }) == 0) return 0;
  Descriptor(inside / lock_name(path), O_WRONLY | O_CREAT, 0600);  // a thread has just made something in it
  return ENOTEMPTY;
}

/// Removes a folder that this process made, where nothing lies in it.
void leave(const fs::path& parent) {
  if (made_parents.contains(parent) && rmdir(parent.c_str()) == 0) made_parents.erase(parent);
}

}  // namespace

StagingFolder::StagingFolder(const fs::path& target) {
  const fs::path parent = parent_of(target);
  remove_stale_stagings(parent);
  const std::lock_guard guard(mutex);
  real_parent_ = real_path(parent);
  int error = EEXIST;
  constexpr int most_attempts = 100;
  for (int attempt = 0; error != 0 && attempt < most_attempts; ++attempt) {
    if (mkdir(real_parent_.c_str(), 0700) == 0) {
      made_parent_ = made_parents.insert(real_parent_).second;
    } else if (errno != EEXIST) {
      error = errno;
      break;
    }
    path_ = parent / random_name();
    error = mkdir(path_.c_str(), 0700) == 0 ? open_new() : errno;
    if (error != 0) rmdir(path_.c_str());
  }
  if (error != 0) {
    leave(real_parent_);
    throw Error(Errc::not_writable, target.string() + ": cannot be created: " + std::generic_category().message(error));
  }
  // Else somebody put another in its place.
  const auto is_ours = [](const fs::path& path) { return is_staging_name(path.filename().native()) ? 0 : ENOTEMPTY; };
  made_parent_ = made_parent_ && for_each_in(beside(""), is_ours) == 0;
  stagings.insert(this);
}

int StagingFolder::open_new() {
  folder_.emplace(path_, as_folder);
  if (!folder_->is_open()) return errno;
  const std::string name = lock_name(path_);
  lock_.emplace(*this / name, O_RDWR | O_CREAT | O_EXCL);
  if (!lock_->is_open()) return errno;
  usual_permissions_ = status_of(*lock_).st_mode & 0666;
  // Another folder may have its name by now: one of somebody else, or one of the same user that others may write to, or
  // that holds something. (Some file systems give all files an owner of their own, and so the lock too: FAT, SMB, NFS
  // as root.)
  const struct stat found = status_of(*folder_);
  int error = found.st_uid == status_of(*lock_).st_uid ? 0 : EPERM;
  if (error == 0 && (found.st_mode & 0777) != 0700) fchmod(*folder_, 0700 | (found.st_mode & S_ISGID));
  const auto is_lock = [&](const fs::path& path) { return path.filename() == name ? 0 : EPERM; };
  if (error == 0) error = for_each_in(*this / "", is_lock);
  if (error != 0) {
    fchmod(*folder_, found.st_mode & 07777);
    lock_->close();
    unlinkat(*folder_, name.c_str(), 0);
    return error;
  }
  fchmod(*lock_, 0600);
  // Who looks for stale ones may be faster to lock it, and has removed it by the time it can be locked.
  const bool is_taken = flock(*lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return is_taken || status_of(*folder_, name).st_ino != status_of(*lock_).st_ino ? EWOULDBLOCK : 0;
}

StagingFolder::~StagingFolder() {
  remove();
  const std::lock_guard guard(mutex);
  stagings.erase(this);
  leave(real_parent_);
}

int StagingFolder::remove() noexcept { return remove_staging(path_, *folder_, *lock_); }

std::unique_lock<std::mutex> keep_stagings() { return std::unique_lock(mutex); }

bool abandon_stagings() {
  auto lock = std::unique_lock(mutex, std::try_to_lock);
  if (!lock) return false;
  (void)lock.release();  // for ever
  removes_until = Clock::now() + std::chrono::milliseconds(200);
  for (StagingFolder* const folder : stagings) {
    // Until the process ends, its threads may make files in it, or be removing it too.
    while (folder->remove() != 0 && Clock::now() < removes_until.load()) usleep(1000);
  }
  for (const fs::path& parent : made_parents) rmdir(parent.c_str());
  return true;
}

bool is_stale_staging(const fs::path& path) {
  return is_staging_name(path.filename().native()) && Found(path).is_stale;
}

void remove_stale_stagings(const fs::path& folder) {
  for_each_in(folder, [](const fs::path& path) {
    if (!is_staging_name(path.filename().native())) return 0;
    Found found(path);
    if (found.is_stale) {
      remove_staging(path, found.folder, *found.lock);
    } else if (found.is_private) {
      rmdir(path.c_str());  // if its maker was killed before it made the lock
    }
    return 0;
  });
}

}  // namespace quietvox::io
