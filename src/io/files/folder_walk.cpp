// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/folder_walk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "io/files/paths.hpp"
#include "io/files/staging_name.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

Error cannot_be_read(const fs::path& path, int error) {
  return {Errc::input_path, path.string() + ": cannot be read: " + std::generic_category().message(error)};
}

class Walker {
 public:
  explicit Walker(const fs::path& root) : root_(root), real_root_(fs::canonical(root)) {}

  /// What lies below without links comes first, so that a folder has its own name rather than that of a link to it.
  FolderWalk walk() {
    look_below(root_, real_root_);
    while (!links_.empty()) {
      std::vector<fs::path> links = std::exchange(links_, {});
      std::ranges::sort(links);
      for (const fs::path& link : links) follow(link);
    }
    std::ranges::sort(found_.files, {}, &FolderWalk::File::name);
    std::ranges::sort(found_.skipped);
    std::ranges::sort(found_.closed, {}, [](const Error& error) { return std::string_view(error.what()); });
    return std::move(found_);
  }

 private:
  fs::path name_of(const fs::path& path) const { return path.lexically_relative(root_); }

  /// One folder after another: they may be nested deeper than a stack is.
  void look_below(const fs::path& folder, const fs::path& real) {
    folders_.emplace_back(folder, real);
    while (!folders_.empty()) {
      const auto [next, really] = std::move(folders_.back());
      folders_.pop_back();
      look_into(next, really);
    }
  }

  void look_into(const fs::path& folder, const fs::path& real) {
    if (!seen_.insert(real).second) return;
    if (folder != root_ && faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) != 0) {
      found_.closed.push_back(cannot_be_read(folder, errno));
      return;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) take(entry, real);
  }

  void take(const fs::directory_entry& entry, const fs::path& real_folder) {
    std::error_code error;
    const fs::path& path = entry.path();
    const fs::file_status status = entry.status(error);
    if (fs::is_regular_file(status)) {
      found_.files.push_back({path, name_of(path)});
      if (entry.is_symlink()) found_.linked.push_back(fs::canonical(path));
    } else if (error == std::errc::too_many_symbolic_link_levels) {
      found_.skipped.push_back(name_of(path).string() + ": a link that leads to itself");
    } else if (status.type() == fs::file_type::none) {  // such as a link into a closed folder
      found_.closed.push_back(cannot_be_read(path, error.value()));
    } else if (status.type() == fs::file_type::not_found) {
      found_.skipped.push_back(name_of(path).string() + ": a link that leads nowhere");
    } else if (fs::is_directory(status) && is_staging_name(path.filename().native())) {
      // Of a run that writes there, and soon gone.
    } else if (fs::is_directory(status) && entry.is_symlink()) {
      links_.push_back(path);
    } else if (fs::is_directory(status)) {
      folders_.emplace_back(path, real_folder / path.filename());
    } else {
      found_.skipped.push_back(name_of(path).string() + ": neither a file nor a folder");
    }
  }

  void follow(const fs::path& link) {
    const fs::path real = fs::canonical(link);
    if (seen_.contains(real)) return;
    if (is_inside(real_root_, real)) {
      found_.skipped.push_back(name_of(link).string() + ": a link to a folder that the input lies in");
      return;
    }
    found_.linked.push_back(real);
    look_below(link, real);
  }

  fs::path root_, real_root_;
  std::set<fs::path> seen_;      ///< where they really lie: their numbers change on some network file systems
  std::vector<fs::path> links_;  ///< to folders, still to be followed
  std::vector<std::pair<fs::path, fs::path>> folders_;  ///< still to be looked into, and where they really lie
  FolderWalk found_;
};

}  // namespace

FolderWalk walk_folder(const fs::path& folder) {
  try {
    return Walker(folder).walk();
  } catch (const fs::filesystem_error& error) {
    throw cannot_be_read(folder, error.code().value());
  }
}

}  // namespace quietvox::io
