// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/sha256.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace quietvox {
namespace {

std::string sha256(std::string_view text, std::size_t piece) {
  Sha256 hash;
  for (std::size_t i = 0; i < text.size(); i += piece) hash.update(std::as_bytes(std::span(text.substr(i, piece))));
  return to_hex(hash.digest());
}

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a'), 999), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesDoNotMatter) {
  const std::string text(200, 'x');
  for (const std::size_t piece : {1, 55, 56, 63, 64, 65, 200}) EXPECT_EQ(sha256(text, piece), sha256(text, 7));
}

}  // namespace
}  // namespace quietvox
