// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/execution.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io {

/// Whether gzip data begin at some place of a file.
bool begins_gzip_member(const RawReader&, std::uint64_t offset);

/// Unpacks the gzip or zlib data in a file.
class GzipReader {
 public:
  /// `start`: where in the file the data begin. Reading ends with Error(cancelled) once a stop is requested.
  GzipReader(const RawReader& file, std::uint64_t start, std::stop_token stop);
  ~GzipReader();

  /// Lets several threads unpack ahead of sequential reads, a few megabytes each.
  void use_threads(const Execution&);

  /// A reader that goes on from here, or from where the threads have got to.
  std::unique_ptr<GzipReader> copy() const;

  /// Fills `to` with what comes next and returns how many bytes there were; fewer only at the end. Throws
  /// Error(corrupt): the data are damaged, end too early, or have a wrong checksum.
  std::size_t read(std::span<std::byte> to);

  std::uint64_t position() const { return position_; }  ///< of the next unpacked byte
  bool at_end() const { return at_end_; }
  /// Bytes of the file after the end, once that was reached. They are no part of the data.
  std::uint64_t trailing_garbage() const { return trailing_garbage_; }

 private:
  struct State;
  /// What threads have unpacked, in reverse order, and the state behind it.
  struct Batch {
    std::unique_ptr<State> state;
    std::vector<std::vector<std::uint8_t>> pieces;
  };
  GzipReader(const GzipReader&);

  void start_next_member();
  std::uint64_t position_of_state() const;  ///< where threads have come to
  bool is_worth_threads() const;
  /// Unpacks some megabytes from a state on.
  static Batch unpack_batch(const RawReader&, std::unique_ptr<State>, const Execution&);
  /// Takes the next batch, and has the one after it unpacked meanwhile.
  void unpack_ahead();
  /// Takes bytes that threads have unpacked, and returns how many.
  std::size_t take_ahead(std::span<std::byte> to);

  const RawReader& file_;
  std::stop_token stop_;
  std::unique_ptr<State> state_;
  std::uint64_t position_ = 0, trailing_garbage_ = 0;
  bool at_end_ = false;
  std::optional<Execution> execution_;            ///< none: without threads
  std::uint64_t threads_from_ = 0;                ///< where in the unpacked bytes they begin
  std::uint64_t alone_ = 32 << 20;                ///< bytes to unpack without them where they find nothing to do
  std::vector<std::vector<std::uint8_t>> ahead_;  ///< in reverse order
  std::size_t taken_ = 0;                         ///< of that one
  std::future<Batch> next_;                       ///< what follows them, if it is being unpacked
};

}  // namespace quietvox::io
