// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled twice by the tests: with HOOK=working_bytes, which must do, and with a name that is no hook, which must not.
#include "core/filter.hpp"

struct Params {
  int count = 3;
  static constexpr std::string_view name = "params";
  static constexpr std::string_view summary = "";
  static constexpr bool commutes_with_rescale = false;
  static consteval auto fields() {
    return std::tuple{quietvox::field("count", &Params::count, {0, 15}, "voxel", "A whole number.")};
  }
  Params resolved(const quietvox::VolumeFacts&) const { return *this; }
  quietvox::Radius3 halo() const { return {}; }
  std::string_view window_field() const { return {}; }
  std::size_t working_bytes(const quietvox::Extent&, int threads) const { return static_cast<std::size_t>(threads); }
  static quietvox::FilterHooks<Params> hooks() { return {.HOOK = &Params::working_bytes}; }
};

int main() { return static_cast<int>(quietvox::describe_filter<Params>().fields.size()); }
