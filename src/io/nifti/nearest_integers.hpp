// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace quietvox::io {

/// Rounds finite values to the nearest integers, half away from zero. Values beyond the type become its nearest number;
/// returns how many did. Both spans have one size.
std::int64_t nearest_integers(std::span<const float> values, std::span<std::int16_t> integers);
std::int64_t nearest_integers(std::span<const float> values, std::span<std::uint16_t> integers);

}  // namespace quietvox::io
