// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/execution.hpp"
#include "io/output/file_permissions.hpp"
#include "io/output/staging_folder.hpp"

namespace quietvox::io {

/// A file or a folder that appears at its target whole or not at all: it is made in a private folder beside the target,
/// synced, and renamed on commit(). Destroyed without commit(), it leaves nothing; what a killed process left goes when
/// the next output is made in the same folder. docs/outputs.md says what is promised, and against whom.
class AtomicOutput {
 public:
  enum class Kind { file, folder };
  /// Is given what stands at the target, or stood there, and returns all files in it. Throws where one of them must not
  /// be replaced.
  using Examine = std::function<std::vector<std::filesystem::path>(const std::filesystem::path&, const Execution&)>;

  /// Changes nothing on disk. `input` may be empty: there is none. The output is given no more access than `most`, nor
  /// than what it replaces. `force` also replaces what stands at the target, where `examine` lets it; without that, any
  /// file and no folder. Throws Error: exists (the target is there, and `force` is false), output_path (the folder it
  /// is to lie in is not there and neither is the one above; the target is of another kind; it is the input, lies
  /// inside it or holds it, links followed), not_writable.
  AtomicOutput(const std::filesystem::path& target, Kind, bool force, const std::filesystem::path& input,
               const Access& most = {}, Examine examine = {});

  /// Makes the place where it is to be made, and the folder that the target lies in where that is missing. To be called
  /// once, before staging(). Throws Error(not_writable).
  void begin();
  /// Where to write: a free name in a private folder for a file, an empty folder for a folder. The last component is
  /// the target's.
  std::filesystem::path staging() const { return *folder_ / target_.filename(); }
  /// So many files must be there to be committed.
  void expect_files(std::size_t count) { expected_files_ = count; }
  /// Syncs what was written to disk and renames it to the target; with `force`, what stood there goes only then. A stop
  /// request ends that with Error(cancelled). `execution.note` is told where what was replaced cannot be removed.
  void commit(const Execution& = {});

 private:
  friend void commit_together(std::span<AtomicOutput* const>, const Execution&);
  std::vector<std::filesystem::path> examine_existing(const std::filesystem::path& found, const Execution&) const;
  void finish(const Execution&);
  [[noreturn]] void fail_to_place(int error) const;

  std::filesystem::path target_;
  std::optional<StagingFolder> folder_;
  Examine examine_;
  std::size_t expected_files_ = 0;
  Kind kind_;
  bool force_;
  Access most_;
};

/// Commits outputs together: if one cannot be put in place, all are rolled back, even where this process is killed. The
/// first output is placed last, so once it is there, all are. Runs that commit to the same folders do so in turn; who
/// waits says so by `execution.note`, and goes on after 20 seconds.
void commit_together(std::span<AtomicOutput* const>, const Execution& = {});

}  // namespace quietvox::io
