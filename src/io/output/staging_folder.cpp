// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/staging_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <set>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "io/files/paths.hpp"
#include "io/files/staging_name.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

std::string random_token() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
  char text[staging_digits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
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

/// Whether a file system gives files the owners and modes of the mount, or of another machine, whoever made them.
bool has_owners_of_its_own(const Descriptor& folder) {
  constexpr std::array<unsigned long, 8> kinds{
      0x4d44,      0x2011bab0, 0x5346544e, 0xff534d42,   // FAT, exFAT, NTFS, CIFS
      0xfe534d42U, 0x517b,     0x6969,     0x65735546};  // SMB, NFS, FUSE
  struct statfs status {};
  return fstatfs(folder, &status) == 0 &&
         std::ranges::find(kinds, static_cast<unsigned long>(status.f_type) & 0xffffffffU) != kinds.end();
}

/// Whether an open file is the empty one that stands at a path, under that name alone.
bool is_lock_at(int file, const fs::path& path) {
  struct stat mine {
  }, standing{};
  return fstat(file, &mine) == 0 && lstat(path.c_str(), &standing) == 0 && mine.st_dev == standing.st_dev &&
         mine.st_ino == standing.st_ino && mine.st_size == 0 && mine.st_nlink == 1;
}

enum class Lock { acquired, unsupported, held };

/// Takes the lock of a staging folder, whose file `path` it makes where there is none. `held`: another process has it
/// or removed it meanwhile, or what lies there is no lock of ours.
Lock take_lock(const fs::path& path, std::optional<Descriptor>& lock, int how = 0) {
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) return Lock::held;
  lock.emplace(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | how);
  if (!lock->is_open()) return Lock::held;
  const int error = flock(*lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (error == EWOULDBLOCK || !is_lock_at(*lock, path)) return Lock::held;
  return error == 0 ? Lock::acquired : Lock::unsupported;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

bool is_folder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Empties a private folder, in which nobody else can change anything, and follows no link. Folders in it are moved up
/// before what they lie in goes: however deep they are, no path is long. The lock goes last: what is left where this
/// is cut short is still told by it. Returns an error number, or 0.
int empty(const fs::path& folder, const std::string& lock) {
  std::size_t moved = 0;
  const auto take_up = [&](const fs::path& path) {
    chmod(path.c_str(), 0700);  // to move it is to write in it
    const auto is_taken = [] { return errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR; };
    while (std::rename(path.c_str(), (folder / std::to_string(moved++)).c_str()) != 0) {
      if (!is_taken()) return errno;
    }
    return 0;
  };
  std::vector<std::string> names;
  while (names = names_in(folder), std::erase(names, lock), !names.empty()) {
    for (const std::string& name : names) {
      const fs::path path = folder / name;
      if (is_folder(path)) chmod(path.c_str(), 0700);
      for (const std::string& below : is_folder(path) ? names_in(path) : std::vector<std::string>()) {
        const fs::path inner = path / below;
        if (const int error = is_folder(inner) ? take_up(inner) : unlink(inner.c_str()) != 0 ? errno : 0) return error;
      }
      if (std::remove(path.c_str()) != 0) return errno;
    }
  }
  unlink((folder / lock).c_str());
  return 0;
}

/// Removes what stands at the name of a folder that was emptied: nothing but an empty folder.
int remove_staging(const fs::path& path, const Descriptor& folder) {
  if (const int error = empty(folder.reached_by(path), lock_name(path))) return error;
  return rmdir(path.c_str()) == 0 || errno == ENOTDIR ? 0 : errno;  // what took its name is not ours
}

/// Those of this process.
struct Stagings {
  std::mutex mutex;
  std::set<StagingFolder*> all;
};

Stagings& stagings() {
  static Stagings stagings;
  return stagings;
}

}  // namespace

StagingFolder::StagingFolder(const fs::path& target) {
  const fs::path parent = parent_of(target);
  remove_stale_stagings(parent);
  const std::lock_guard lock(stagings().mutex);
  constexpr int most_attempts = 100;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    path_ = parent / (std::string(staging_prefix) + random_token() + std::string(staging_suffix));
    // Who looks for stale ones may be faster to lock it, and removes it.
    if (mkdir(path_.c_str(), 0700) != 0) continue;
    folder_.emplace(path_, as_folder);
    const bool is_ours = is_private(*folder_) || (folder_->is_open() && has_owners_of_its_own(*folder_));
    if (is_ours && take_lock(*this / lock_name(path_), lock_, O_CREAT) != Lock::held) {
      stagings().all.insert(this);
      return;
    }
    rmdir(path_.c_str());
    errno = EPERM;
  }
  throw Error(Errc::not_writable, target.string() + ": cannot be created: " + std::generic_category().message(errno));
}

StagingFolder::~StagingFolder() {
  const std::lock_guard lock(stagings().mutex);
  stagings().all.erase(this);
  remove();
}

std::string StagingFolder::token() const { return digits_of(path_); }

bool StagingFolder::is_lost() const { return !is_lock_at(*lock_, *this / lock_name(path_)); }

mode_t StagingFolder::usual_permissions() const {
  struct stat status {};
  return fstat(*lock_, &status) == 0 ? status.st_mode & 0666 : 0600;
}

int StagingFolder::remove() noexcept {
  const int error = is_lost() ? 0 : remove_staging(path_, *folder_);
  // Who found it without its lock, which goes with the rest, removes it too.
  return stands_at(path_) && error != ENOTEMPTY ? error : 0;
}

std::unique_lock<std::mutex> keep_stagings() { return std::unique_lock(stagings().mutex); }

bool abandon_stagings() {
  auto lock = std::unique_lock(stagings().mutex, std::try_to_lock);
  if (!lock) return false;
  for (StagingFolder* const folder : stagings().all) folder->remove();
  (void)lock.release();  // for ever
  return true;
}

void remove_stale_stagings(const fs::path& folder) {
  for (const std::string& name : names_in(folder)) {
    const fs::path path = folder / name;
    if (!is_staging_name(name)) continue;
    const Descriptor opened(path, as_folder);
    if (!is_private(opened)) continue;
    // Nobody else can change what lies in a private folder, but others may have given it this name: it must hold the
    // lock of that name, which they cannot put there, or nothing.
    std::optional<Descriptor> lock;
    if (take_lock(opened.reached_by(path) / lock_name(path), lock) == Lock::acquired) {
      remove_staging(path, opened);
    } else {
      rmdir(path.c_str());
    }
  }
}

}  // namespace quietvox::io
