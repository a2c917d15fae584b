// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/staging.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "io/disk.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view mark = ".part-quietvox-";

/// As much of it as leaves room for the rest of a name, and for what aside_of() adds.
std::string shortened(const std::string& stem, std::size_t rest) {
  constexpr std::size_t most = NAME_MAX - 6;
  std::size_t size = std::min(stem.size(), most - std::min(most, rest));
  while (size > 0 && size < stem.size() && (stem[size] & 0xc0) == 0x80) --size;  // no half of a UTF-8 character
  return stem.substr(0, size);
}

}  // namespace

PathLock::PathLock(const fs::path& path, int flags)
    : file_(open(path.c_str(), flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666)) {
  if (file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  error_ = errno;
  if (file_ >= 0) close(std::exchange(file_, -1));
}

PathLock::PathLock(PathLock&& other) noexcept : file_(std::exchange(other.file_, -1)), error_(other.error_) {}

PathLock& PathLock::operator=(PathLock&& other) noexcept {
  std::swap(file_, other.file_);
  error_ = other.error_;
  return *this;
}

PathLock::~PathLock() {
  if (file_ >= 0) close(file_);
}

bool PathLock::are_unknown() const {
  constexpr std::array errors{ENOLCK, ENOTSUP, EINVAL, ENOSYS, EBADF};
  return std::ranges::find(errors, error_) != errors.end();
}

bool PathLock::is_of(const fs::path& path) const {
  struct stat locked {
  }, standing{};
  return file_ >= 0 && fstat(file_, &locked) == 0 && lstat(path.c_str(), &standing) == 0 &&
         locked.st_dev == standing.st_dev && locked.st_ino == standing.st_ino;
}

Staging::Staging(const fs::path& target, Kind kind) {
  for (int attempt = 0;; ++attempt) {
    const std::string rest =
        std::string(mark) + std::to_string(getpid()) + "-" + std::to_string(attempt) + target.extension().string();
    path_ = target;
    path_.replace_filename(shortened(target.stem().string(), rest.size()) + rest);
    if (make(kind)) {
      lock_ = PathLock(path_);
      for (int wait = 0; wait < 100 && lock_.is_anothers(); ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        lock_ = PathLock(path_);
      }
      if (!lock_.is_anothers() && !is_lost()) return;
    } else if (errno != EEXIST) {
      throw Error(Errc::not_writable,
                  target.string() + ": cannot be created: " + std::generic_category().message(errno));
    }
  }
}

Staging::~Staging() {
  std::error_code ignored;
  if (!path_.empty() && !is_lost()) fs::remove_all(path_, ignored);
}

bool Staging::is_lost() const { return lock_ ? !lock_.is_of(path_) : !stands_at(path_); }

std::error_code Staging::take(const fs::path& made) {
  PathLock lock(made);  // before it stands where it could be taken for abandoned
  std::error_code error;
  fs::rename(made, path_, error);
  if (!error) lock_ = std::move(lock);
  return error;
}

bool Staging::make(Kind kind) {
  if (kind == Kind::folder) return mkdir(path_.c_str(), 0777) == 0;
  const int file = open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file >= 0) close(file);
  return file >= 0;
}

bool is_staging_name(const std::string& name) {
  const std::size_t at = name.find(mark);
  if (at == std::string::npos) return false;
  const std::string rest = name.substr(at + mark.size());
  const std::size_t hyphen = rest.find_first_not_of("0123456789");
  if (hyphen == 0 || hyphen == std::string::npos || rest[hyphen] != '-') return false;
  const std::size_t end = rest.find_first_not_of("0123456789", hyphen + 1);
  if (end == std::string::npos) return rest.size() > hyphen + 1;
  return end > hyphen + 1 && rest[end] == '.' && rest.find('.', end + 1) == std::string::npos;
}

}  // namespace quietvox::io
