// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <mutex>
#include <optional>

#include "io/files/posix_file.hpp"

namespace quietvox::io {

/// A private folder (mode 0700) beside an output, in which the output is made: `.quietvox-0123456789abcdef.part`. It
/// goes with this object. Its maker holds a lock on the empty file `0123456789abcdef.lock` in it, and the lock ends
/// with the process, however that ends: a folder of such a name whose lock is free is what a killed process left. On
/// file systems without locks nobody can tell, and such folders stay.
class StagingFolder {
 public:
  /// First removes what killed runs left in the parent folder. A missing parent is made with mode 0700; if it stays
  /// empty, it is removed with the last StagingFolder in it. Throws Error(not_writable), naming `target`.
  explicit StagingFolder(const std::filesystem::path& target);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  /// What lies in it, wherever others may have moved it, and whatever they put in its place.
  std::filesystem::path operator/(const std::filesystem::path& name) const { return folder_->reached_by(path_) / name; }
  /// What lies beside it. Nobody else can move it into another folder: that takes permission to write into it.
  std::filesystem::path beside(const std::filesystem::path& name) const { return *this / ".." / name; }
  /// Where it was made, for messages.
  const std::filesystem::path& path() const { return path_; }
  /// Whether it made the folder that it lies in.
  bool made_parent() const { return made_parent_; }
  /// The permissions of a new file of this process.
  mode_t usual_permissions() const { return usual_permissions_; }
  /// Removes it now, with all that it holds, if that is not done yet. Returns an error number, or 0.
  int remove() noexcept;

 private:
  /// What was just made, with its lock. Returns an error number, or 0.
  int open_new();

  std::filesystem::path path_, real_parent_;
  std::optional<Descriptor> folder_, lock_;
  mode_t usual_permissions_ = 0;
  bool made_parent_ = false;
};

/// While it is held, abandon_stagings() does nothing: what is renamed together is renamed.
std::unique_lock<std::mutex> keep_stagings();

/// For a process that is about to end itself, whatever its threads are at: removes its staging folders, for a fifth
/// of a second. Who makes or destroys one or calls keep_stagings() from now on waits for the end. False while
/// keep_stagings() is held.
bool abandon_stagings();

/// Whether it is what a killed process left: a folder, no link, of such a name and of this user, which nobody else may
/// enter, and which holds a free lock with the digits of its name.
bool is_stale_staging(const std::filesystem::path&);

/// Removes those in a folder, and empty ones of such a name.
void remove_stale_stagings(const std::filesystem::path& folder);

}  // namespace quietvox::io
