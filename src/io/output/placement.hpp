// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <tuple>

namespace quietvox::io {

/// How a finished file or folder comes to its place.
class Placement {
 public:
  /// With `force`, what stands at the target now is replaced. `aside`: a free name beside the target, where it stands
  /// for a moment on file systems that cannot exchange two names at once. Nothing ever removes it from there by itself.
  Placement(const std::filesystem::path& staged, const std::filesystem::path& target,
            const std::filesystem::path& aside, bool force);

  bool replaces() const noexcept { return replaced_ != Identity(); }
  /// Renames what was staged to the target. What it replaces stands under the staged name after that. Returns an error
  /// number, or 0: EEXIST where something stands there and nothing was to be replaced, ESTALE where something else has
  /// come to stand there.
  int place() const noexcept;
  /// Makes all as it was before, however far place() got. What else has come to the target stays there.
  void roll_back() const noexcept;

 private:
  /// Which file or folder it is, whatever its name: device, inode number and type. A new file may get the inode number
  /// of one that was removed, so size and time count too. What a folder holds is checked elsewhere.
  using Identity = std::tuple<dev_t, ino_t, mode_t, off_t, time_t, long>;
  static Identity at(const std::filesystem::path&) noexcept;
  int exchange(const Identity& expected) const noexcept;

  std::filesystem::path staged_, target_, aside_;
  Identity made_, replaced_;  ///< Identity(): nothing
};

/// Which placement failed, and why; error 0: none.
struct PlacementResult {
  std::size_t index = 0;
  int error = 0;
};

/// Puts all in place in the given order, or none, even where this process is killed: a child process does what takes
/// more than one rename.
PlacementResult place_together(std::span<const Placement>);

/// Takes back what was done, the last first, in the same way.
void roll_back(std::span<const Placement>);

}  // namespace quietvox::io
