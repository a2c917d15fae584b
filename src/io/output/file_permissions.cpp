// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/file_permissions.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

constexpr mode_t of_group = 070, of_others = 07;
constexpr const char* acl_name = "system.posix_acl_access";

/// What everybody has who is not the owner, in the group or not.
mode_t everybodys(mode_t bits) {
  const mode_t both = bits & bits >> 3 & of_others;
  return both << 3 | both;
}

/// An entry of a POSIX access control list as the kernel gives it, little endian.
struct AclEntry {
  std::uint16_t kind, permissions;
  std::uint32_t id;
};

/// The permissions of a file or folder. With an access control list, the bits of the group are only its mask: then the
/// group has what its entry, the mask and every named entry allow, and others no more than every named entry does; if
/// the list is too long to read, neither has anything.
mode_t permissions(const fs::path& path, mode_t mode) {
  constexpr std::uint16_t named_user = 0x02, owning_group = 0x04, named_group = 0x08;
  constexpr std::size_t header = 4;
  std::array<char, 4096> list;
  const ssize_t size = getxattr(path.c_str(), acl_name, list.data(), list.size());
  if (size < 0) return errno == ERANGE ? mode & ~(of_group | of_others) : mode;
  const mode_t most = mode >> 3 & of_others;
  mode_t group = most, named = of_others;
  for (std::size_t at = header; at + sizeof(AclEntry) <= static_cast<std::size_t>(size); at += sizeof(AclEntry)) {
    AclEntry entry;
    std::memcpy(&entry, list.data() + at, sizeof entry);
    if (entry.kind == owning_group) group &= entry.permissions;
    if (entry.kind == named_user || entry.kind == named_group) named &= entry.permissions & most;
  }
  return (mode & ~(of_group | of_others)) | (group & named) << 3 | (mode & named & of_others);
}

FolderId identity_of(const fs::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 ? FolderId(status.st_dev, status.st_ino) : FolderId();
}

/// Whose bits are the same for the group as for all others, is of no group.
Access access(mode_t bits, gid_t group) { return everybodys(bits) == bits ? Access{bits, {}} : Access{bits, group}; }

Access of_file(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return {0, {}};
  return access(permissions(file, status.st_mode) & 066, status.st_gid);
}

Access of_folder(const fs::path& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return {0, {}};
  const mode_t mode = permissions(folder, status.st_mode);
  return access((mode & S_IXGRP ? 060 : 0) | (mode & S_IXOTH ? 06 : 0), status.st_gid);
}

}  // namespace

Access Access::operator&(const Access& other) const {
  std::set<FolderId> all = places;
  all.insert(other.places.begin(), other.places.end());
  if (group && other.group && *group != *other.group) return {everybodys(bits) & everybodys(other.bits), {}, all};
  return {bits & other.bits, group ? group : other.group, all};
}

Access Access::in(const fs::path& folder) const {
  std::set<FolderId> above;
  for (fs::path at = folder; above.insert(identity_of(at)).second; at /= "..") {
  }
  return std::ranges::includes(above, places) ? *this : Access{0, {}};
}

Access access_of(std::span<const fs::path> files, const fs::path& output) {
  const fs::path place = real_path(parent_of(output));
  Access access;
  access.places = {identity_of(stands_at(place) ? place : place.parent_path())};
  std::set<fs::path> seen;
  for (const fs::path& file : files) {
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    access = access & of_file(file);
    const fs::path real = fs::canonical(file, error);
    if (error) continue;
    for (fs::path folder = real.parent_path(); !is_inside(place, folder); folder = folder.parent_path()) {
      if (!seen.insert(folder).second) break;
      access = access & of_folder(folder);
    }
  }
  return access;
}

int give_access(int file, mode_t usual, const Access& most) {
  struct stat status {};
  if (fstat(file, &status) != 0) return errno;
  const bool has_list = fgetxattr(file, acl_name, nullptr, 0) > 0;
  const bool is_of_group = !most.group || *most.group == status.st_gid;
  // The bits of the group are for the input's group only.
  const bool is_for_all = has_list || (!is_of_group && fchown(file, static_cast<uid_t>(-1), *most.group) != 0);
  mode_t mode = usual & (0600 | (is_for_all ? everybodys(most.bits) : most.bits));
  if (S_ISDIR(status.st_mode)) mode |= (mode & 0444) >> 2 | (status.st_mode & S_ISGID);
  if (fchmod(file, mode) == 0) return 0;
  // The file system has no modes, or gives files another owner: what it gave stays, and we made the file with the
  // least.
  return errno == ENOSYS || errno == ENOTSUP || errno == EPERM ? 0 : errno;
}

}  // namespace quietvox::io
