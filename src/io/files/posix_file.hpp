// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace quietvox::io {

/// An open file, closed with its owner. It never has the number of a standard stream, even if the caller closed those:
/// fork_apart() closes them.
class Descriptor {
 public:
  /// `permissions`: of a file that is made.
  Descriptor(const std::filesystem::path&, int flags, mode_t permissions = 0666);
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  operator int() const { return descriptor_; }
  /// A path by which this process and its children reach the opened file, even if `path` now names another one. Returns
  /// `path` itself on systems without such paths.
  std::filesystem::path reached_by(const std::filesystem::path& path) const;
  /// Closes once, whichever thread comes first.
  bool close();

 private:
  std::atomic<int> descriptor_;
};

/// Returns what fork() does. The child goes on to its end however this process ends, even by a signal to the whole
/// group. It has no standard streams, nor what else the caller of this process handed on, so that nobody who reads this
/// process's output waits for it. It must not allocate memory: other threads may have been doing so.
pid_t fork_apart() noexcept;

/// Lets the disk begin to take what was written to a file, from `offset` on, so that a later fsync() waits less. Does
/// not wait until it has, and leaves errors to fsync(). `bytes`: 0 for all that follow.
void begin_sync(int file, std::uint64_t offset = 0, std::uint64_t bytes = 0) noexcept;

/// A regular file that is read from any place, by any number of threads.
class RawReader {
 public:
  /// `within`: a folder that the file must lie in, links followed; empty: anywhere. Throws Error: input_path (it cannot
  /// be opened), unsupported (it lies elsewhere).
  explicit RawReader(const std::filesystem::path&, const std::filesystem::path& within = {});

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `to` from `offset` on and returns how many bytes there were; fewer only at the end of the file. Throws
  /// Error(input_path) where the disk fails.
  std::size_t read(std::uint64_t offset, std::span<std::byte> to) const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// A new file, for its owner alone. Every failure throws Error(not_writable), which calls the file `name`.
class RawWriter {
 public:
  RawWriter(const std::filesystem::path&, std::filesystem::path name);

  const std::filesystem::path& name() const { return name_; }
  /// May be called by several threads at once.
  void write(std::uint64_t offset, std::span<const std::byte>);
  void begin_sync(std::uint64_t offset, std::uint64_t bytes) const noexcept { io::begin_sync(file_, offset, bytes); }
  void close();

 private:
  [[noreturn]] void throw_errno() const;

  std::filesystem::path name_;
  Descriptor file_;
};

}  // namespace quietvox::io
