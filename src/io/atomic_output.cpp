// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "io/dicom_result.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void throw_not_writable(const fs::path& path, std::string_view what, int error) {
  throw Error(Errc::not_writable,
              path.string() + ": " + std::string(what) + ": " + std::generic_category().message(error));
}

/// `/a/b/` names `/a/b`.
fs::path without_trailing_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

fs::path parent_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

/// Replacing a folder removes all that it holds; what is no earlier result is not ours to remove.
void refuse_foreign_files(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const bool is_folder = entry.is_directory() && !entry.is_symlink();
    const bool is_result = entry.is_regular_file() && !entry.is_symlink() && is_dicom_result(entry.path());
    if (!is_folder && !is_result) {
      throw Error(Errc::exists, folder.string() + ": holds " + entry.path().lexically_relative(folder).string() +
                                    ", which was not made by quietvox, and is therefore not replaced; give another "
                                    "output");
    }
  }
}

void refuse_existing(const fs::path& target, AtomicOutput::Kind kind, bool force) {
  const fs::file_status status = fs::status(target);
  const bool fits = kind == AtomicOutput::Kind::file ? fs::is_regular_file(status) : fs::is_directory(status);
  if (fs::exists(status) && !fits) {
    throw Error(Errc::output_path,
                target.string() + (kind == AtomicOutput::Kind::file ? ": is no regular file; give the name of a file"
                                                                    : ": is no folder; give the name of a folder"));
  }
  if (!force) throw Error(Errc::exists, target.string() + ": exists already; use --force to replace it");
  if (kind != AtomicOutput::Kind::folder || !fs::exists(status)) return;
  remove_abandoned(target);
  refuse_foreign_files(target);
}

/// The error number, or 0.
int sync_to_disk(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  return error == EINVAL ? 0 : error;  // some file systems cannot sync a folder, and say so
}

/// Renames only where nothing stands at `to`.
void rename_to_free_place(const fs::path& from, const fs::path& to) {
  int status = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (status != 0 && (errno == EINVAL || errno == ENOSYS) && !fs::exists(fs::symlink_status(to))) {
    status = std::rename(from.c_str(), to.c_str());  // a file system without that flag
  }
  if (status != 0 && (errno == EEXIST || errno == ENOTEMPTY || errno == EINVAL)) {
    throw Error(Errc::exists, to.string() + ": appeared while the output was being made; use --force to replace it");
  }
  if (status != 0) throw_not_writable(to, "cannot be put in place", errno);
}

/// Exchanges two neighbours, at one instant where the file system can. Returns the error number, or 0.
int exchange(const fs::path& a, const fs::path& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  const fs::path aside = a.string() + ".aside";  // no name of a staging: it never counts as abandoned
  if (std::rename(b.c_str(), aside.c_str()) != 0) return errno;
  if (std::rename(a.c_str(), b.c_str()) != 0) {
    const int error = errno;
    std::rename(aside.c_str(), b.c_str());
    return error;
  }
  return std::rename(aside.c_str(), a.c_str()) == 0 ? 0 : errno;
}

}  // namespace

AtomicOutput::AtomicOutput(const fs::path& target, Kind kind, bool force, const fs::path& input)
    : target_(without_trailing_slash(target)), kind_(kind), force_(force) {
  try {
    if (!target_.has_filename() || target_.filename() == "." || target_.filename() == "..") {
      throw Error(Errc::output_path, target.string() + ": is no name for an output; give a file or a new folder");
    }
    if (!fs::is_directory(parent_of(target_))) {
      throw Error(Errc::output_path, target_.string() + ": there is no folder " + parent_of(target_).string() +
                                         "; make it first or give another output");
    }
    if (!input.empty()) refuse_overlap(target_, input);
    if (fs::exists(fs::symlink_status(target_))) {
      refuse_existing(target_, kind_, force_);
      // A link stays a link: what it points to is replaced.
      if (fs::exists(target_)) target_ = fs::canonical(target_);
    }
    staging_.emplace(target_, kind_);
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(target_, "cannot be examined", error.code().value());
  }
}

AtomicOutput::~AtomicOutput() {
  if (state_ == State::in_place) staging_->let_go();
}

void AtomicOutput::commit(const Execution& execution) { commit_together(std::array{this}, execution); }

void AtomicOutput::sync(const Execution& execution) const {
  std::vector<fs::path> files{staging()}, folders;
  if (fs::is_directory(staging())) {
    folders.swap(files);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(staging())) {
      (entry.is_directory() ? folders : files).push_back(entry.path());
    }
  }
  const auto sync = [&](const std::vector<fs::path>& paths) {
    parallel_for(execution.silent(), std::ssize(paths), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const int error = sync_to_disk(paths[static_cast<std::size_t>(i)]);
        if (error) throw_not_writable(target_, "cannot be synced", error);
      }
    });
  };
  sync(files);
  sync(folders);
}

void AtomicOutput::put_in_place() {
  if (!force_ || !fs::exists(fs::symlink_status(target_))) {
    rename_to_free_place(staging(), target_);
    state_ = State::in_place;
    return;
  }
  refuse_existing(target_, kind_, force_);  // something else may have come meanwhile
  replaced_ = PathLock(target_);
  if (const int error = exchange(staging(), target_)) throw_not_writable(target_, "cannot be replaced", error);
  state_ = State::exchanged;
}

void AtomicOutput::take_back() noexcept {
  if (state_ == State::staged) return;
  const bool done = state_ == State::exchanged ? exchange(staging(), target_) == 0
                                               : std::rename(target_.c_str(), staging().c_str()) == 0;
  state_ = done ? State::staged : State::in_place;
}

void AtomicOutput::remove_replaced() {
  if (state_ != State::exchanged) return;
  state_ = State::in_place;
  std::error_code error;
  fs::remove_all(staging(), error);
  if (error) throw_not_writable(staging(), "holds what was replaced and cannot be removed", error.value());
}

void commit_together(std::span<AtomicOutput* const> outputs, const Execution& execution) {
  try {
    for (const AtomicOutput* output : outputs) output->sync(execution);
    for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) (*output)->put_in_place();
    for (const AtomicOutput* output : outputs) {
      if (const int error = sync_to_disk(parent_of(output->target_))) {
        throw_not_writable(output->target_, "cannot be synced", error);
      }
    }
  } catch (const std::exception& error) {
    for (AtomicOutput* output : outputs) output->take_back();
    if (const auto* disk = dynamic_cast<const fs::filesystem_error*>(&error)) {
      throw_not_writable(disk->path1(), "cannot be put in place", disk->code().value());
    }
    throw;
  }
  for (AtomicOutput* output : outputs) output->remove_replaced();
}

void refuse_overlap(const fs::path& target, const fs::path& other, const std::string& role) {
  std::error_code ignored;
  const fs::path real_other = fs::weakly_canonical(without_trailing_slash(other), ignored);
  const fs::path real_target = fs::weakly_canonical(without_trailing_slash(target), ignored);
  if (real_target == real_other || fs::equivalent(target, other, ignored)) {
    throw Error(Errc::output_path, target.string() + ": output and " + role + " are the same; give another output");
  }
  if (is_inside(real_target, real_other)) {
    throw Error(Errc::output_path,
                target.string() + ": the output lies inside the " + role + "; give a place outside it");
  }
  if (is_inside(real_other, real_target)) {
    throw Error(Errc::output_path, target.string() + ": the " + role + " " + other.string() +
                                       " lies inside the output; give another place");
  }
}

}  // namespace quietvox::io
