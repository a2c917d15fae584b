// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace quietvox::io {

/// How a file stores a voxel.
enum class ScalarType { uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64 };

std::string_view to_string(ScalarType);
std::int64_t bytes_per_voxel(ScalarType);
constexpr bool is_float(ScalarType type) { return type == ScalarType::float32 || type == ScalarType::float64; }
/// True for types that hold numbers which 32-bit floats cannot tell apart.
bool may_lose_digits(ScalarType);

}  // namespace quietvox::io
