// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace quietvox::io {

/// The hash function SHA-256 (FIPS 180-4), fed piece by piece.
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void update(std::span<const std::byte>);
  /// The hash of all that was given; nothing may follow.
  Digest digest();

 private:
  void process(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::uint64_t size_ = 0;
};

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256::Digest&);

}  // namespace quietvox::io
