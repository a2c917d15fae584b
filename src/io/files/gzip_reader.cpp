// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/gzip_reader.hpp"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "core/error.hpp"
#include "io/files/parallel_inflate.hpp"

namespace quietvox::io {
namespace {

constexpr std::size_t packed_size = 1 << 18, unpacked_at_once = 1 << 20;
constexpr std::uint64_t before_threads = 1 << 19;                 // unpacked bytes that are read on and on
constexpr std::size_t least_part = 1 << 17, most_part = 1 << 19;  // packed bytes that a thread unpacks at a time

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

struct GzipReader::State : inflate_state {
  State(const inflate_state& state, std::uint64_t position) : inflate_state(state), file_position(position) {}

  std::unique_ptr<std::byte[]> packed;  // what was read
  std::size_t room = 0;                 // in packed
  std::uint64_t file_position = 0;      // of the next packed bytes to be read

  /// The same state, without the input that was read and not used.
  std::unique_ptr<State> copy() const {
    auto copy = std::make_unique<State>(*this, file_position - avail_in);
    copy->avail_in = 0;
    return copy;
  }
  std::uint64_t bytes_left(const RawReader& file) const { return file.size() - file_position + avail_in; }

  /// Reads so many bytes, or those that are left in the file, once all input was used.
  void refill(const RawReader& file, std::size_t bytes, const Execution& execution = {}) {
    if (bytes > room) packed = std::make_unique_for_overwrite<std::byte[]>(room = bytes);
    const auto pieces = static_cast<std::int64_t>((bytes - 1) / packed_size + 1);
    std::vector<std::size_t> got(static_cast<std::size_t>(pieces));
    parallel_for(execution, pieces, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const std::size_t first = i * packed_size;
        got[i] = file.read(file_position + first, {packed.get() + first, std::min(packed_size, bytes - first)});
      }
    });
    const std::size_t all = std::accumulate(got.begin(), got.end(), std::size_t{0});
    file_position += all;
    next_in = reinterpret_cast<std::uint8_t*>(packed.get());
    avail_in = static_cast<std::uint32_t>(all);
  }
};

GzipReader::GzipReader(const RawReader& file, std::uint64_t start, std::stop_token stop)
    : file_(file), stop_(std::move(stop)), state_(std::make_unique<State>(inflate_state{}, start)) {
  isal_inflate_init(state_.get());
  state_->crc_flag = begins_gzip_member(file, start) ? ISAL_GZIP : ISAL_ZLIB;
}

GzipReader::GzipReader(const GzipReader& other)
    : file_(other.file_),
      stop_(other.stop_),
      state_(other.state_->copy()),
      position_(other.position_of_state()),
      trailing_garbage_(other.trailing_garbage_),
      at_end_(other.at_end_),
      execution_(other.execution_),
      threads_from_(position_ + before_threads) {}

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
    if (next_.valid() || is_worth_threads()) {
      unpack_ahead();
      continue;
    }
    const auto piece = to.subspan(done, std::min(to.size() - done, unpacked_at_once));
    state_->next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    state_->avail_out = static_cast<std::uint32_t>(piece.size());
    if (state_->avail_in == 0) state_->refill(file_, packed_size);
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

void GzipReader::use_threads(const Execution& execution) {
  execution_ = execution.silent();
  execution_->threads = thread_count(execution);  // batches are unpacked outside the arena of the caller
  threads_from_ = position_ + before_threads;
}

std::uint64_t GzipReader::position_of_state() const {
  std::uint64_t position = position_ - taken_;
  for (const auto& piece : ahead_) position += piece.size();
  return position;
}

/// Who reads a little here and there needs none.
bool GzipReader::is_worth_threads() const {
  constexpr std::uint64_t least = 4 * least_part;
  return execution_ && position_ >= threads_from_ && state_->crc_flag == ISAL_GZIP &&
         state_->block_state != ISAL_BLOCK_FINISH && state_->bytes_left(file_) >= least;
}

GzipReader::Batch GzipReader::unpack_batch(const RawReader& file, std::unique_ptr<State> state,
                                           const Execution& execution) {
  constexpr int most_threads = 16;
  // One part more than threads, as what lies behind the last block that is found waits. Batches are of about one size.
  const auto parts = static_cast<std::size_t>(std::min(thread_count(execution), most_threads) + 1);
  const auto left = static_cast<std::size_t>(state->bytes_left(file));
  const std::size_t batches = (left - 1) / (parts * most_part) + 1, size = (left - 1) / batches + 1;
  state->refill(file, size, execution);
  auto pieces = parallel_inflate(*state, std::span(state->next_in, state->avail_in), std::max(size / parts, least_part),
                                 execution);
  std::ranges::reverse(pieces);
  return {std::move(state), std::move(pieces)};
}

void GzipReader::unpack_ahead() {
  Batch batch = next_.valid() ? next_.get() : unpack_batch(file_, state_->copy(), *execution_);
  state_ = std::move(batch.state);
  ahead_ = std::move(batch.pieces);
  if (ahead_.size() <= 1) {  // its blocks are few, or of another kind: the search is not repeated often
    threads_from_ = position_ + alone_;
    alone_ *= 2;
  }
  if (!is_worth_threads()) return;
  next_ = std::async(std::launch::async | std::launch::deferred,
                     [&file = file_, execution = *execution_, state = state_->copy()]() mutable {
                       return unpack_batch(file, std::move(state), execution);
                     });
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
  const std::uint64_t next = state_->file_position - state_->avail_in - unused;
  if (begins_gzip_member(file_, next)) {
    isal_inflate_reset(state_.get());
    state_->crc_flag = ISAL_GZIP;
    if (state_->next_in - reinterpret_cast<std::uint8_t*>(state_->packed.get()) >=
        static_cast<std::ptrdiff_t>(unused)) {
      state_->next_in -= unused;
      state_->avail_in += unused;
    } else {  // they stood at the end of the bytes before
      state_->avail_in = 0;
      state_->file_position = next;
    }
  } else {
    at_end_ = true;
    trailing_garbage_ = file_.size() - next;
  }
}

}  // namespace quietvox::io
