// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "io/abandoned.hpp"
#include "io/commit_record.hpp"
#include "io/commit_turn.hpp"
#include "io/dicom_result.hpp"
#include "io/disk.hpp"
#include "io/folder_walk.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void throw_not_writable(const fs::path& path, std::string_view what, int error) {
  throw Error(Errc::not_writable,
              path.string() + ": " + std::string(what) + ": " + std::generic_category().message(error));
}

/// `/a/b/` names `/a/b`.
fs::path without_trailing_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

/// Replacing a folder removes all that it holds; what is no earlier result is not ours to remove.
void refuse_foreign_files(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const bool is_folder = entry.is_directory() && !entry.is_symlink();
    const bool is_result = entry.is_regular_file() && !entry.is_symlink() && is_dicom_result(entry.path());
    const bool is_turn = entry.path().filename() == CommitTurn::file_name;  // of a run that tidies up there
    if (!is_folder && !is_result && !is_turn) {
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

}  // namespace

AtomicOutput::AtomicOutput(const fs::path& target, Kind kind, bool force, const fs::path& input)
    : target_(without_trailing_slash(target)), kind_(kind), force_(force) {
  try {
    if (!target_.has_filename() || target_.filename() == "." || target_.filename() == "..") {
      throw Error(Errc::output_path, target.string() + ": is no name for an output; give a file or a new folder");
    }
    if (kind_ == Kind::file && target_ != target) {
      throw Error(Errc::output_path, target.string() + ": is the name of a folder; give the name of a file");
    }
    if (!fs::is_directory(parent_of(target_))) {
      throw Error(Errc::output_path, target_.string() + ": there is no folder " + parent_of(target_).string() +
                                         "; make it first or give another output");
    }
    if (!input.empty()) refuse_overlap(target_, input);
    // A link stays a link: what it points to is replaced.
    const fs::path real = fs::exists(target_) ? fs::canonical(target_) : target_;
    remove_abandoned(parent_of(real));
    if (stands_at(target_)) {
      refuse_existing(target_, kind_, force_);
      target_ = real;
    }
    staging_.emplace(target_, kind_);
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(target_, "cannot be examined", error.code().value());
  }
}

AtomicOutput::~AtomicOutput() {
  if (state_ == State::in_place) staging_->let_go();
}

void AtomicOutput::take(const fs::path& made) {
  if (const std::error_code error = staging_->take(made)) {
    throw_not_writable(target_, "cannot be put in place", error.value());
  }
}

void AtomicOutput::commit(const Execution& execution) { commit_together(std::array{this}, execution); }

void AtomicOutput::expect_staging() const {
  if (!staging_->is_lost()) return;
  throw Error(Errc::not_writable, target_.string() + ": another program removed what was to become it, " +
                                      staging().filename().string() + ", while it was being made");
}

void AtomicOutput::sync(const Execution& execution) const {
  expect_staging();
  std::vector<fs::path> files{staging()}, folders;
  if (fs::is_directory(staging())) {
    folders.swap(files);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(staging())) {
      (entry.is_directory() ? folders : files).push_back(entry.path());
    }
  }
  if (files.size() < expected_files_) {
    throw Error(Errc::not_writable, target_.string() + ": another program removed files of it while it was being made");
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
  expect_staging();
  if (!force_ || !stands_at(target_)) {
    const int error = rename_to_free_place(staging(), target_);
    if (error == EEXIST || error == ENOTEMPTY || error == EINVAL) {
      throw Error(Errc::exists,
                  target_.string() + ": appeared while the output was being made; use --force to replace it");
    }
    if (error) throw_not_writable(target_, "cannot be put in place", error);
    state_ = State::in_place;
    return;
  }
  refuse_existing(target_, kind_, force_);  // something else may have come meanwhile
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
  std::optional<CommitRecord> record;  // for whoever comes after this process, should it be killed
  try {
    for (const AtomicOutput* output : outputs) output->sync(execution);
    std::vector<CommitRecord::Output> steps;
    for (const AtomicOutput* output : outputs) steps.push_back({output->staging(), output->target_});
    record.emplace(steps, execution.stop);
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

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::absolute(without_trailing_slash(path), error);
  if (!error) real = fs::weakly_canonical(real, error);
  if (error) throw Error(Errc::output_path, path.string() + ": " + error.message() + "; give another path");
  return real;
}

void refuse_overlap(const fs::path& target, const fs::path& other, const std::string& role) {
  const fs::path real_target = real_path(target);
  const auto refuse = [&](const fs::path& source) {
    const fs::path real_source = real_path(source);
    std::error_code ignored;
    if (real_target == real_source || fs::equivalent(target, source, ignored)) {
      throw Error(Errc::output_path, target.string() + ": output and " + role + " are the same; give another output");
    }
    if (is_inside(real_target, real_source)) {
      throw Error(Errc::output_path,
                  target.string() + ": the output lies inside the " + role + "; give a place outside it");
    }
    if (is_inside(real_source, real_target)) {
      throw Error(Errc::output_path, target.string() + ": the " + role + " " + source.string() +
                                         " lies inside the output; give another place");
    }
  };
  refuse(other);
  if (std::error_code ignored; !fs::is_directory(other, ignored)) return;
  for (const fs::path& linked : walk_folder(other).linked) refuse(linked);
}

}  // namespace quietvox::io
