// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/uid.hpp"

#include <algorithm>
#include <span>

#include "core/sha256.hpp"

namespace quietvox::io {

std::string uid_from(std::string_view text) {
  auto uuid = sha256(text);
  uuid[6] = (uuid[6] & 0x0f) | 0x80;  // version 8: made by the application's own rule
  uuid[8] = (uuid[8] & 0x3f) | 0x80;  // variant of RFC 9562
  // The first 16 bytes as one decimal number, by repeated division by ten.
  std::string digits;
  const std::span<std::uint8_t> number(uuid.data(), 16);
  while (std::any_of(number.begin(), number.end(), [](std::uint8_t byte) { return byte != 0; })) {
    unsigned remainder = 0;
    for (std::uint8_t& byte : number) {
      const unsigned value = remainder << 8 | byte;
      byte = static_cast<std::uint8_t>(value / 10);
      remainder = value % 10;
    }
    digits += static_cast<char>('0' + remainder);
  }
  std::reverse(digits.begin(), digits.end());
  return "2.25." + digits;
}

}  // namespace quietvox::io
