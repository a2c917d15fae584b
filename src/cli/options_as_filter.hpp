// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/filter.hpp"

namespace quietvox::cli {

/// Makes parameters that belong to no filter look like a filter's, for provenance: their name, their table, their
/// values. Such settings can be read and recorded, not run.
template <class P>
Filter options_as_filter(const std::string& summary) {
  return {.name = std::string(P::name),
          .summary = summary,
          .fields = describe_fields<P>(),
          .defaults = P{},
          .set = [](std::any& params, std::string_view field,
                    std::string_view text) { set_field(std::any_cast<P&>(params), field, text); },
          .get = [](const std::any& params,
                    std::string_view field) { return get_field(std::any_cast<const P&>(params), field); }};
}

/// The provenance of voxels made by `params`.
template <class P>
std::vector<FilterConfig> recorded(const Filter& filter, const P& params) {
  FilterConfig settings(filter);
  for (const FieldInfo& field : filter.fields) settings.set(field.name, get_field(params, field.name));
  return {settings};
}

}  // namespace quietvox::cli
