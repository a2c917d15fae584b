// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/files/staging_name.hpp"
#include "io/output/placement.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void throw_not_writable(const fs::path& path, std::string_view what, int error) {
  throw Error(Errc::not_writable,
              path.string() + ": " + std::string(what) + ": " + std::generic_category().message(error));
}

bool is_real_folder(const fs::directory_entry& entry) { return entry.is_directory() && !entry.is_symlink(); }

/// Calls `take` for a file, or for a folder and all that lies in it. It returns whether to go on into a folder. One
/// folder is open at a time, however deep they lie.
template <class Take>
void for_each_in(const fs::path& path, const Take& take) {
  std::vector<fs::path> folders;
  const auto look_at = [&](const fs::directory_entry& entry) {
    if (take(entry) && is_real_folder(entry)) folders.push_back(entry.path());
  };
  for (look_at(fs::directory_entry(path)); !folders.empty();) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    for (const fs::directory_entry& inside : fs::directory_iterator(folder)) look_at(inside);
  }
}

/// Some file systems cannot sync a folder, and say so.
int sync(const Descriptor& file) { return file.is_open() && (fsync(file) == 0 || errno == EINVAL) ? 0 : errno; }

/// Syncs a file or folder to disk and gives it the access that it is to have. Returns an error number, or 0.
int finish_one(const fs::path& path, mode_t usual, const Access& most) {
  const Descriptor file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.is_open()) return errno;
  if (const int error = give_access(file, usual, most)) return error;
  return sync(file);
}

}  // namespace

AtomicOutput::AtomicOutput(const fs::path& target, Kind kind, bool force, const fs::path& input, const Access& most,
                           OwnerOf owner_of)
    : target_(without_trailing_slash(target)), kind_(kind), force_(force), most_(most), owner_of_(owner_of) {
  try {
    const fs::path name = target_.filename();
    if (!target_.has_filename() || name == "." || name == "..") {
      throw Error(Errc::output_path, target.string() + ": cannot name an output", "give a file or a new folder");
    }
    if (kind_ == Kind::file && target_ != target) {
      throw Error(Errc::output_path, target.string() + ": is the name of a folder", "give the name of a file");
    }
    fs::path parent = parent_of(target_);
    if (!stands_at(parent)) parent = parent_of(without_trailing_slash(parent));
    if (!fs::is_directory(parent)) {
      throw Error(Errc::output_path, target_.string() + ": there is no folder " + parent_of(target_).string(),
                  "make it first or give another output");
    }
    if (!input.empty()) refuse_overlap(target_, input);
    if (fs::exists(fs::symlink_status(target_))) refuse_existing({});
    if (faccessat(AT_FDCWD, parent.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      throw_not_writable(target_, "cannot be created", errno);
    }
    if (faccessat(AT_FDCWD, parent.c_str(), R_OK, AT_EACCESS) != 0) {
      throw_not_writable(target_, "cannot be synced to disk, as its folder may not be read", errno);
    }
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(target_, "cannot be examined", error.code().value());
  }
}

void AtomicOutput::begin() {
  folder_.emplace(target_);
  const fs::path parent = folder_->beside("");
  most_ = most_.in(parent);  // a link above it may lead elsewhere by now
  int error = 0;
  if (folder_->made_parent()) {
    // Access to a folder that is made for it is that of its first output.
    error = finish_one(parent, folder_->usual_permissions(), most_);
    if (error == 0) error = sync(Descriptor(parent / "..", O_RDONLY | O_DIRECTORY));
  }
  if (error == 0 && kind_ == Kind::folder && mkdir(staging().c_str(), 0700) != 0) error = errno;
  if (error != 0) throw_not_writable(target_, "cannot be created", error);
}

std::vector<fs::path> AtomicOutput::refuse_existing(const Execution& execution) const {
  const fs::path target = folder_ ? folder_->beside(target_.filename()) : target_;
  const fs::file_status status = fs::status(target);
  const bool is_file = kind_ == Kind::file;
  if (fs::exists(status) && !(is_file ? fs::is_regular_file(status) : fs::is_directory(status))) {
    throw Error(Errc::output_path, target_.string() + (is_file ? ": is not a regular file; give the name of a file"
                                                               : ": is not a folder; give the name of a folder"));
  }
  std::vector<fs::path> found = refuse_foreign_files(target, execution);
  if (!force_) {
    throw Error(Errc::exists, target_.string() + ": exists already", "use " + Parameter{"force"} + " to replace it");
  }
  return found;
}

/// Replacing a folder removes all that it holds, so anything but an earlier result is refused, and what a killed run
/// left in it. `folder`: where what stood at the target is by now. Returns it and the files in it.
std::vector<fs::path> AtomicOutput::refuse_foreign_files(const fs::path& folder, const Execution& execution) const {
  std::vector<fs::path> found{folder};
  if (!fs::is_directory(fs::symlink_status(folder))) return found;
  if (folder_) remove_stale_stagings(folder);
  const auto refuse = [&](const std::string& what) {
    throw Error(Errc::exists, target_.string() + ": holds " + what, "give another output");
  };
  const auto refuse_foreign = [&](const fs::path& path) {
    refuse(path.lexically_relative(folder).string() +
           ", which was not made by quietvox, and is therefore not replaced");
  };
  std::vector<std::string> first;
  try {
    for_each_in(folder, [&](const fs::directory_entry& entry) {
      check_stop(execution.stop);
      const bool may_be_left = !folder_ && entry.path().parent_path() == folder;
      if (is_real_folder(entry)) return !may_be_left || !is_staging_name(entry.path().filename().string());
      const bool is_plain = entry.is_regular_file() && !entry.is_symlink();
      const auto owner = is_plain && owner_of_ ? owner_of_(entry.path(), execution) : std::vector<std::string>();
      if (owner.empty()) refuse_foreign(entry.path());
      if (first.empty()) first = owner;
      if (std::ranges::find_first_of(owner, first) == owner.end()) {
        refuse("results of several series, which the result of one must not replace");
      }
      found.push_back(entry.path());
      return false;
    });
  } catch (const fs::filesystem_error& error) {
    if (error.code() == std::errc::filename_too_long) refuse_foreign(error.path1());  // no path of ours is
    throw_not_writable(target_ / error.path1().lexically_relative(folder), "cannot be examined", error.code().value());
  }
  return found;
}

void AtomicOutput::take(const fs::path& made) {
  if (std::rename(made.c_str(), staging().c_str()) != 0) throw_not_writable(target_, "cannot be put in place", errno);
}

void AtomicOutput::commit(const Execution& execution) { commit_together(std::array{this}, execution); }

void AtomicOutput::finish(const Execution& execution) {
  std::vector<fs::directory_entry> made;
  for_each_in(staging(), [&](const fs::directory_entry& entry) {
    made.push_back(entry);
    return true;
  });
  const auto check = [&](int error) {
    if (error == ENOENT) throw_not_writable(target_, "another program removed some of it", error);
    if (error != 0) throw_not_writable(target_, "cannot be synced", error);
  };
  if (std::cmp_less(std::ranges::count(made, false, is_real_folder), expected_files_)) check(ENOENT);
  parallel_for(execution.silent(), std::ssize(made), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      check(finish_one(made[static_cast<std::size_t>(i)].path(), folder_->usual_permissions(), most_));
    }
  });
}

/// What it is about to replace may be another by now. Gives no more access than that.
void AtomicOutput::heed_existing(const Execution& execution) {
  const Access most = most_ & access_of(refuse_existing(execution), folder_->beside(target_.filename()));
  if (most.bits == most_.bits && most.group == most_.group) return;
  most_ = most;
  finish(execution);
}

/// Checks again, now that nobody else can reach it: files may have been added, or contents changed, until then.
void AtomicOutput::check_replaced(const Execution& execution) const {
  refuse_foreign_files(staging(), execution);
  check_stop(execution.stop);
  if (refuse_ && fs::is_regular_file(fs::symlink_status(staging()))) refuse_(staging());
}

void AtomicOutput::fail_to_place(int error) const {
  if (error == EEXIST) {
    throw Error(Errc::exists, target_.string() + ": appeared while the output was being made",
                force_ ? "run again" : "use " + Parameter{"force"} + " to replace it");
  }
  if (error == ESTALE) {
    throw Error(Errc::not_writable, target_.string() + ": something else appeared in its place, and was left there",
                "run again");
  }
  if (error == EOWNERDEAD) {
    throw Error(Errc::not_writable, target_.string() + ": not put in place: the process doing it was killed",
                "run again");
  }
  throw_not_writable(target_, "cannot be put in place", error);
}

void commit_together(std::span<AtomicOutput* const> outputs, const Execution& execution) {
  std::vector<Placement> placements;
  std::set<fs::path> folders;
  try {
    for (AtomicOutput* const output : outputs) {
      output->finish(execution);
      folders.insert(fs::canonical(output->folder_->beside("")));
    }
    const auto locks = lock_folders(folders, execution);
    const std::unique_lock whole = keep_stagings();
    for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
      AtomicOutput& one = **output;
      placements.push_back({.staged = one.staging(),
                            .target = one.folder_->beside(one.target_.filename()),
                            .aside = one.folder_->aside(),
                            .force = one.force_});
      if (placements.back().replaces()) one.heed_existing(execution);
    }
    const auto [failed, why] = place_together(placements);
    if (why != 0) outputs[outputs.size() - 1 - failed]->fail_to_place(why);
    try {
      for (const AtomicOutput* const output : outputs) output->check_replaced(execution);
      for (const fs::path& folder : folders) {
        if (const int error = sync(Descriptor(folder, O_RDONLY | O_DIRECTORY))) {
          throw_not_writable(folder, "cannot be synced", error);
        }
      }
    } catch (...) {
      roll_back(placements);
      throw;
    }
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(outputs.front()->target_, "cannot be put in place", error.code().value());
  }
  // The outputs stand, whatever comes of this.
  for (AtomicOutput* const output : outputs) {
    const int error = output->folder_->remove();
    if (error == 0 || !execution.note) continue;
    execution.note(output->target_.string() + ": what it replaced cannot be removed: " +
                   std::generic_category().message(error) + "; it is left in " + output->folder_->path().string());
  }
}

}  // namespace quietvox::io
