// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace quietvox {

/// The hash function SHA-256 (FIPS 180-4), fed piece by piece.
class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();
  void update(std::span<const std::byte>);
  /// The hash of all that was given; nothing may follow.
  Digest digest();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

/// The hash of a text.
Sha256::Digest sha256(std::string_view text);

/// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256::Digest&);

}  // namespace quietvox
