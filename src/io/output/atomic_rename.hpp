// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <span>
#include <string>

namespace quietvox::io {

/// How a finished file or folder comes to its place.
class Placement {
 public:
  /// `aside`: a free name beside the target, where what is replaced stands for a moment on file systems that cannot
  /// exchange two names at once. Nothing ever removes it from there by itself.
  Placement(const std::filesystem::path& staged, const std::filesystem::path& target,
            const std::filesystem::path& aside, bool replaces);

  bool replaces() const noexcept { return replaces_; }
  /// Renames what was staged to the target. What it replaces stands under the staged name after that. Returns an error
  /// number, or 0: EEXIST where something stands there and nothing was to be replaced.
  int place() const noexcept;
  /// Makes all as it was before, however far place() got. Returns an error number, or 0.
  int take_back() const noexcept;

 private:
  bool is_in_place() const noexcept;

  std::string staged_, target_, aside_;
  bool replaces_;
  dev_t device_ = 0;
  ino_t number_ = 0;  ///< of what was staged
};

/// Which placement failed, and why; error 0: none.
struct PlacementResult {
  std::size_t index = 0;
  int error = 0;
};

/// Puts all in place in the given order, or none. What takes several renames is done by a child process, which goes on
/// where this one is killed; where that one is killed, this one takes back what it did.
PlacementResult place_together(std::span<const Placement>);

}  // namespace quietvox::io
