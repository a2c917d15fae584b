// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace quietvox::io {

/// Which folder it is, whatever its name: device and number.
using FolderId = std::pair<dev_t, ino_t>;

/// Who besides its owner may read and write a file, at most. An output never gives more access than its input.
struct Access {
  mode_t bits = 066;            ///< of the permissions: reading and writing, for the group and for all others
  std::optional<gid_t> group;   ///< the group that the bits speak of; none: any
  std::set<FolderId> places{};  ///< holds for an output that lies in all of these folders, or below

  /// What both give. Of two different groups, each has what all others have.
  Access operator&(const Access&) const;
  /// For an output that came to lie in this folder: nobody's where it does not hold there.
  Access in(const std::filesystem::path& folder) const;
};

/// The access that all of these files grant, links followed and limited by the folders that they really lie in,
/// up to the first that `output` lies in too, since that one limits both alike. Access control lists
/// count; missing files do not.
Access access_of(std::span<const std::filesystem::path> files, const std::filesystem::path& output);

/// Sets the mode of a file or folder that only its owner can reach so far: `usual`, that of a new one (rw only), within
/// `most`; folders may be entered by whoever may read them. Where its folder gave it an access control list, nobody on
/// it gets more than `most` gives to all others. Returns an error number, or 0.
int give_access(int file, mode_t usual, const Access& most);

}  // namespace quietvox::io
