// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <future>
#include <span>
#include <stop_token>
#include <vector>

#include "core/execution.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io {

/// Makes a gzip file of one member, which every reader of gzip knows. The data are cut into blocks that know nothing of
/// each other, each ended by a full flush, so that several threads pack and check them at the same time. The bytes of
/// the file depend on the data alone.
class GzipWriter {
 public:
  GzipWriter(RawWriter&, const Execution&);

  /// About the memory that one takes, in bytes.
  static std::size_t memory(const Execution&);

  void write(std::span<const std::byte>);
  /// Writes what is left.
  void finish();

  /// Whether the file, finished and closed, unpacks to what was written. Throws Error: corrupt, input_path, cancelled.
  bool is_held_by(const RawReader&) const;

 private:
  struct Block {
    std::uint32_t size = 0, packed_size = 0, checksum = 0, packed_checksum = 0;
  };
  struct Packer;
  struct Unpacker;

  /// Packs and appends what waits, while the caller goes on.
  void pack_waiting();
  void pack(std::span<const std::byte> bytes);
  void append(std::span<const std::byte>);

  RawWriter& file_;
  std::uint64_t size_ = 0;
  Execution execution_;
  std::size_t most_waiting_;  ///< bytes
  std::vector<std::byte> waiting_, packing_;
  std::vector<std::vector<std::byte>> packed_;
  std::vector<Block> blocks_;
  bool finished_ = false;
  std::future<void> being_packed_;  ///< what is in packing_
};

}  // namespace quietvox::io
