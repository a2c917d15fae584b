// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/gzip_writer.hpp"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <numeric>

#include "core/error.hpp"

namespace quietvox::io {
namespace {

constexpr std::size_t block_size = 1 << 18;
constexpr std::size_t largest_packed = block_size + block_size / 8 + 4096;  // no code of deflate has more than 9 bits

/// So many keep as many threads busy; each costs memory.
std::size_t blocks_at_once(const Execution& execution) {
  const std::size_t most = execution.memory_limit ? 8 : 16;
  return std::min(2 * static_cast<std::size_t>(thread_count(execution)), most);
}

int threads_for(const Execution& execution) {
  return std::min(thread_count(execution), static_cast<int>(blocks_at_once(execution)));
}

// No name, no time, no note of how well it was packed; made by Unix.
constexpr std::array<std::uint8_t, 10> header{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

const std::uint8_t* in(std::span<const std::byte> bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

std::uint32_t checksum(std::span<const std::byte> bytes) { return crc32_gzip_refl(0, in(bytes), bytes.size()); }

/// Checksum and size of all blocks together, as they end a gzip file.
template <class Blocks>
std::array<std::uint8_t, 8> trailer(const Blocks& blocks) {
  uLong whole = 0;
  std::uint64_t size = 0;
  for (const auto& block : blocks) {
    whole = crc32_combine(whole, block.checksum, block.size);
    size += block.size;
  }
  std::array<std::uint8_t, 8> bytes;
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[i] = static_cast<std::uint8_t>(whole >> 8 * i);
    bytes[4 + i] = static_cast<std::uint8_t>(size >> 8 * i);
  }
  return bytes;
}

template <std::size_t size>
bool reads(const RawReader& file, std::uint64_t offset, const std::array<std::uint8_t, size>& expected) {
  std::array<std::uint8_t, size> found{};
  return file.read(offset, std::as_writable_bytes(std::span(found))) == size && found == expected;
}

}  // namespace

/// Packs one block after another. Level 2 gives the same bytes on processors with SSE4, AVX2 and AVX-512, level 3 does
/// not.
struct GzipWriter::Packer {
  std::unique_ptr<isal_zstream> stream = std::make_unique_for_overwrite<isal_zstream>();
  std::vector<std::uint8_t> level_buffer = std::vector<std::uint8_t>(ISAL_DEF_LVL2_DEFAULT);

  Block pack(std::span<const std::byte> bytes, bool last, std::vector<std::byte>& packed) {
    packed.resize(largest_packed);
    isal_deflate_init(stream.get());
    stream->level = 2;
    stream->level_buf = level_buffer.data();
    stream->level_buf_size = static_cast<std::uint32_t>(level_buffer.size());
    stream->next_out = reinterpret_cast<std::uint8_t*>(packed.data());
    stream->avail_out = static_cast<std::uint32_t>(packed.size());
    // At the first byte of a block, ISA-L takes the address of `stream` for data, and its third byte gets a hash of
    // that. Four bytes sent ahead make a history, with which it takes another way; they cost eight bytes a block.
    const std::size_t ahead = std::min<std::size_t>(bytes.size(), 4);
    deflate(bytes.first(ahead), SYNC_FLUSH, false);
    deflate(bytes.subspan(ahead), last ? NO_FLUSH : FULL_FLUSH, last);
    const auto made = std::span<const std::byte>(packed).first(stream->total_out);
    return {static_cast<std::uint32_t>(bytes.size()), stream->total_out, checksum(bytes), checksum(made)};
  }

  void deflate(std::span<const std::byte> bytes, std::uint16_t flush, bool last) {
    stream->flush = flush;
    stream->end_of_stream = last;
    stream->next_in = const_cast<std::uint8_t*>(in(bytes));
    stream->avail_in = static_cast<std::uint32_t>(bytes.size());
    if (isal_deflate(stream.get()) != COMP_OK || stream->avail_in > 0 || stream->avail_out == 0) {
      throw Error(Errc::internal, "gzip data cannot be packed");
    }
  }
};

/// Unpacks one block after another by libdeflate, which knows nothing of how they were packed.
struct GzipWriter::Unpacker {
  std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor{
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor};
  std::vector<std::byte> packed, bytes;

  /// True if the block unpacks by itself to the bytes that were packed and ends where it should: then it also unpacks
  /// behind the others. The checksum of the packed bytes finds damage in bits that no unpacker reads.
  bool verifies(const Block& block, const RawReader& file, std::uint64_t offset, bool last) {
    if (!decompressor) throw Error(Errc::out_of_memory, "no memory to unpack gzip data");
    packed.resize(block.packed_size);
    bytes.resize(block.size);
    if (file.read(offset, packed) != packed.size() || checksum(packed) != block.packed_checksum) return false;
    if (!last) {  // an empty block, the last of deflate data, which begins with a new byte
      for (const int byte : {1, 0, 0, 0xff, 0xff}) packed.push_back(static_cast<std::byte>(byte));
    }
    std::size_t used = 0;
    const auto result = libdeflate_deflate_decompress_ex(decompressor.get(), packed.data(), packed.size(), bytes.data(),
                                                         bytes.size(), &used, nullptr);
    return result == LIBDEFLATE_SUCCESS && used == packed.size() && checksum(bytes) == block.checksum;
  }
};

std::size_t GzipWriter::memory(const Execution& execution) {
  return blocks_at_once(execution) * (2 * block_size + largest_packed) +
         static_cast<std::size_t>(threads_for(execution)) * (ISAL_DEF_LVL2_DEFAULT + sizeof(isal_zstream));
}

GzipWriter::GzipWriter(RawWriter& file, const Execution& execution)
    : file_(file), execution_(execution.silent()), most_waiting_(blocks_at_once(execution) * block_size) {
  // Writers are called from arenas of any size; each thread takes some memory.
  execution_.threads = threads_for(execution);
  waiting_.reserve(most_waiting_);
  packing_.reserve(most_waiting_);
  append(std::as_bytes(std::span(header)));
}

void GzipWriter::append(std::span<const std::byte> bytes) {
  file_.write(size_, bytes);
  size_ += bytes.size();
}

void GzipWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), most_waiting_ - waiting_.size()));
    waiting_.insert(waiting_.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
    if (waiting_.size() == most_waiting_) pack_waiting();
  }
}

void GzipWriter::pack_waiting() {
  if (being_packed_.valid()) being_packed_.get();
  packing_.swap(waiting_);
  waiting_.clear();
  // Where no thread can be had, it is packed when it is waited for. New threads take some memory of their own.
  const bool meanwhile = execution_.threads > 1 && !execution_.memory_limit;
  const auto when = meanwhile ? std::launch::async | std::launch::deferred : std::launch::deferred;
  being_packed_ = std::async(when, [this] { pack(packing_); });
}

void GzipWriter::finish() {
  if (being_packed_.valid()) being_packed_.get();
  finished_ = true;
  pack(waiting_);
  const auto end = trailer(blocks_);
  append(std::as_bytes(std::span(end)));
}

/// Packs whole blocks, and with `finished_` a shorter one, maybe empty, which is the last.
void GzipWriter::pack(std::span<const std::byte> bytes) {
  const std::size_t whole = bytes.size() / block_size, count = whole + finished_, first = blocks_.size();
  blocks_.resize(first + count);
  packed_.resize(std::max(packed_.size(), count));
  parallel_for_with_scratch(
      execution_, static_cast<std::int64_t>(count), [] { return Packer(); },
      [&](Packer& packer, std::int64_t item) {
        const auto i = static_cast<std::size_t>(item);
        const auto block = bytes.subspan(i * block_size, std::min(block_size, bytes.size() - i * block_size));
        blocks_[first + i] = packer.pack(block, i == whole, packed_[i]);
      });
  for (std::size_t i = 0; i < count; ++i) append(std::span(packed_[i]).first(blocks_[first + i].packed_size));
}

bool GzipWriter::is_held_by(const RawReader& file) const {
  std::vector<std::uint64_t> offsets{header.size()};
  for (const Block& block : blocks_) offsets.push_back(offsets.back() + block.packed_size);
  const auto end = trailer(blocks_);
  if (file.size() != offsets.back() + end.size() || !reads(file, 0, header) || !reads(file, offsets.back(), end)) {
    return false;
  }
  std::atomic<bool> same = true;
  parallel_for_with_scratch(
      execution_, std::ssize(blocks_), [] { return Unpacker(); },
      [&](Unpacker& unpacker, std::int64_t item) {
        const auto i = static_cast<std::size_t>(item);
        if (same && !unpacker.verifies(blocks_[i], file, offsets[i], i + 1 == blocks_.size())) same = false;
      });
  return same;
}

}  // namespace quietvox::io
