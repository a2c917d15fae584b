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
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "core/error.hpp"

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

bool is_dicom_file(const fs::path& path) {
  std::array<char, 132> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  return file && std::string_view(start.data() + 128, 4) == "DICM";
}

/// Replacing a folder removes all that it holds; what cannot be an earlier result is not ours to remove.
void refuse_foreign_files(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || (!entry.is_directory() && !(entry.is_regular_file() && is_dicom_file(entry.path())))) {
      throw Error(Errc::exists, folder.string() + ": holds " + entry.path().lexically_relative(folder).string() +
                                    ", which is no DICOM file, and is therefore not replaced; give another output");
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
  if (kind == AtomicOutput::Kind::folder && fs::exists(status)) refuse_foreign_files(target);
}

/// Makes an empty file or folder of a new name beside the target.
fs::path make_staging(const fs::path& target, AtomicOutput::Kind kind) {
  for (int attempt = 0;; ++attempt) {
    fs::path staging = target;
    staging.replace_filename(target.stem().string() + ".part-" + std::to_string(getpid()) + "-" +
                             std::to_string(attempt) + target.extension().string());
    if (kind == AtomicOutput::Kind::folder) {
      if (mkdir(staging.c_str(), 0777) == 0) return staging;
    } else if (const int file = open(staging.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666); file >= 0) {
      close(file);
      return staging;
    }
    if (errno != EEXIST) throw_not_writable(target, "cannot be created", errno);
  }
}

void sync_to_disk(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw_not_writable(path, "cannot be synced", errno);
  const int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  // Some file systems cannot sync a folder; they say EINVAL.
  if (error != 0 && error != EINVAL) throw_not_writable(path, "cannot be synced", error);
}

void sync_tree_to_disk(const fs::path& path) {
  if (fs::is_directory(path)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) sync_tree_to_disk(entry.path());
  }
  sync_to_disk(path);
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

/// A folder cannot be renamed over another: the old one steps aside, and comes back where the new one cannot enter.
void replace_folder(const fs::path& from, const fs::path& to) {
  const fs::path old = make_staging(to, AtomicOutput::Kind::folder);
  if (std::rename(to.c_str(), old.c_str()) != 0) {
    const int error = errno;
    rmdir(old.c_str());
    throw_not_writable(to, "cannot be replaced", error);
  }
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    std::rename(old.c_str(), to.c_str());
    throw_not_writable(to, "cannot be put in place", error);
  }
  std::error_code error;
  fs::remove_all(old, error);
  if (error) throw_not_writable(old, "holds what was replaced and cannot be removed", error.value());
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
    staging_ = make_staging(target_, kind_);
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(target_, "cannot be examined", error.code().value());
  }
}

AtomicOutput::~AtomicOutput() {
  std::error_code ignored;
  if (!committed_) fs::remove_all(staging_, ignored);
}

void AtomicOutput::commit() { commit_together(std::array{this}); }

void AtomicOutput::sync() const { sync_tree_to_disk(staging_); }

void AtomicOutput::put_in_place() {
  if (!force_) {
    rename_to_free_place(staging_, target_);
  } else if (kind_ == Kind::folder && fs::is_directory(target_)) {
    replace_folder(staging_, target_);
  } else if (std::rename(staging_.c_str(), target_.c_str()) != 0) {
    throw_not_writable(target_, "cannot be put in place", errno);
  }
  committed_ = true;
}

void AtomicOutput::take_back() noexcept {
  if (committed_ && !force_ && std::rename(target_.c_str(), staging_.c_str()) == 0) committed_ = false;
}

void commit_together(std::span<AtomicOutput* const> outputs) {
  try {
    for (const AtomicOutput* output : outputs) output->sync();
    for (AtomicOutput* output : outputs) output->put_in_place();
    for (const AtomicOutput* output : outputs) sync_to_disk(parent_of(output->target_));
  } catch (const std::exception& error) {
    for (AtomicOutput* output : outputs) output->take_back();
    if (const auto* disk = dynamic_cast<const fs::filesystem_error*>(&error)) {
      throw_not_writable(disk->path1(), "cannot be put in place", disk->code().value());
    }
    throw;
  }
}

void refuse_overlap(const fs::path& target, const fs::path& input) {
  std::error_code ignored;
  const fs::path real_input = fs::weakly_canonical(without_trailing_slash(input), ignored);
  const fs::path real_target = fs::weakly_canonical(target, ignored);
  if (real_target == real_input || fs::equivalent(target, input, ignored)) {
    throw Error(Errc::output_path, target.string() + ": output and input are the same; give another output");
  }
  if (is_inside(real_target, real_input)) {
    throw Error(Errc::output_path, target.string() + ": the output lies inside the input; give a place outside it");
  }
  if (is_inside(real_input, real_target)) {
    throw Error(Errc::output_path, target.string() + ": the input lies inside the output; give another output");
  }
}

}  // namespace quietvox::io
