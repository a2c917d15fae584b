// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/files/byte_stream.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "io/nifti/files.hpp"
#include "io/output/atomic_output.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

using test::Bytes;
using test::expect_error;

/// Some order, some chance: compresses to about half.
Bytes some_bytes(std::size_t size) {
  std::mt19937 random(7);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i / 1000 + random() % 16);
  return bytes;
}

Bytes read(ByteReader& reader, std::uint64_t offset, std::size_t size) {
  Bytes bytes(size);
  bytes.resize(reader.read(offset, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

Bytes part(const Bytes& bytes, std::size_t offset, std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(offset, bytes.size()));
  const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(offset + size, bytes.size()));
  return Bytes(begin, end);
}

class ByteStreamTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

TEST_F(ByteStreamTest, AnyPlaceCanBeReadInAnyOrder) {
  const Bytes bytes = some_bytes(36 << 20);  // two points to go back to
  test::write_file(folder_ / "plain", bytes);
  test::write_file(folder_ / "packed", test::gzip(bytes, 1));
  const std::size_t mib = 1 << 20;
  using Kept = std::pair<std::string, std::size_t>;
  for (const auto& [name, kept] :
       {Kept{"plain", 0}, Kept{"plain", 5 * mib}, Kept{"packed", 0}, Kept{"packed", 2 * mib + 1},
        Kept{"packed", 20 * mib}, Kept{"packed", 36 * mib}, Kept{"packed", 50 * mib}}) {
    ByteReader reader(folder_ / name);
    EXPECT_EQ(reader.compressed(), name == "packed");
    reader.keep(kept);
    for (const std::size_t offset : {0 * mib, 30 * mib, 10 * mib + 1, 10 * mib, 35 * mib + 7, 20 * mib, 5 * mib,
                                     36 * mib - 3, 36 * mib, 40 * mib, 17 * mib}) {
      EXPECT_EQ(read(reader, offset, 5000), part(bytes, offset, 5000)) << name << " at " << offset << ", kept " << kept;
    }
    EXPECT_EQ(reader.trailing_garbage(), 0u);
  }
}

/// As volumes are read that are looked at before they are filtered.
TEST_F(ByteStreamTest, WhatIsKeptMovesOnWithReading) {
  const Bytes bytes = some_bytes(20 << 20);
  test::write_file(folder_ / "packed", test::gzip(bytes, 1));
  const std::size_t slice = 30'000;
  for (const std::size_t volume : {300'001, 3'000'001}) {
    ByteReader reader(folder_ / "packed");
    reader.keep(volume);
    for (std::size_t begin = 0; begin < bytes.size(); begin += volume) {
      for (const std::size_t at : {volume / 4, volume / 2, std::size_t{0}, slice, 2 * slice, volume - slice}) {
        ASSERT_EQ(read(reader, begin + at, slice), part(bytes, begin + at, slice)) << begin << "+" << at;
      }
    }
  }
}

TEST_F(ByteStreamTest, ReadingBeyondTheEndIsAnError) {
  const Bytes bytes = some_bytes(1000);
  test::write_file(folder_ / "packed", test::gzip(bytes));
  ByteReader reader(folder_ / "packed");
  Bytes more(1001);
  expect_error(Errc::corrupt, "there are only 1000",
               [&] { reader.read_all(0, std::as_writable_bytes(std::span(more)), "its voxels"); });
}

TEST_F(ByteStreamTest, MembersFollowEachOther) {
  const Bytes first = some_bytes(300000), second = some_bytes(1234);
  Bytes packed = test::gzip(first);
  const Bytes more = test::gzip(second);
  packed.insert(packed.end(), more.begin(), more.end());
  test::write_file(folder_ / "packed", packed);
  Bytes all = first;
  all.insert(all.end(), second.begin(), second.end());
  ByteReader reader(folder_ / "packed");
  EXPECT_EQ(read(reader, 0, all.size() + 10), all);
}

TEST_F(ByteStreamTest, WhatFollowsTheMembersIsCountedNotRead) {
  const Bytes bytes = some_bytes(1000);
  Bytes packed = test::gzip(bytes);
  packed.insert(packed.end(), {'g', 'a', 'r', 'b', 'a', 'g', 'e'});
  test::write_file(folder_ / "packed", packed);
  ByteReader reader(folder_ / "packed");
  EXPECT_EQ(read(reader, 0, 2000), bytes);
  EXPECT_EQ(reader.trailing_garbage(), 7u);
}

TEST_F(ByteStreamTest, DamageIsFound) {
  const Bytes bytes = some_bytes(5000);
  const Bytes packed = test::gzip(bytes);
  for (const std::size_t at : {packed.size() - 1, packed.size() - 6, packed.size() / 2}) {  // length, checksum, data
    Bytes damaged = packed;
    damaged[at] ^= 0x55;
    test::write_file(folder_ / "packed", damaged);
    for (const std::size_t kept : {0, 6000}) {
      ByteReader reader(folder_ / "packed");
      reader.keep(kept);
      expect_error(Errc::corrupt, "packed", [&] { read(reader, 0, 6000); });
    }
  }
  for (const std::size_t size :
       {packed.size() - 1, packed.size() - 9, packed.size() / 2, std::size_t{10}, std::size_t{2}}) {
    test::write_file(folder_ / "packed", part(packed, 0, size));
    ByteReader reader(folder_ / "packed");
    expect_error(Errc::corrupt, "end too early", [&] { read(reader, 0, 6000); });
  }
}

TEST_F(ByteStreamTest, WrittenBytesAreReadBack) {
  const Bytes bytes = some_bytes(3 << 20);
  for (const bool compressed : {false, true}) {
    std::filesystem::remove(folder_ / "out");
    ByteWriter writer(folder_ / "out", compressed);
    for (std::size_t offset = 0; offset < bytes.size(); offset += 777777) {
      const Bytes piece = part(bytes, offset, 777777);
      writer.write(std::as_bytes(std::span(piece)));
      writer.write({});
    }
    writer.close_and_verify();
    EXPECT_EQ(test::unpacked(folder_ / "out"), bytes);
  }
}

TEST_F(ByteStreamTest, WhatIsThereIsNeitherOverwrittenNorFollowed) {
  test::write_file(folder_ / "there", Bytes{1, 2, 3});
  std::filesystem::create_symlink("there", folder_ / "link");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling");
  for (const char* name : {"there", "link", "dangling"}) {
    expect_error(Errc::not_writable, name, [&] { ByteWriter(folder_ / name, false); });
  }
  EXPECT_EQ(test::read_file(folder_ / "there"), (Bytes{1, 2, 3}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "nowhere"));
}

TEST_F(ByteStreamTest, DiskThatFillsUpLeavesNothingBehind) {
#ifdef __SANITIZE_THREAD__
  constexpr int threads = 1;  // children of several threads may start none there
#else
  constexpr int threads = 2;
#endif
  for (const bool compressed : {false, true}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100000, 100000};
      setrlimit(RLIMIT_FSIZE, &limit);
      int status = 1;
      try {
        AtomicOutput output(folder_ / "out", AtomicOutput::Kind::file, false, {});
        output.begin();
        Execution execution;
        execution.threads = threads;
        ByteWriter writer(output.staging(), compressed, {}, execution);
        const Bytes bytes = some_bytes(3 << 20);
        writer.write(std::as_bytes(std::span(bytes)));
        writer.close_and_verify();
        output.commit();
      } catch (const Error& error) {
        status = error.code() == Errc::not_writable ? 0 : 2;
      }
      _exit(status);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_TRUE(folder_.names().empty());
  }
}

TEST_F(ByteStreamTest, OnlyRegularFilesAreRead) {
  expect_error(Errc::input_path, "none", [&] { ByteReader reader(folder_ / "none"); });
  expect_error(Errc::input_path, "not a regular file", [&] { ByteReader reader(folder_.path()); });
}

}  // namespace
}  // namespace quietvox::io
