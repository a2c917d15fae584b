// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <vector>

#include "io/commit_turn.hpp"
#include "io/staging.hpp"

namespace quietvox::io {

/// A file beside the first of some outputs that are about to be put in place together, the first of them last. It says
/// which they are, and goes with this object; so where it is found and its process is gone, that process was killed
/// meanwhile, and what it put in place can be taken back. A record in every other folder of theirs names it. A single
/// output that replaces nothing needs none. The folders' turn is this object's.
class CommitRecord {
 public:
  struct Output {
    std::filesystem::path staging, target;
  };

  /// Waits for the turn, tidies up and puts the record on disk. Throws Error: not_writable, cancelled.
  explicit CommitRecord(const std::vector<Output>&, const std::stop_token& = {});

  /// By its name.
  static bool is_record(const std::filesystem::path&);

  /// Reads the record of another process; nothing where it is none, or was not written to its end.
  static std::vector<std::filesystem::path> stagings(const std::filesystem::path& record);

  /// Makes all as it was before, for a record whose process is gone: unless the first output came, the others go, and
  /// what they replaced stands there again; if it came, what was replaced goes. False where that cannot be done now, or
  /// is not ours to do, as the record is another user's: then nothing that it names may be removed. `turn`: that of the
  /// record's folder, to which those of the outputs come.
  static bool take_back(const std::filesystem::path& record, CommitTurn& turn);

 private:
  CommitTurn turn_;
  std::vector<std::unique_ptr<Staging>> files_;  ///< the record, and those that name it
};

}  // namespace quietvox::io
