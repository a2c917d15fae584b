// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/scalar_type.hpp"

#include <array>
#include <cstddef>

namespace quietvox::io {
namespace {

struct Row {
  std::string_view name;
  std::int64_t bytes;
};
// In the order of the enumeration.
constexpr std::array<Row, 10> rows{{{"uint8", 1},
                                    {"int8", 1},
                                    {"uint16", 2},
                                    {"int16", 2},
                                    {"uint32", 4},
                                    {"int32", 4},
                                    {"uint64", 8},
                                    {"int64", 8},
                                    {"float32", 4},
                                    {"float64", 8}}};

const Row& row_of(ScalarType type) { return rows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view to_string(ScalarType type) { return row_of(type).name; }

std::int64_t bytes_per_voxel(ScalarType type) { return row_of(type).bytes; }

bool may_lose_digits(ScalarType type) { return bytes_per_voxel(type) >= 4 && type != ScalarType::float32; }

}  // namespace quietvox::io
