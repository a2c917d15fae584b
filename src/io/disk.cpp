// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace quietvox::io {
namespace fs = std::filesystem;

int sync_to_disk(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  return error == EINVAL ? 0 : error;  // some file systems cannot sync a folder, and say so
}

int rename_to_free_place(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (stands_at(to)) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;  // a file system without that flag
}

int exchange(const fs::path& a, const fs::path& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  const fs::path aside = aside_of(a);
  if (std::rename(b.c_str(), aside.c_str()) != 0) return errno;
  if (std::rename(a.c_str(), b.c_str()) != 0) {
    const int error = errno;
    std::rename(aside.c_str(), b.c_str());
    return error;
  }
  return std::rename(aside.c_str(), a.c_str()) == 0 ? 0 : errno;
}

fs::path aside_of(const fs::path& a) { return a.string() + ".aside"; }  // no name of a staging: it is never abandoned

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool stands_at(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

}  // namespace quietvox::io
