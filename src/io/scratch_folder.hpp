// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quietvox::io {

/// A new folder that vanishes with this object and all that it holds.
class ScratchFolder {
 public:
  /// Beside `output`, with a name made from its own. Throws Error(not_writable).
  explicit ScratchFolder(const std::filesystem::path& output);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace quietvox::io
