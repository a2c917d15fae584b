// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

namespace quietvox::io {

/// The number that stands at `at`, in the byte order of this machine or the other.
template <class T>
T load(const std::byte* at, bool swapped) {
  std::array<std::byte, sizeof(T)> raw;
  std::copy_n(at, sizeof(T), raw.begin());
  if (swapped) std::reverse(raw.begin(), raw.end());
  return std::bit_cast<T>(raw);
}

template <class T>
void store(std::byte* at, T value, bool swapped) {
  auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  if (swapped) std::reverse(raw.begin(), raw.end());
  std::copy(raw.begin(), raw.end(), at);
}

}  // namespace quietvox::io
