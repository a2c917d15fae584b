// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace quietvox::io {

// Who may remove or rename what, of any number of processes in one folder: whoever holds the lock of a staging, after
// which it still stood under its name. Its maker does until it is done, or is killed; nobody else comes between then,
// and what is lost all the same is found lost at commit. A staging is there a moment before it is locked, and may then
// be looked at as if it were abandoned: its maker waits for that, or goes on to the next name and leaves it to the
// other.

/// A lock on a file or folder, taken without waiting, that ends with this object or with the process, however that
/// ends. Where the file system knows no locks, there is none.
class PathLock {
 public:
  PathLock() = default;
  explicit PathLock(const std::filesystem::path&);
  PathLock(PathLock&&) noexcept;
  PathLock& operator=(PathLock&&) noexcept;
  ~PathLock();

  /// False where another holds it, and where there are no locks.
  explicit operator bool() const { return file_ >= 0; }
  bool is_anothers() const { return error_ == EWOULDBLOCK; }
  /// True where the lock is that of what stands at `path` now.
  bool is_of(const std::filesystem::path& path) const;

 private:
  int file_ = -1, error_ = 0;
};

/// A new file or folder beside a target: `a.part-quietvox-17-0.nii` for `a.nii`. It goes with this object. What a
/// killed process leaves behind is locked no longer: see remove_abandoned().
class Staging {
 public:
  enum class Kind { file, folder };

  /// Throws Error(not_writable) naming the target.
  Staging(const std::filesystem::path& target, Kind);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// It does not stand there any more.
  bool is_lost() const;
  /// What was made elsewhere on the same file system comes to stand here.
  std::error_code take(const std::filesystem::path& made);
  /// What stands there now is not removed.
  void let_go() { path_.clear(); }

 private:
  bool make(Kind);

  std::filesystem::path path_;
  PathLock lock_;
};

/// True of the names that stagings have: `a.part-quietvox-17-0.nii`, the mark, two numbers, and perhaps an ending.
bool is_staging_name(const std::string& name);

}  // namespace quietvox::io
