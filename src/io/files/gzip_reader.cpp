// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/gzip_reader.hpp"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "io/files/inflate_ahead.hpp"

namespace quietvox::io {
namespace {

constexpr std::size_t packed_size = 1 << 18, unpacked_at_once = 1 << 20;
constexpr std::uint64_t before_threads = 2 << 20;  // unpacked bytes that are read on and on

const char* what_is_wrong(int status) {
  switch (status) {
    case ISAL_INVALID_BLOCK: return "invalid block";
    case ISAL_INVALID_SYMBOL: return "invalid code";
    case ISAL_INVALID_LOOKBACK: return "invalid distance";
    case ISAL_INVALID_WRAPPER: return "incorrect header";
    case ISAL_UNSUPPORTED_METHOD: return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM: return "incorrect checksum or length";
    default: return "a dictionary is needed";
  }
}

}  // namespace

bool begins_gzip_member(const RawReader& file, std::uint64_t offset) {
  std::array<std::byte, 2> start{};
  return file.read(offset, start) == 2 && start[0] == std::byte{0x1f} && start[1] == std::byte{0x8b};
}

struct GzipReader::State : inflate_state {};

GzipReader::GzipReader(const RawReader& file, std::uint64_t start, std::stop_token stop)
    : file_(file),
      stop_(std::move(stop)),
      state_(std::make_unique<State>()),
      packed_(packed_size),
      file_position_(start) {
  isal_inflate_init(state_.get());
  state_->crc_flag = begins_gzip_member(file, start) ? ISAL_GZIP : ISAL_ZLIB;
}

GzipReader::GzipReader(const GzipReader& other)
    : file_(other.file_),
      stop_(other.stop_),
      state_(std::make_unique<State>(*other.state_)),
      file_position_(other.file_position_ - other.state_->avail_in),
      position_(other.position_of_state()),
      trailing_garbage_(other.trailing_garbage_),
      at_end_(other.at_end_),
      execution_(other.execution_),
      threads_from_(position_ + before_threads) {
  state_->avail_in = 0;
}

GzipReader::~GzipReader() = default;

std::unique_ptr<GzipReader> GzipReader::copy() const { return std::unique_ptr<GzipReader>(new GzipReader(*this)); }

std::size_t GzipReader::read(std::span<std::byte> to) {
  std::size_t done = 0;
  while (done < to.size() && !at_end_) {
    check_stop(stop_);
    if (!ahead_.empty()) {
      done += take_ahead(to.subspan(done));
      continue;
    }
    if (is_worth_threads()) {
      unpack_ahead();
      continue;
    }
    const auto piece = to.subspan(done, std::min(to.size() - done, unpacked_at_once));
    state_->next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    state_->avail_out = static_cast<std::uint32_t>(piece.size());
    if (state_->avail_in == 0) refill(packed_size);
    const bool more = state_->avail_in > 0;
    const int status = isal_inflate(state_.get());
    const std::size_t got = piece.size() - state_->avail_out;
    done += got;
    position_ += got;
    if (status != ISAL_DECOMP_OK && status != ISAL_END_INPUT) {
      throw Error(Errc::corrupt, file_.path().string() + ": gzip data are damaged: " + what_is_wrong(status));
    }
    if (state_->block_state == ISAL_BLOCK_FINISH) {
      start_next_member();
    } else if (!more && got == 0) {
      throw Error(Errc::corrupt, file_.path().string() + ": gzip data end too early");
    }
  }
  return done;
}

/// Reads on until there are so many bytes of input, or the file has been used up.
void GzipReader::refill(std::size_t bytes) {
  const std::size_t left = state_->avail_in;
  if (left > 0) std::memmove(packed_.data(), state_->next_in, left);
  packed_.resize(std::max(bytes, left));  // copies are made without
  const std::size_t got = file_.read(file_position_, std::span(packed_).subspan(left));
  file_position_ += got;
  state_->next_in = reinterpret_cast<std::uint8_t*>(packed_.data());
  state_->avail_in = static_cast<std::uint32_t>(left + got);
}

void GzipReader::use_threads(const Execution& execution) {
  execution_ = execution.silent();
  threads_from_ = position_ + before_threads;
}

std::uint64_t GzipReader::position_of_state() const {
  std::uint64_t position = position_ - taken_;
  for (const auto& piece : ahead_) position += piece.size();
  return position;
}

/// Who reads a little here and there needs none.
bool GzipReader::is_worth_threads() const {
  constexpr std::uint64_t fewest_parts = 4;
  return execution_ && position_ >= threads_from_ && state_->crc_flag == ISAL_GZIP &&
         file_.size() - file_position_ + state_->avail_in >= fewest_parts * ahead_size;
}

void GzipReader::unpack_ahead() {
  constexpr int most_threads = 16;
  // One part more than threads, as what lies behind the last block that is found waits.
  refill(static_cast<std::size_t>(std::min(thread_count(*execution_), most_threads) + 1) * ahead_size);
  ahead_ = inflate_ahead(*state_, std::span(state_->next_in, state_->avail_in), *execution_);
  if (ahead_.size() <= 1) {  // its blocks are few, or of another kind: the search is not repeated often
    threads_from_ = position_ + alone_;
    alone_ *= 2;
  }
  std::ranges::reverse(ahead_);
}

std::size_t GzipReader::take_ahead(std::span<std::byte> to) {
  const auto bytes = std::as_bytes(std::span(ahead_.back())).subspan(taken_);
  const std::size_t count = std::min(bytes.size(), to.size());
  std::ranges::copy(bytes.first(count), to.begin());
  position_ += count;
  taken_ += count;
  if (count == bytes.size()) {
    ahead_.pop_back();
    taken_ = 0;
  }
  return count;
}

/// gzip data may go on with another member; what does not begin like one is no part of them.
void GzipReader::start_next_member() {
  // Whole bytes among the bits that were taken and not used are given back.
  const auto unused = static_cast<std::uint32_t>(state_->read_in_length) / 8;
  const std::uint64_t next = file_position_ - state_->avail_in - unused;
  if (begins_gzip_member(file_, next)) {
    isal_inflate_reset(state_.get());
    state_->crc_flag = ISAL_GZIP;
    if (state_->next_in - reinterpret_cast<std::uint8_t*>(packed_.data()) >= static_cast<std::ptrdiff_t>(unused)) {
      state_->next_in -= unused;
      state_->avail_in += unused;
    } else {  // they stood at the end of the bytes before
      state_->avail_in = 0;
      file_position_ = next;
    }
  } else {
    at_end_ = true;
    trailing_garbage_ = file_.size() - next;
  }
}

}  // namespace quietvox::io
