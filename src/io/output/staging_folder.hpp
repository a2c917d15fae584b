// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

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
  /// A name in the folder that it was made in, wherever others may have moved that, and whatever they put in its place.
  std::filesystem::path beside(const std::filesystem::path& name) const {
    return parent_->reached_by(path_.parent_path()) / name;
  }
  /// Where it was made, for messages.
  const std::filesystem::path& path() const { return path_; }
  /// A name beside it that is free, since chance chose it: what nobody is to remove may stand there for a moment.
  std::filesystem::path aside() const;
  /// Whether it made the folder that it lies in.
  bool made_parent() const { return made_parent_; }
  /// The permissions of a new file of this process.
  mode_t usual_permissions() const { return usual_permissions_; }
  /// Removes it now, with all that it holds, if that is not done yet. Allocates no memory. Returns an error number, or
  /// 0.
  int remove() noexcept;

 private:
  /// What was just made, with its lock. Returns an error number, or 0.
  int open_new();

  std::filesystem::path path_, real_parent_;
  std::filesystem::path made_;  ///< by which it was made, wherever others may have moved its parent
  std::string lock_name_;
  std::optional<Descriptor> parent_, folder_, lock_;
  mode_t usual_permissions_ = 0;
  bool made_parent_ = false;
  std::atomic<bool> is_removed_ = false;
};

/// While it is held, abandon_stagings() does nothing: what is renamed together is renamed.
std::unique_lock<std::mutex> keep_stagings();

/// For a process that is about to end itself, whatever its threads are at: removes all its staging folders, or lets a
/// child go on with that where it takes long. Who makes or destroys one or calls keep_stagings() from now on waits for
/// the end. False while keep_stagings() is held.
bool abandon_stagings();

/// Removes the staging folders in a folder whose processes are gone: folders, not links, of such a name and of this
/// user, which nobody else may enter, and which hold a free lock with the digits of their name, or nothing.
void remove_stale_stagings(const std::filesystem::path& folder);

}  // namespace quietvox::io
