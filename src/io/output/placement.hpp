// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <list>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/execution.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io {

/// How a finished file or folder comes to its place: what was staged is renamed to the target, and what it replaces
/// stands under the staged name after that.
struct Placement {
  /// Which file or folder it is, whatever its name: device, inode number and type. A new file may get the inode number
  /// of one that was removed, so size and time count too. What a folder holds is checked elsewhere.
  using Identity = std::tuple<dev_t, ino_t, mode_t, off_t, time_t, long>;

  /// Identity() where nothing stands.
  static Identity at(const std::filesystem::path&);
  bool replaces() const { return replaced != Identity(); }

  std::filesystem::path staged, target;
  /// A free name beside the target, where what is replaced stands for a moment on file systems that cannot exchange two
  /// names at once. Nothing ever removes it from there by itself.
  std::filesystem::path aside;
  bool force;  ///< what stands at the target now is replaced
  Identity made = at(staged), replaced = force ? at(target) : Identity();
};

/// Puts all in place in the given order, or none, even where this process is killed: a child process does what takes
/// more than one rename. Returns which failed, and an error number, or 0: EEXIST where something stands there and
/// nothing was to be replaced, ESTALE where something else has come to stand there, EOWNERDEAD where the child was
/// killed.
std::pair<std::size_t, int> place_together(std::span<const Placement>);

/// Makes all as it was before, the last first, in the same way. What else has come to a target stays there.
void roll_back(std::span<const Placement>);

/// Keeps runs that put outputs in place in the same folders from mixing theirs: takes a lock on each folder itself, for
/// which nothing is written. It ends with what is returned, or with the process. Where another process holds one, waits
/// and says so by `execution.note`. After the longest time it goes on without, as it does where the file system knows
/// no such locks: what waits is finished work. Throws Error(cancelled).
std::list<Descriptor> lock_folders(const std::set<std::filesystem::path>&, const Execution&,
                                   std::chrono::milliseconds longest = std::chrono::seconds(20));

}  // namespace quietvox::io
