// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <span>

namespace quietvox::io {

/// Who besides its owner may read and write a file, at most. An output never gives more access than its input.
struct Access {
  mode_t bits = 066;           ///< of the permissions: reading and writing, for the group and for all others
  std::optional<gid_t> group;  ///< the group that the bits speak of; none: whichever the file gets

  /// What both give. Two different groups give nothing to a group.
  Access operator&(const Access&) const;
};

/// What all of these files give, each in the folder that it lies in: who may not enter the folder cannot read it. Files
/// that are not there do not count.
Access access_of(std::span<const std::filesystem::path> files);

/// Gives a file or folder, which only its owner can reach so far, the permissions `usual` of a new one (rw only) within
/// `most`; folders may be entered by whoever may read them. Returns an error number, or 0.
int give_access(int file, mode_t usual, const Access& most);

}  // namespace quietvox::io
