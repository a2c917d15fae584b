// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "io/dicom_result.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/output/commit_lock.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void throw_not_writable(const fs::path& path, std::string_view what, int error) {
  throw Error(Errc::not_writable,
              path.string() + ": " + std::string(what) + ": " + std::generic_category().message(error));
}

/// Replacing a folder removes all that it holds; what is no earlier result is not ours to remove. `target`: where it
/// stands, or stood. `stale`: what a killed run left there may be there, and goes with it.
void refuse_foreign_files(const fs::path& folder, const fs::path& target, bool stale) {
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::recursive_directory_iterator(); ++entry) {
    constexpr int deepest = 64;
    const bool is_folder = entry->is_directory() && !entry->is_symlink() && entry.depth() < deepest;
    if (is_folder && is_staging_name(entry->path().filename().string()) && entry.depth() == 0 && stale) {
      entry.disable_recursion_pending();
      continue;
    }
    if (is_folder || (entry->is_regular_file() && !entry->is_symlink() && is_dicom_result(entry->path()))) continue;
    throw Error(Errc::exists, target.string() + ": holds " + entry->path().lexically_relative(folder).string() +
                                  ", which was not made by quietvox, and is therefore not replaced; give another "
                                  "output");
  }
}

void refuse_existing(const fs::path& target, AtomicOutput::Kind kind, bool force, bool stale) {
  const fs::file_status status = fs::status(target);
  const bool fits = kind == AtomicOutput::Kind::file ? fs::is_regular_file(status) : fs::is_directory(status);
  if (fs::exists(status) && !fits) {
    throw Error(Errc::output_path,
                target.string() + (kind == AtomicOutput::Kind::file ? ": is not a regular file; give the name of a file"
                                                                    : ": is not a folder; give the name of a folder"));
  }
  if (!force) throw Error(Errc::exists, target.string() + ": exists already; use --force to replace it");
  if (kind == AtomicOutput::Kind::folder && fs::exists(status)) refuse_foreign_files(target, target, stale);
}

/// Syncs a file or folder to disk and gives it the access that it is to have. Returns an error number, or 0.
int finish_one(const fs::path& path, mode_t usual, const Access& most) {
  const Descriptor file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.is_open()) return errno;
  if (const int error = give_access(file, usual, most)) return error;
  return fsync(file) == 0 || errno == EINVAL ? 0 : errno;
}

int sync_folder(const fs::path& path) {
  const Descriptor folder(path, O_RDONLY | O_DIRECTORY);
  return fsync(folder) == 0 || errno == EINVAL ? 0 : errno;  // some file systems cannot sync a folder, and say so
}

}  // namespace

AtomicOutput::AtomicOutput(const fs::path& target, Kind kind, bool force, const fs::path& input, const Access& most)
    : target_(without_trailing_slash(target)), kind_(kind), force_(force), most_(most) {
  try {
    const fs::path name = target_.filename();
    if (!target_.has_filename() || name == "." || name == ".." || name == StagingFolder::lock_name) {
      throw Error(Errc::output_path, target.string() + ": cannot name an output; give a file or a new folder");
    }
    if (kind_ == Kind::file && target_ != target) {
      throw Error(Errc::output_path, target.string() + ": is the name of a folder; give the name of a file");
    }
    fs::path parent = parent_of(target_);
    if (!stands_at(parent)) {
      made_parent_ = parent;
      parent = parent_of(without_trailing_slash(parent));
    }
    if (!fs::is_directory(parent)) {
      throw Error(Errc::output_path, target_.string() + ": there is no folder " + parent_of(target_).string() +
                                         "; make it first or give another output");
    }
    if (!input.empty()) refuse_overlap(target_, input);
    if (fs::exists(fs::symlink_status(target_))) {
      refuse_existing(target_, kind_, force_, true);
      most_ = most_ & access_of(std::array{target_}, target_);
    }
    if (faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      throw_not_writable(target_, "cannot be created", errno);
    }
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(target_, "cannot be examined", error.code().value());
  }
}

AtomicOutput::~AtomicOutput() {
  folder_.reset();
  std::error_code ignored;
  if (!made_parent_.empty()) fs::remove(made_parent_, ignored);  // where nothing else came to lie in it
}

void AtomicOutput::begin() {
  if (!made_parent_.empty()) {
    // Access to it is that of its first output.
    const mode_t group_and_others = most_.bits | (most_.bits & 044) >> 2;
    if (mkdir(made_parent_.c_str(), 0700 | group_and_others) != 0) {
      if (errno != EEXIST) throw_not_writable(target_, "cannot be created", errno);
      made_parent_.clear();
    }
  }
  folder_.emplace(target_);
  if (kind_ == Kind::folder && mkdir(staging().c_str(), 0700) != 0) {
    throw_not_writable(target_, "cannot be created", errno);
  }
}

void AtomicOutput::take(const fs::path& made) {
  std::error_code error;
  fs::rename(made, staging(), error);
  if (error) throw_not_writable(target_, "cannot be put in place", error.value());
}

void AtomicOutput::commit(const Execution& execution) { commit_together(std::array{this}, execution); }

void AtomicOutput::finish(const Execution& execution) {
  if (folder_->is_lost() || !stands_at(staging())) {
    throw Error(Errc::not_writable,
                target_.string() + ": another program removed it before it was finished; run again");
  }
  std::vector<fs::path> files{staging()}, folders;
  if (kind_ == Kind::folder) {
    folders.swap(files);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(staging())) {
      (entry.is_directory() ? folders : files).push_back(entry.path());
    }
  }
  if (files.size() < expected_files_) {
    throw Error(Errc::not_writable, target_.string() + ": another program removed files of it while it was being made");
  }
  const mode_t usual = folder_->usual_permissions();
  for (const auto* const paths : {&files, &folders}) {
    parallel_for(execution.silent(), std::ssize(*paths), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const int error = finish_one((*paths)[static_cast<std::size_t>(i)], usual, most_);
        if (error) throw_not_writable(target_, "cannot be synced", error);
      }
    });
  }
}

/// Something else may have come to the target meanwhile.
Placement AtomicOutput::placement() {
  const Placement placement(staging(), target_, parent_of(target_) / ("quietvox-" + folder_->token() + ".replaced"),
                            force_);
  if (placement.replaces()) {
    if (kind_ == Kind::folder) remove_stale_stagings(target_);
    refuse_existing(target_, kind_, force_, false);
  }
  return placement;
}

/// Files may have come into a folder, and other content into a file, until nobody else could reach it any more.
void AtomicOutput::check_replaced() const {
  if (!stands_at(staging()) || fs::is_symlink(staging())) return;
  if (kind_ == Kind::folder) refuse_foreign_files(staging(), target_, false);
  if (refuse_) refuse_(staging());
}

void AtomicOutput::fail_to_place(int error) const {
  if (error == EEXIST || error == ENOTEMPTY || error == EINVAL) {
    throw Error(Errc::exists,
                target_.string() + ": appeared while the output was being made; use --force to replace it");
  }
  if (error == ESTALE) {
    throw Error(Errc::not_writable, target_.string() +
                                        ": another file or folder took its place just when it was to be replaced, and "
                                        "was kept; run again");
  }
  if (error == EOWNERDEAD) {
    throw Error(Errc::not_writable, target_.string() + ": cannot be put in place: the process that did so was killed");
  }
  throw_not_writable(target_, "cannot be put in place", error);
}

void AtomicOutput::remove_replaced() {
  made_parent_.clear();
  if (const int error = folder_->remove()) throw_not_writable(staging(), "was replaced and cannot be removed", error);
}

void commit_together(std::span<AtomicOutput* const> outputs, const Execution& execution) {
  std::vector<Placement> placements;
  std::set<fs::path> folders;
  std::unique_lock<std::mutex> whole;
  try {
    for (AtomicOutput* const output : outputs) {
      output->finish(execution);
      folders.insert(fs::canonical(parent_of(output->target_)));
    }
    const CommitLock lock(folders, execution);
    whole = keep_stagings();
    for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
      placements.push_back((*output)->placement());
    }
    if (const PlacementResult result = place_together(placements); result.error != 0) {
      outputs[outputs.size() - 1 - result.index]->fail_to_place(result.error);
    }
    try {
      for (const AtomicOutput* const output : outputs) output->check_replaced();
      for (const fs::path& folder : folders) {
        if (const int error = sync_folder(folder)) throw_not_writable(folder, "cannot be synced", error);
      }
    } catch (...) {
      for (auto placed = placements.rbegin(); placed != placements.rend(); ++placed) placed->take_back();
      throw;
    }
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(error.path1(), "cannot be put in place", error.code().value());
  }
  for (AtomicOutput* const output : outputs) output->remove_replaced();
}

}  // namespace quietvox::io
