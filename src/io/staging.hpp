// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace quietvox::io {

// What keeps any number of processes in one folder apart:
// - Only who has the lock of a staging, and found it under its name after that, removes it or takes its name away. Its
//   maker has it to the end. Before the maker comes to lock it, another may, to see whether it is abandoned: the maker
//   waits for that, or leaves the name to the other. What is lost all the same is found lost at commit.
// - What stands at targets, and in the stagings' place once the two were exchanged, is touched only in the turn of the
//   folder (commit_turn.hpp), and so are abandoned stagings and records. What is there is listed in the turn.

/// A lock on a file or folder, taken without waiting, that ends with this object or with the process, however that
/// ends. Where the file system knows no locks, there is none.
class PathLock {
 public:
  PathLock() = default;
  explicit PathLock(const std::filesystem::path&, int flags = 0);  ///< of open()
  PathLock(PathLock&&) noexcept;
  PathLock& operator=(PathLock&&) noexcept;
  ~PathLock();

  /// False where another holds it, and where there are no locks.
  explicit operator bool() const { return file_ >= 0; }
  bool is_anothers() const { return error_ == EWOULDBLOCK; }
  /// The file system knows none.
  bool are_unknown() const;
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
