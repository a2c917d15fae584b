// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quietvox::io {

/// A file or a folder that appears at its target whole or not at all: it is made beside the target under a name that
/// holds `.part`, synced, and renamed on commit(). Destroyed without commit(), it leaves nothing.
class AtomicOutput {
 public:
  enum class Kind { file, folder };

  /// `input` may be empty: there is none. Throws Error: exists (the target is there and `force` is false, or it is a
  /// folder that holds other things than DICOM files, which `force` does not replace), output_path (no parent folder;
  /// the target is of another kind; it is the input, lies inside it or holds it, links followed), not_writable.
  AtomicOutput(const std::filesystem::path& target, Kind, bool force, const std::filesystem::path& input);
  ~AtomicOutput();
  AtomicOutput(const AtomicOutput&) = delete;
  AtomicOutput& operator=(const AtomicOutput&) = delete;

  /// Where to write meanwhile: an empty file or folder, whose name ends as the target's does (`a.part-1-0.nrrd`).
  const std::filesystem::path& staging() const { return staging_; }

  /// Syncs what was written to disk and renames it to the target; with `force`, what stood there goes only then.
  void commit();

 private:
  std::filesystem::path target_, staging_;
  Kind kind_;
  bool force_, committed_ = false;
};

}  // namespace quietvox::io
