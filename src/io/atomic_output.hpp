// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/execution.hpp"
#include "io/staging.hpp"

namespace quietvox::io {

/// A file or a folder that appears at its target whole or not at all: it is made beside the target under a name that
/// holds `.part`, synced, and renamed on commit(). Destroyed without commit(), it leaves nothing; what a killed process
/// left goes when the next output is made in the same folder.
class AtomicOutput {
 public:
  using Kind = Staging::Kind;

  /// `input` may be empty: there is none. Throws Error: exists (the target is there and `force` is false, or it is a
  /// folder that holds other things than DICOM files made by quietvox, which `force` does not replace), output_path (no
  /// parent folder; the target is of another kind; it is the input, lies inside it or holds it, links followed),
  /// not_writable.
  AtomicOutput(const std::filesystem::path& target, Kind, bool force, const std::filesystem::path& input);
  ~AtomicOutput();
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;

  /// Where to write meanwhile: an empty file or folder, whose name ends as the target's does.
  const std::filesystem::path& staging() const { return staging_->path(); }

  /// So many files must be there to be committed.
  void expect_files(std::size_t count) { expected_files_ = count; }

  /// What was made elsewhere on the same file system becomes what is committed. Throws Error(not_writable).
  void take(const std::filesystem::path& made);

  /// Syncs what was written to disk and renames it to the target; with `force`, what stood there goes only then. A stop
  /// request ends the sync with Error(cancelled).
  void commit(const Execution& = {});

 private:
  friend void commit_together(std::span<AtomicOutput* const>, const Execution&);
  void expect_staging() const;
  void sync(const Execution&) const;
  void put_in_place();
  void take_back() noexcept;
  void remove_replaced();

  enum class State { staged, in_place, exchanged };  ///< exchanged: staging holds what stood at the target

  std::filesystem::path target_;
  std::optional<Staging> staging_;
  std::size_t expected_files_ = 0;
  Kind kind_;
  bool force_;
  State state_ = State::staged;
};

/// Commits outputs that belong together: where one cannot be put in its place, none stays there, and what stood there
/// before stands there again. The first comes last: where it has appeared, all are there. Where the process is killed
/// before that, the next output made in a folder of theirs takes back those that came.
void commit_together(std::span<AtomicOutput* const>, const Execution& = {});

/// Whether the path, as it is written, is the folder or lies inside it.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

/// The absolute path, links followed as far as it exists. Throws Error(output_path) where it cannot be followed.
std::filesystem::path real_path(const std::filesystem::path&);

/// Throws Error(output_path) where the target is the other file or folder, lies inside it or holds it, links followed,
/// those in the folder too. `role`: what the other one is, for the message.
void refuse_overlap(const std::filesystem::path& target, const std::filesystem::path& other,
                    const std::string& role = "input");

}  // namespace quietvox::io
