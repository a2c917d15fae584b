// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/parallel_inflate.hpp"

#include <isa-l/crc.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

namespace quietvox::io {
namespace {

constexpr std::size_t window_size = ISAL_DEF_HIST_SIZE;
constexpr std::size_t step = 1 << 18;         // unpacked at a time
constexpr std::size_t most_of_one = 1 << 22;  // unpacked by a thread: of what packs so well, one alone is fast
using Bytes = std::vector<std::uint8_t>;
using Window = std::array<std::uint8_t, window_size>;

/// Bit positions count from the first of some bytes, within each byte from the lowest bit.
using Bit = std::uint64_t;

/// The 57 bits from `at` on, at least; zeros beyond the end.
std::uint64_t bits_at(std::span<const std::uint8_t> bytes, Bit at) {
  std::uint64_t bits = 0;
  const auto rest = bytes.subspan(std::min(static_cast<std::size_t>(at / 8), bytes.size()));
  std::memcpy(&bits, rest.data(), std::min(sizeof bits, rest.size()));
  return bits >> at % 8;
}

/// Whether a block may begin there that is not the last, with codes of its own (RFC 1951, 3.2.7).
bool may_begin_block(std::span<const std::uint8_t> bytes, Bit at) {
  const std::uint64_t header = bits_at(bytes, at);
  constexpr unsigned most_codes = 29;
  if ((header & 7) != 4 || (header >> 3 & 31) > most_codes || (header >> 8 & 31) > most_codes) return false;
  const unsigned lengths = (header >> 13 & 15) + 4;
  const std::uint64_t code = bits_at(bytes, at + 17);
  unsigned share = 0;  // of all codes, in 1/128
  for (unsigned i = 0; i < lengths; ++i) {
    const unsigned length = code >> 3 * i & 7;
    if (length > 0) share += 128U >> length;
  }
  return share == 128;
}

/// Has `state` go on at a bit, where a block begins.
void go_to(inflate_state& state, std::span<std::uint8_t> packed, Bit at, const Window& window) {
  const std::size_t skipped = at / 8, part = at % 8;
  state.next_in = packed.data() + skipped + (part > 0 ? 1 : 0);
  state.avail_in = static_cast<std::uint32_t>(packed.size() - skipped - (part > 0 ? 1 : 0));
  state.read_in = part > 0 ? packed[skipped] >> part : 0;
  state.read_in_length = part > 0 ? static_cast<std::int32_t>(8 - part) : 0;
  state.block_state = ISAL_BLOCK_NEW_HDR;
  state.tmp_in_size = 0;
  state.write_overflow_lits = state.write_overflow_len = state.copy_overflow_length = state.copy_overflow_distance = 0;
  isal_inflate_set_dict(&state, const_cast<std::uint8_t*>(window.data()), window_size);
}

/// Unpacks up to `step` bytes more, to the end of `to`. False where that fails.
bool unpack_step(inflate_state& state, Bytes& to) {
  const std::size_t before = to.size();
  to.resize(before + step);
  state.next_out = to.data() + before;
  state.avail_out = step;
  const int status = isal_inflate(&state);
  to.resize(before + step - state.avail_out);
  return status == ISAL_DECOMP_OK || status == ISAL_END_INPUT;
}

/// Whether a step may unpack more.
bool may_go_on(const inflate_state& state, const Bytes& to) {
  return (state.avail_in > 0 || state.avail_out == 0) && state.block_state != ISAL_BLOCK_FINISH &&
         to.size() < most_of_one;
}

/// True if unpacking stopped between two blocks: all input is used, except bits short of a byte, which begin the next
/// block, and no output waits for room.
bool ended_with_block(const inflate_state& state, Bit end) {
  const auto left =
      static_cast<std::uint64_t>(state.read_in_length) + 8 * static_cast<std::uint64_t>(state.tmp_in_size);
  return state.avail_in == 0 && state.avail_out > 0 && left == (8 - end % 8) % 8 &&
         (state.block_state == ISAL_BLOCK_NEW_HDR || state.block_state == ISAL_BLOCK_HDR);
}

/// The bytes up to a bit.
std::span<std::uint8_t> until(std::span<std::uint8_t> packed, Bit end) { return packed.first((end + 7) / 8); }

struct MadeUpWindows {
  Window first, second;

  MadeUpWindows() {
    for (std::size_t i = 0; i < window_size; ++i) {
      first[i] = static_cast<std::uint8_t>(i);
      second[i] = static_cast<std::uint8_t>(i + i / 256 + 1);  // never the same
    }
  }
  static std::size_t place(std::uint8_t first, std::uint8_t second) {
    return static_cast<std::uint8_t>(second - first - 1) * std::size_t{256} + first;
  }

  /// What a byte is that came out so behind the two windows.
  class Table {
   public:
    explicit Table(const Window& window) : bytes_(256 * std::size_t{256}) {
      std::ranges::copy(window, bytes_.begin());
      for (std::size_t byte = 0; byte < 256; ++byte) {  // known bytes stay
        const auto known = static_cast<std::uint8_t>(byte);
        bytes_[place(known, known)] = known;
      }
    }
    std::uint8_t byte(std::uint8_t first, std::uint8_t second) const { return bytes_[place(first, second)]; }

   private:
    Bytes bytes_;
  };
};
const MadeUpWindows made_up;

/// What lies between two blocks, unpacked without the bytes before it.
struct Segment {
  Bytes bytes;
  Bytes second;  ///< the first of the bytes once more, behind the other window: as many as may differ
  bool is_whole = false;

  void unpack(std::span<std::uint8_t> packed, Bit begin, Bit end) {
    const auto one = std::make_unique<inflate_state>(), other = std::make_unique<inflate_state>();
    for (inflate_state* const state : {one.get(), other.get()}) {
      isal_inflate_init(state);
      go_to(*state, until(packed, end), begin, state == one.get() ? made_up.first : made_up.second);
    }
    bytes.reserve(std::min(most_of_one + step, static_cast<std::size_t>(end - begin) / 2));  // a usual ratio is 2 to 4
    bool is_window_known = false;
    do {
      if (!unpack_step(*one, bytes)) return;
      if (is_window_known) continue;
      if (!unpack_step(*other, second)) return;
      is_window_known =
          bytes.size() >= window_size && std::equal(bytes.end() - window_size, bytes.end(), second.end() - window_size);
    } while (may_go_on(*one, bytes));
    is_whole = ended_with_block(*one, end);
  }

  /// From byte number `from` on, for the bytes behind a window.
  void fill_in(const Window& window, std::size_t from = 0) {
    constexpr std::size_t word = 16;  // many have no byte that differs
    const MadeUpWindows::Table table(window);
    for (std::size_t i = from; i < second.size(); i += word) {
      const std::size_t size = std::min(word, second.size() - i);
      if (std::memcmp(bytes.data() + i, second.data() + i, size) == 0) continue;
      for (std::size_t j = i; j < i + size; ++j) bytes[j] = second[j] = table.byte(bytes[j], second[j]);
    }
  }
};

/// The first block of some bytes that begins in [begin, end).
std::optional<Bit> find_block(std::span<std::uint8_t> packed, Bit begin, Bit end, const std::stop_token& stop) {
  constexpr std::size_t enough = 1 << 15;
  const auto state = std::make_unique<inflate_state>();
  std::array<std::uint8_t, enough> unpacked;
  for (Bit at = begin; at < end; ++at) {
    if (!may_begin_block(packed, at)) continue;
    check_stop(stop);
    isal_inflate_init(state.get());
    go_to(*state, packed, at, made_up.first);
    state->next_out = unpacked.data();
    state->avail_out = enough;
    if (isal_inflate(state.get()) == ISAL_DECOMP_OK && state->avail_out == 0) return at;
  }
  return {};
}

void shift_in(Window& window, const Bytes& bytes) {
  const std::size_t count = std::min(bytes.size(), window_size);
  std::copy(window.begin() + static_cast<std::ptrdiff_t>(count), window.end(), window.begin());
  std::copy(bytes.end() - static_cast<std::ptrdiff_t>(count), bytes.end(),
            window.end() - static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::vector<Bytes> parallel_inflate(inflate_state& state, std::span<std::uint8_t> packed, std::size_t part,
                                    const Execution& execution) {
  const std::size_t parts = packed.size() / part;
  std::vector<std::optional<Bit>> found(parts);
  parallel_for(execution, static_cast<std::int64_t>(parts), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = std::max<std::int64_t>(begin, 1); i < end; ++i) {
      const Bit from = static_cast<Bit>(i) * part * 8;
      found[static_cast<std::size_t>(i)] = find_block(packed, from, from + part * 8, execution.stop);
    }
  });
  std::vector<Bit> blocks;
  for (const auto& block : found) {
    if (block) blocks.push_back(*block);
  }
  if (blocks.empty()) blocks.push_back(packed.size() * 8);

  // The first piece is what `state` itself unpacks, up to the first of these blocks.
  std::vector<Segment> segments(blocks.size());
  inflate_state first = state;
  bool is_sound = true;
  parallel_for(execution, std::ssize(segments), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      Segment& segment = segments[i];
      if (i > 0) {
        segment.unpack(packed, blocks[i - 1], blocks[i]);
        continue;
      }
      first.next_in = packed.data();
      first.avail_in = static_cast<std::uint32_t>(until(packed, blocks[0]).size());
      do {
        is_sound = unpack_step(first, segment.bytes);
      } while (is_sound && may_go_on(first, segment.bytes));
      segment.is_whole = ended_with_block(first, blocks[0]);
    }
  });
  if (!is_sound) return {};

  state = first;
  std::vector<Window> windows(1);  // before segment 1 and those after it
  shift_in(windows[0], segments[0].bytes);
  const bool is_window_known = segments[0].is_whole && segments[0].bytes.size() >= window_size;
  std::size_t count = 1;  // of segments that follow each other
  for (; is_window_known && count < segments.size() && segments[count].is_whole; ++count) {
    Segment& segment = segments[count];
    segment.fill_in(windows.back(), segment.bytes.size() - std::min(segment.bytes.size(), window_size));
    windows.push_back(windows.back());
    shift_in(windows.back(), segment.bytes);
  }
  std::vector<std::uint32_t> checksums(count);
  parallel_for(execution, static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(std::max<std::int64_t>(begin, 1)); i < static_cast<std::size_t>(end); ++i) {
      Bytes& bytes = segments[i].bytes;
      segments[i].fill_in(windows[i - 1]);
      checksums[i] = crc32_gzip_refl(0, bytes.data(), bytes.size());
    }
  });
  std::vector<Bytes> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes& bytes = pieces.emplace_back(std::move(segments[i].bytes));
    if (i == 0) continue;
    state.crc = static_cast<std::uint32_t>(crc32_combine(state.crc, checksums[i], static_cast<z_off_t>(bytes.size())));
    state.total_out += static_cast<std::uint32_t>(bytes.size());
  }
  if (count > 1) {
    go_to(state, packed, blocks[count - 1], windows.back());
  } else {  // it goes on as it is, with all that is left
    state.avail_in = static_cast<std::uint32_t>(packed.data() + packed.size() - state.next_in);
  }
  return pieces;
}

}  // namespace quietvox::io
