// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/execution.hpp"

namespace quietvox::io {

/// The bytes of a file; where it is gzip-compressed, those that it unpacks to. Reading forward is
/// cheap. Going back in a compressed file starts from a point kept on the way, some megabytes before the wanted place
/// for each thread.
class ByteReader {
 public:
  /// `compressed`: none where the content is to tell; zlib's own wrapping counts as gzip where it is true. `start`:
  /// where in the file that content begins; offsets count from there. Reading ends with Error(cancelled) once a stop is
  /// requested. `within` and what is thrown: as of a RawReader.
  explicit ByteReader(const std::filesystem::path&, std::optional<bool> compressed = {}, std::uint64_t start = 0,
                      const std::stop_token& stop = {}, const std::filesystem::path& within = {});
  ~ByteReader();

  bool compressed() const;
  std::uint64_t file_size() const;
  /// False where `bytes` are more than the file can hold, be it compressed as far as deflate goes.
  bool can_hold(std::uint64_t bytes) const;

  /// Fills `to` with the bytes from `offset` on and returns how many there were; fewer only at the end.
  /// Throws Error: corrupt (damaged or cut compressed data, wrong checksum), input_path (the disk failed).
  std::size_t read(std::uint64_t offset, std::span<std::byte> to);
  /// As read(), but throws Error(corrupt) where the data end too early; `what` names them.
  void read_all(std::uint64_t offset, std::span<std::byte> to, const char* what);

  /// Keeps the last `bytes` of compressed data in memory as they are unpacked, so that reading them again costs little.
  void keep(std::uint64_t bytes);
  /// Lets several threads unpack compressed data that are read on and on, if it has enough. What is read is the same.
  void use_threads(const Execution&);
  int threads() const;  ///< that unpack

  /// Bytes found after the end of the compressed data, once that was reached. They are no part of it.
  std::uint64_t trailing_garbage() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Of compressed data that hold volumes, one after another: lets the reader keep all `bytes`, where they are few, or as
/// many as a volume has, so that what looks at it does not make others unpack it again, and lets several threads
/// unpack. Where memory has a limit, neither.
void prepare_for_volumes(ByteReader&, std::uint64_t bytes, std::uint64_t bytes_of_volume, const Execution&);

/// Writes a file from beginning to end, gzip-compressed or not. The same bytes give the same file, however many threads
/// pack them. Every failure to write throws Error(not_writable), which calls the file `name` where one is given.
class ByteWriter {
 public:
  ByteWriter(const std::filesystem::path&, bool compressed, const std::filesystem::path& name = {},
             const Execution& = {});
  ~ByteWriter();

  void write(std::span<const std::byte>);
  /// Makes bytes: those for `to`, from number `first` of them on.
  using Fill = std::function<void(std::uint64_t first, std::span<std::byte> to)>;
  /// Writes so many bytes that are made in pieces of `piece` bytes, the last one shorter: in order one after another,
  /// or by several threads at once.
  void write(std::uint64_t bytes, std::size_t piece, bool in_order, const Fill&);
  /// Writes what is left, closes the file, reads it again and throws Error(not_writable) where it does not hold what
  /// was written. Throws Error(cancelled) once a stop is requested.
  void close_and_verify();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quietvox::io
