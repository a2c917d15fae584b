// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/staging_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <set>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view prefix = ".quietvox-", suffix = ".part";
constexpr std::size_t token_digits = 16;

std::string random_token() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(getpid());
  char text[token_digits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

bool is_of(int file, const fs::path& path) {
  struct stat mine {
  }, standing{};
  return fstat(file, &mine) == 0 && lstat(path.c_str(), &standing) == 0 && mine.st_dev == standing.st_dev &&
         mine.st_ino == standing.st_ino;
}

enum class Lock { mine, unsupported, none };

/// Takes the lock of a staging folder, whose file it makes where there is none. `none`: another process has it or
/// removed it meanwhile, or what lies there is no lock of ours.
Lock take_lock(const fs::path& folder, std::optional<Descriptor>& lock, int how = 0) {
  const fs::path path = folder / StagingFolder::lock_name;
  std::error_code ignored;
  const fs::file_status there = fs::symlink_status(path, ignored);
  if (fs::exists(there) && !fs::is_regular_file(there)) return Lock::none;
  lock.emplace(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | how);
  if (!lock->is_open()) return Lock::none;
  const int error = flock(*lock, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (error == EWOULDBLOCK || !is_of(*lock, path)) return Lock::none;
  return error == 0 ? Lock::mine : Lock::unsupported;
}

/// The lock goes last: what is left of a folder whose removal was cut short is still told by it.
void remove_staging(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> others;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename() != StagingFolder::lock_name) others.push_back(entry->path());
  }
  for (const fs::path& other : others) fs::remove_all(other, error);
  fs::remove_all(folder, error);
}

bool is_private_folder(const fs::path& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 0777) == 0700;
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
    path_ = parent / (std::string(prefix) + random_token() + std::string(suffix));
    // Who looks for stale ones may be faster to lock it, and removes it.
    if (mkdir(path_.c_str(), 0700) == 0 && take_lock(path_, lock_, O_CREAT) != Lock::none) {
      stagings().all.insert(this);
      return;
    }
  }
  throw Error(Errc::not_writable, target.string() + ": cannot be created: " + std::generic_category().message(errno));
}

StagingFolder::~StagingFolder() {
  const std::lock_guard lock(stagings().mutex);
  stagings().all.erase(this);
  remove();
}

std::string StagingFolder::token() const { return path_.filename().string().substr(prefix.size(), token_digits); }

bool StagingFolder::is_lost() const { return !is_of(*lock_, path_ / lock_name); }

mode_t StagingFolder::usual_permissions() const {
  struct stat status {};
  return fstat(*lock_, &status) == 0 ? status.st_mode & 0666 : 0600;
}

int StagingFolder::remove() noexcept {
  std::error_code error;
  if (!is_lost()) remove_staging(path_, error);
  // Who found it without its lock, which goes with the rest, removes it too.
  return stands_at(path_) && error.value() != ENOTEMPTY ? error.value() : 0;
}

std::unique_lock<std::mutex> keep_stagings() { return std::unique_lock(stagings().mutex); }

bool abandon_stagings() {
  auto lock = std::unique_lock(stagings().mutex, std::try_to_lock);
  if (!lock) return false;
  for (StagingFolder* const folder : stagings().all) folder->remove();
  (void)lock.release();  // for ever
  return true;
}

bool is_staging_name(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  if (name.size() != prefix.size() + token_digits + suffix.size()) return false;
  return name.substr(prefix.size(), token_digits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void remove_stale_stagings(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    if (is_staging_name(entry->path().filename().native())) found.push_back(entry->path());
  }
  for (const fs::path& path : found) {
    std::optional<Descriptor> lock;
    if (!is_private_folder(path)) continue;
    // Nobody else can change what lies in a private folder, nor put a link in the way of its removal, but others may
    // have given it this name: it must hold a lock already, which they cannot put there, or nothing.
    if (take_lock(path, lock) == Lock::mine) {
      remove_staging(path, ignored);
    } else {
      rmdir(path.c_str());
    }
  }
}

}  // namespace quietvox::io
