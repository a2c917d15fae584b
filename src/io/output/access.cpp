// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/access.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "io/files/paths.hpp"

namespace quietvox::io {
namespace {

constexpr mode_t of_group = 060, of_others = 06;

}  // namespace

Access Access::operator&(const Access& other) const {
  Access both{bits & other.bits, group ? group : other.group};
  if (group && other.group && *group != *other.group) both.bits &= ~of_group;
  return both;
}

Access access_of(std::span<const std::filesystem::path> files) {
  Access access;
  std::filesystem::path folder;
  mode_t entered = of_group | of_others;  // by whom the folder can be entered
  for (const std::filesystem::path& file : files) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0) continue;
    const Access own{status.st_mode & (of_group | of_others), status.st_gid};
    if (auto parent = parent_of(file); parent != folder) {
      folder = std::move(parent);
      if (stat(folder.c_str(), &status) != 0) continue;
      entered = (status.st_mode & S_IXGRP ? of_group : 0) | (status.st_mode & S_IXOTH ? of_others : 0);
    }
    access = access & own & Access{entered, {}};
  }
  return access;
}

int give_access(int file, mode_t usual, const Access& most) {
  struct stat status {};
  if (fstat(file, &status) != 0) return errno;
  mode_t mode = usual & (0600 | most.bits);
  // The bits of the group are for the input's group only.
  if (most.group && status.st_gid != *most.group && fchown(file, static_cast<uid_t>(-1), *most.group) != 0) {
    mode &= ~of_group;
  }
  if (S_ISDIR(status.st_mode)) mode |= (mode & 0444) >> 2;
  return fchmod(file, mode) == 0 ? 0 : errno;
}

}  // namespace quietvox::io
