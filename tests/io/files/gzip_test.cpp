// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// gzip data beside zlib: what others wrote is read as zlib reads it, and what is written is read by zlib.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "io/files/byte_stream.hpp"
#include "io/files/gzip_writer.hpp"
#include "io/files/parallel_inflate.hpp"
#include "io/nifti/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

using test::Bytes;

constexpr std::size_t block = 1 << 18;

Bytes noise(std::size_t size, unsigned range, unsigned seed = 7) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i / 300 + random() % range);
  return bytes;
}

/// Packed by zlib with a header of its own, where there is one.
Bytes packed_by_zlib(const Bytes& bytes, int level, int strategy, int window = 31, gz_header* header = nullptr) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, window, 8, strategy);
  if (header) deflateSetHeader(&stream, header);
  Bytes packed(deflateBound(&stream, bytes.size()) + 200);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

/// What zlib unpacks of one member that is the whole file; nothing where it finds fault with it.
std::optional<Bytes> unpacked_by_zlib(const Bytes& packed, std::size_t most) {
  z_stream stream{};
  inflateInit2(&stream, 31);
  Bytes bytes(most);
  stream.next_in = const_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int status = inflate(&stream, Z_FINISH);
  bytes.resize(most - stream.avail_out);
  const bool whole = status == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return whole ? std::optional(bytes) : std::nullopt;
}

class GzipTest : public testing::Test {
 protected:
  /// Reads a file in pieces of so many bytes.
  Bytes read(const std::string& name, std::size_t piece, std::optional<bool> compressed = {}, int threads = 1) {
    ByteReader reader(folder_ / name, compressed);
    Execution execution;
    execution.threads = threads;
    reader.use_threads(execution);
    Bytes all, bytes(piece);
    while (const std::size_t got = reader.read(all.size(), std::as_writable_bytes(std::span(bytes)))) {
      all.insert(all.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(got));
    }
    return all;
  }

  Bytes written(const Bytes& bytes, std::size_t piece, int threads) {
    Execution execution;
    execution.threads = threads;
    std::filesystem::remove(folder_ / "out");
    ByteWriter writer(folder_ / "out", true, {}, execution);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      writer.write(std::as_bytes(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at))));
    }
    writer.close_and_verify();
    return test::read_file(folder_ / "out");
  }

  test::TemporaryFolder folder_;
};

TEST_F(GzipTest, WrittenIsOneMemberThatDependsOnTheDataAlone) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, block - 1, block, block + 1, 4 * block, 9 * block + 5}) {
    const Bytes bytes = noise(size, 9);
    const Bytes packed = written(bytes, 1 << 20, 1);
    EXPECT_EQ(unpacked_by_zlib(packed, size + 1), bytes) << size;
    EXPECT_EQ(Bytes(packed.begin(), packed.begin() + 10), (Bytes{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}));
    EXPECT_EQ(written(bytes, 777, 1), packed) << size;
    EXPECT_EQ(written(bytes, 300001, 3), packed) << size;
    EXPECT_EQ(read("out", 4321), bytes) << size;
  }
}

TEST_F(GzipTest, WhereThePackerLiesInMemoryChangesNothing) {
  Bytes bytes(60);  // a short block has few hashes, so that a wrong one is met soon
  bytes[0] = 92;
  bytes[1] = 1;
  const Bytes packed = written(bytes, 60, 1);
  std::vector<Bytes> between;
  for (int i = 0; i < 1000; ++i) {
    between.emplace_back(100000);  // the next one lies elsewhere
    ASSERT_EQ(written(bytes, 60, 1), packed) << i;
  }
}

TEST_F(GzipTest, ChanceIsPackedWithoutGrowth) {
  const Bytes bytes = noise(3 * block, 256);
  EXPECT_LT(written(bytes, block, 2).size(), bytes.size() + bytes.size() / 500);
  EXPECT_EQ(test::unpacked(folder_ / "out"), bytes);
}

TEST_F(GzipTest, VerificationFindsEveryDamage) {
  const Bytes bytes = noise(2 * block + 50, 3);
  RawWriter file(folder_ / "out", "out");
  GzipWriter packer(file, {});
  packer.write(std::as_bytes(std::span(bytes)));
  packer.finish();
  file.close();
  const Bytes packed = test::read_file(folder_ / "out");
  EXPECT_TRUE(packer.is_held_by(RawReader(folder_ / "out")));

  std::mt19937 random(3);
  std::vector<std::size_t> places(200);
  for (std::size_t& at : places) at = random() % packed.size();
  for (std::size_t i = 0; i < 20; ++i) {
    places.push_back(i);
    places.push_back(packed.size() - 1 - i);
  }
  for (const std::size_t at : places) {
    Bytes damaged = packed;
    damaged[at] ^= static_cast<std::uint8_t>(1 << random() % 8);
    test::write_file(folder_ / "damaged", damaged);
    EXPECT_FALSE(packer.is_held_by(RawReader(folder_ / "damaged"))) << at;
  }
  for (const int more : {-1, 1}) {
    Bytes other = packed;
    other.resize(packed.size() + static_cast<std::size_t>(more));
    test::write_file(folder_ / "damaged", other);
    EXPECT_FALSE(packer.is_held_by(RawReader(folder_ / "damaged"))) << more;
  }
}

TEST_F(GzipTest, EveryKindOfBlockIsRead) {
  const Bytes bytes = noise(700000, 20);
  for (const int level : {0, 1, 6, 9}) {
    for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE}) {
      test::write_file(folder_ / "in", packed_by_zlib(bytes, level, strategy));
      for (const std::size_t piece : {std::size_t{13}, std::size_t{70000}, std::size_t{1} << 20}) {
        EXPECT_EQ(read("in", piece), bytes) << level << " " << strategy << " " << piece;
      }
    }
  }
}

TEST_F(GzipTest, EveryHeaderIsRead) {
  const Bytes bytes = noise(5000, 20);
  Bytes extra(300, 'x');
  char name[] = "scan.nii", comment[] = "no comment";
  gz_header header{};
  header.text = header.hcrc = 1;
  header.extra = extra.data();
  header.extra_len = static_cast<uInt>(extra.size());
  header.name = reinterpret_cast<Bytef*>(name);
  header.comment = reinterpret_cast<Bytef*>(comment);
  test::write_file(folder_ / "in", packed_by_zlib(bytes, 6, Z_DEFAULT_STRATEGY, 31, &header));
  EXPECT_EQ(read("in", 1000), bytes);
  test::write_file(folder_ / "zlib", packed_by_zlib(bytes, 6, Z_DEFAULT_STRATEGY, 15));
  EXPECT_EQ(read("zlib", 1000, true), bytes);
}

TEST_F(GzipTest, ManyMembersOfAnyLengthAreRead) {
  Bytes all, packed;
  for (unsigned i = 0; i < 300; ++i) {
    const Bytes bytes = noise(i * 37 % 5000, 1 + i % 200, i);
    const Bytes member = packed_by_zlib(bytes, static_cast<int>(i % 10), i % 3 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY);
    all.insert(all.end(), bytes.begin(), bytes.end());
    packed.insert(packed.end(), member.begin(), member.end());
  }
  test::write_file(folder_ / "in", packed);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{999}, std::size_t{1} << 20}) {
    EXPECT_EQ(read("in", piece), all) << piece;
  }
}

TEST_F(GzipTest, DamagedDataAreReadAsZlibReadsThem) {
  const Bytes bytes = noise(3000, 4);
  std::mt19937 random(11);
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Bytes packed = packed_by_zlib(bytes, trial % 10, trial % 3 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY);
    for (unsigned hit = random() % 3 + 1; hit > 0; --hit) {
      packed[2 + random() % (packed.size() - 2)] ^= static_cast<std::uint8_t>(1 << random() % 8);
    }
    test::write_file(folder_ / "in", packed);
    const std::optional<Bytes> expected = unpacked_by_zlib(packed, 1 << 20);
    try {
      const Bytes found = read("in", 4096);
      EXPECT_EQ(found, expected.value_or(found)) << trial;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::corrupt);
      EXPECT_FALSE(expected) << trial << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 2500);
}

TEST_F(GzipTest, EmptyMembersTakeNoTime) {
  const Bytes nothing = packed_by_zlib({}, 6, Z_DEFAULT_STRATEGY);
  Bytes packed = packed_by_zlib(noise(1000, 9), 6, Z_DEFAULT_STRATEGY);
  for (int i = 0; i < 1'000'000; ++i) packed.insert(packed.end(), nothing.begin(), nothing.end());
  test::write_file(folder_ / "in", packed);
#ifdef __SANITIZE_THREAD__
  constexpr double most_seconds = 60;
#else
  constexpr double most_seconds = 5;
#endif
  const std::clock_t start = std::clock();
  EXPECT_EQ(read("in", 4096), noise(1000, 9));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, most_seconds);
}

/// Bytes that pack well and badly, near and far from what they repeat.
Bytes mixed(std::size_t size) {
  Bytes bytes = noise(size, 60);
  std::mt19937 random(5);
  for (std::size_t at = 0; at + 300'000 < size; at += 200'000 + random() % 100'000) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 4) {
      case 0: std::fill_n(begin, 90'000, std::uint8_t{0}); break;
      case 1: std::generate_n(begin, 70'000, [&] { return static_cast<std::uint8_t>(random()); }); break;
      case 2:  // from as far as deflate reaches, again and again
        for (std::size_t i = std::max<std::size_t>(at, 32'768); i < at + 150'000; ++i) bytes[i] = bytes[i - 32'768];
        break;
      default: break;
    }
  }
  return bytes;
}

/// What one thread has come to, others go on from; what they leave, it ends.
TEST_F(GzipTest, ThreadsUnpackWhatOneThreadWould) {
  const Bytes bytes = mixed(12 << 20);
  for (const int level : {1, 6, 9}) {
    Bytes packed = packed_by_zlib(bytes, level, Z_DEFAULT_STRATEGY);
    inflate_state state;
    isal_inflate_init(&state);
    state.crc_flag = ISAL_GZIP;
    Bytes unpacked(bytes.size() + 1);
    const auto go_on = [&](std::size_t from, std::size_t most) {
      state.next_out = unpacked.data() + from;
      state.avail_out = static_cast<std::uint32_t>(most);
      EXPECT_EQ(isal_inflate(&state), ISAL_DECOMP_OK);
      return from + most - state.avail_out;
    };
    state.next_in = packed.data();
    state.avail_in = static_cast<std::uint32_t>(packed.size());
    std::size_t done = go_on(0, 123'457);
    constexpr std::size_t part = 1 << 19;
    Execution execution;
    execution.threads = 4;
    const auto pieces = parallel_inflate(state, std::span(packed).last(state.avail_in), part, execution);
    EXPECT_GT(pieces.size(), packed.size() / part / 2) << level;
    for (const Bytes& piece : pieces) {
      std::ranges::copy(piece, unpacked.begin() + static_cast<std::ptrdiff_t>(done));
      done += piece.size();
    }
    EXPECT_GT(done, bytes.size() / 2);
    done = go_on(done, unpacked.size() - done);
    EXPECT_EQ(state.block_state, ISAL_BLOCK_FINISH);
    unpacked.resize(done);
    EXPECT_EQ(unpacked, bytes) << level;
  }
}

TEST_F(GzipTest, ThreadsReadEveryKindOfData) {
  const Bytes bytes = mixed(12 << 20);
  const auto expect_same = [&](const char* what, const Bytes& packed, const Bytes& expected) {
    test::write_file(folder_ / "in", packed);
    for (const std::size_t piece : {std::size_t{70'001}, std::size_t{5} << 20}) {
      EXPECT_TRUE(read("in", piece, {}, 4) == expected) << what << " " << piece;
    }
  };
  expect_same("level 1", packed_by_zlib(bytes, 1, Z_DEFAULT_STRATEGY), bytes);
  expect_same("without codes of their own", packed_by_zlib(bytes, 1, Z_FIXED), bytes);
  expect_same("not packed", packed_by_zlib(bytes, 0, Z_DEFAULT_STRATEGY), bytes);
  Bytes sparse(100 << 20);  // of which a thread's part unpacks to more than it may
  std::mt19937 random(3);
  for (std::size_t i = 0; i < sparse.size(); i += 40) sparse[i] = static_cast<std::uint8_t>(random());
  const Bytes packed = packed_by_zlib(sparse, 1, Z_DEFAULT_STRATEGY);
  EXPECT_GT(packed.size(), 3U << 20);  // or threads are not asked
  expect_same("sparse", packed, sparse);
  written(bytes, 1 << 20, 2);
  expect_same("ours", test::read_file(folder_ / "out"), bytes);
  Bytes members, all;
  for (std::size_t at = 0; at < bytes.size(); at += 3'000'000) {
    const Bytes part(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at + 3'000'000, bytes.size())));
    const Bytes member = packed_by_zlib(part, 1, Z_DEFAULT_STRATEGY);
    members.insert(members.end(), member.begin(), member.end());
  }
  members.insert(members.end(), 5, 'x');  // no part of them
  expect_same("members", members, bytes);
}

TEST_F(GzipTest, ThreadsReadAnywhere) {
  const Bytes bytes = mixed(20 << 20);
  test::write_file(folder_ / "in", packed_by_zlib(bytes, 1, Z_DEFAULT_STRATEGY));
  ByteReader reader(folder_ / "in");
  Execution execution;
  execution.threads = 4;
  reader.use_threads(execution);
  std::mt19937 random(9);
  Bytes some;
  for (int i = 0; i < 30; ++i) {
    const std::size_t at = random() % bytes.size(), size = std::min(bytes.size() - at, random() % 3'000'000 + 1);
    some.resize(size);
    ASSERT_EQ(reader.read(at, std::as_writable_bytes(std::span(some))), size);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at))) << i;
  }
}

TEST_F(GzipTest, ThreadsFindEveryDamage) {
  const Bytes bytes = mixed(8 << 20);
  const Bytes packed = packed_by_zlib(bytes, 1, Z_DEFAULT_STRATEGY);
  std::mt19937 random(13);
  int refused = 0;
  for (int trial = 0; trial < 32; ++trial) {
    Bytes damaged = packed;
    if (trial % 4 == 0) {
      damaged.resize(random() % packed.size());
    } else {
      damaged[packed.size() / 4 + random() % (packed.size() * 3 / 4)] ^= static_cast<std::uint8_t>(1 << random() % 8);
    }
    test::write_file(folder_ / "in", damaged);
    const auto result = [&](int threads) {
      try {
        return std::pair(read("in", 1 << 18, {}, threads), std::string());
      } catch (const Error& error) {
        return std::pair(Bytes(), std::string(error.what()));
      }
    };
    const auto one = result(1), several = result(4);
    EXPECT_TRUE(one == several) << trial << ": " << one.second << "; " << several.second;
    refused += one.second.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 28);
}

/// While threads unpack what comes next.
TEST_F(GzipTest, ThreadsEndWithTheirReaderAndOnAStopRequest) {
  const Bytes bytes = mixed(20 << 20);
  test::write_file(folder_ / "in", packed_by_zlib(bytes, 1, Z_DEFAULT_STRATEGY));
  Execution execution;
  execution.threads = 4;
  Bytes some(2 << 20);
  for (const bool stops : {false, true}) {
    std::stop_source stop;
    execution.stop = stop.get_token();
    ByteReader reader(folder_ / "in", {}, 0, stop.get_token());
    reader.use_threads(execution);
    ASSERT_EQ(reader.read(0, std::as_writable_bytes(std::span(some))), some.size());
    EXPECT_TRUE(std::equal(some.begin(), some.end(), bytes.begin()));
    if (!stops) continue;
    stop.request_stop();
    Bytes rest(bytes.size());
    test::expect_error(Errc::cancelled, "stopped",
                       [&] { reader.read(some.size(), std::as_writable_bytes(std::span(rest))); });
  }
}

TEST_F(GzipTest, ReadingEndsOnAStopRequest) {
  test::write_file(folder_ / "packed", packed_by_zlib(noise(5000, 9), 6, Z_DEFAULT_STRATEGY));
  test::write_file(folder_ / "plain", noise(5000, 9));
  for (const char* name : {"packed", "plain"}) {
    SCOPED_TRACE(name);
    std::stop_source stop;
    ByteReader reader(folder_ / name, {}, 0, stop.get_token());
    Bytes bytes(10);
    EXPECT_EQ(reader.read(0, std::as_writable_bytes(std::span(bytes))), 10U);
    stop.request_stop();
    test::expect_error(Errc::cancelled, "stopped", [&] { reader.read(100, std::as_writable_bytes(std::span(bytes))); });
  }
}

}  // namespace
}  // namespace quietvox::io
