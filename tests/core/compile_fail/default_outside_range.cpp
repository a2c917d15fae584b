// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled twice by the tests: with DEFAULT=3, which must do, and with DEFAULT=16, which must not.
#include "core/fields.hpp"

struct Params {
  int count = DEFAULT;
  static constexpr std::string_view name = "params";
  static consteval auto fields() {
    return std::tuple{quietvox::field("count", &Params::count, {0, 15}, "voxel", "A whole number.")};
  }
};

int main() { return static_cast<int>(quietvox::describe_fields<Params>().size()); }
