// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "io/abandoned.hpp"
#include "io/disk.hpp"
#include "io/staging.hpp"

namespace quietvox::io {

/// A new folder that vanishes with this object and all that it holds.
class ScratchFolder {
 public:
  /// Beside `output`, with a name made from its own. Throws Error(not_writable).
  explicit ScratchFolder(const std::filesystem::path& output) : staging_(output, Staging::Kind::folder) {
    remove_abandoned(parent_of(output));
  }

  std::filesystem::path operator/(const std::filesystem::path& name) const { return staging_.path() / name; }

 private:
  Staging staging_;
};

}  // namespace quietvox::io
