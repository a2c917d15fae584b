// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/sha256.hpp"

#include <openssl/evp.h>

#include "core/error.hpp"

namespace quietvox {
namespace {

void require(int status) {
  if (status != 1) throw Error(Errc::internal, "SHA-256 is not available from libcrypto");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  require(context_ ? EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) : 0);
}

void Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

Sha256::Digest Sha256::digest() {
  Digest digest;
  require(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  return digest;
}

Sha256::Digest sha256(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.digest();
}

std::string to_hex(const Sha256::Digest& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace quietvox
