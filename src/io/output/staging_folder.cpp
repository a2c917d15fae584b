// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/staging_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

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

std::string random_digits() {
  std::random_device chance;
  char text[staging_digits + 1];
  std::snprintf(text, sizeof text, "%08x%08x", chance(), chance());
  return text;
}

/// The digits in the name of a staging folder.
std::string digits_of(const fs::path& folder) {
  return folder.filename().string().substr(staging_prefix.size(), staging_digits);
}

/// Others may give a folder the name of a staging folder, but cannot put such a file into it.
std::string lock_name(const fs::path& folder) { return digits_of(folder) + ".lock"; }

/// In a folder that others may write to they can move a private folder and put a link in its place at any time: what
/// lies in it is reached by the descriptor alone.
constexpr int as_folder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

/// Of this user, and for nobody else.
bool is_private(const Descriptor& folder) {
  struct stat status {};
  return folder.is_open() && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & 0777) == 0700;
}

/// Permissions; 0600 where they cannot be read.
mode_t mode_of(const Descriptor& file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? status.st_mode & 0777 : 0600;
}

/// Whether only its maker can reach what lies in a folder that was just made with mode 0700. Some file systems (FAT,
/// SMB, NFS as root, 9p) give all files owners or modes of their own, and so the lock in it too.
bool is_of_its_maker(const Descriptor& folder, const Descriptor& lock) {
  constexpr mode_t unusual = 0610;  // which no file system gives by itself
  const bool has_modes = fchmod(lock, unusual) == 0 && mode_of(lock) == unusual;
  [[maybe_unused]] const int ignored = fchmod(lock, 0600);
  struct stat of_folder {
  }, of_lock{};
  return fstat(folder, &of_folder) == 0 && fstat(lock, &of_lock) == 0 && of_folder.st_uid == of_lock.st_uid &&
         ((of_folder.st_mode & 0777) == 0700 || !has_modes);
}

/// The lock of a folder that is about to be removed has a byte: it is closed before, and the maker of a new folder,
/// which another took for stale, may have it then.
constexpr off_t condemned = 1;

/// Takes the lock of a staging folder. Returns an error number, or 0: EWOULDBLOCK where another process has it or has
/// removed it, or it is no lock of ours.
int take_lock(const Descriptor& lock, off_t most_bytes) {
  struct stat status {};
  const int error = flock(lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  const bool is_lock =
      fstat(lock, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= most_bytes && status.st_nlink == 1;
  return is_lock ? error : EWOULDBLOCK;
}

/// What lies in a folder; nothing where it cannot be read.
std::vector<fs::path> paths_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); entry != fs::directory_iterator(); entry.increment(error)) {
    paths.push_back(entry->path());
  }
  return paths;
}

// A forked child calls what follows: no memory may be allocated.

/// Empties an open folder but for `kept`. Makes each subfolder writable by its owner, then passes it to
/// `remove_folder`. Follows no link. Returns an error number, or 0.
template <class RemoveFolder>
int remove_all_in(int folder, std::string_view kept, const RemoveFolder& remove_folder) {
  alignas(dirent64) std::array<char, 1 << 14> entries;
  lseek(folder, 0, SEEK_SET);
  ssize_t bytes = 0;
  while ((bytes = getdents64(folder, entries.data(), entries.size())) > 0) {
    for (const char* at = entries.data(); at < entries.data() + bytes;) {
      const auto& entry = *reinterpret_cast<const dirent64*>(at);
      at += entry.d_reclen;
      const std::string_view name = entry.d_name;
      if (name == "." || name == ".." || name == kept) continue;
      if (unlinkat(folder, entry.d_name, 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR) return errno;
      // Where it fails, what comes next fails too, and says so.
      [[maybe_unused]] const int ignored = fchmodat(folder, entry.d_name, 0700, AT_SYMLINK_NOFOLLOW);
      if (const int error = remove_folder(entry)) return error;
    }
  }
  return bytes == 0 || errno == ENOENT ? 0 : errno;  // ENOENT: the folder is gone already
}

/// Empties a private folder, in which nobody else can change anything, without following links. Folders inside
/// subfolders are first moved up, so that any depth takes two open folders. The lock is deleted last, so that an
/// interrupted removal can still be recognised; it is closed first, because some file systems keep open files under
/// another name. Finally removes what now has the folder's name, if that is an empty folder; where a thread has just
/// made something in it, the lock comes back. Returns an error number, or 0.
int remove_staging(const fs::path& path, const std::string& name_of_lock, int folder, Descriptor& lock) noexcept {
  unsigned number = 0;
  for (bool moved = true; std::exchange(moved, false);) {
    const int error = remove_all_in(folder, name_of_lock, [&](const dirent64& one) {
      const int inside = openat(folder, one.d_name, as_folder | O_CLOEXEC);
      if (inside < 0) return errno;
      int failed = remove_all_in(inside, {}, [&](const dirent64& below) {
        moved = true;
        while (true) {
          char up[16];
          std::snprintf(up, sizeof up, ".up-%u", ++number);
          if (renameat(inside, below.d_name, folder, up) == 0) return 0;
          if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return errno;  // else it is taken
        }
      });
      close(inside);
      if (failed == 0 && unlinkat(folder, one.d_name, AT_REMOVEDIR) != 0) failed = errno;
      return failed;
    });
    if (error != 0) return error;
  }
  lock.close();
  unlinkat(folder, name_of_lock.c_str(), 0);
  if (rmdir(path.c_str()) == 0 || errno != ENOTEMPTY) return 0;
  struct stat ours {
  }, there{};
  if (fstat(folder, &ours) != 0 || lstat(path.c_str(), &there) != 0 || ours.st_dev != there.st_dev ||
      ours.st_ino != there.st_ino) {
    return 0;  // another folder has the name by now
  }
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
  remove_stale_stagings(parent_of(target));
  const std::lock_guard guard(mutex);
  real_parent_ = real_path(parent_of(target));
  made_parent_ = mkdir(real_parent_.c_str(), 0700) == 0;
  if (!made_parent_ && errno != EEXIST) fail();
  if (made_parent_) made_parents.insert(real_parent_);
  parent_.emplace(parent_of(target), O_PATH | O_DIRECTORY);
  made_parent_ = made_parent_ && std::ranges::all_of(paths_in(beside("")), [](const fs::path& path) {
                   return is_staging_name(path.filename().string());  // else somebody put another in its place
                 });
  constexpr int most_attempts = 100;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    path_ = parent_of(target) / (std::string(staging_prefix) + random_digits() + std::string(staging_suffix));
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
  usual_permissions_ = mode_of(*lock_) & 0666;
  // What already held something is another folder, which somebody gave this name just now.
  if (!is_of_its_maker(*folder_, *lock_) || paths_in(*this / "").size() != 1) {
    lock_->close();
    unlink(lock.c_str());
    return EPERM;
  }
  // Who looks for stale ones may be faster to lock it, and removes it.
  return take_lock(*lock_, 0) == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

StagingFolder::~StagingFolder() {
  remove();
  const std::lock_guard guard(mutex);
  leave(real_parent_);
}

fs::path StagingFolder::aside() const { return beside("quietvox-" + digits_of(path_) + ".replaced"); }

int StagingFolder::remove_now() noexcept { return remove_staging(made_, lock_name_, *folder_, *lock_); }

int StagingFolder::remove() noexcept {
  {
    const std::lock_guard guard(mutex);
    if (!stagings.contains(this)) return 0;
  }
  const int error = remove_now();  // may take long: abandon_stagings() does not wait for it
  const std::lock_guard guard(mutex);
  stagings.erase(this);
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
      for (int tries = 0; folder->remove_now() != 0 && tries < most_tries; ++tries) usleep(pause);
    }
    for (const fs::path& parent : made_parents) rmdir(parent.c_str());
  }
  if (child == 0) _exit(0);
  for (int waits = 0; waits < most_waits && child > 0 && waitpid(child, nullptr, WNOHANG) == 0; ++waits) usleep(pause);
  return true;
}

void remove_stale_stagings(const fs::path& folder) {
  for (const fs::path& path : paths_in(folder)) {
    if (!is_staging_name(path.filename().string())) continue;
    const Descriptor opened(path, as_folder);
    if (!is_private(opened)) continue;
    // Nobody else can change what lies in a private folder, but others may have given it this name: it must hold the
    // lock of that name, which they cannot put there, or nothing.
    const fs::path name = opened.reached_by(path) / lock_name(path);
    std::error_code ignored;
    if (!fs::is_regular_file(fs::symlink_status(name, ignored))) {
      rmdir(path.c_str());
    } else if (Descriptor lock(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
               take_lock(lock, condemned) == 0 && ftruncate(lock, condemned) == 0) {
      remove_staging(path, lock_name(path), opened, lock);
    }
  }
}

}  // namespace quietvox::io
