// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "cli/command.hpp"
#include "cli/json.hpp"
#include "filters/registry.hpp"
#include "itk_adapters/filters/setter_names.hpp"

namespace quietvox::cli {
namespace {

struct ListOptions {
  bool markdown = false;

  static constexpr std::string_view name = "filters", title = "List";
  static consteval auto fields() {
    return std::tuple{field("markdown", &ListOptions::markdown, "Print the reference page docs/filters.md.")};
  }
};

const char* kind_name(FieldKind kind) {
  switch (kind) {
    case FieldKind::integer: return "integer";
    case FieldKind::real: return "number";
    case FieldKind::integer_triple: return "integer per axis";
    case FieldKind::real_triple: return "number per axis";
    case FieldKind::choice: return "choice";
    case FieldKind::flag: return "flag";
    case FieldKind::text: return "text";
  }
  return "";
}

Json to_json(const Filter& filter) {
  Json parameters = Json::array();
  for (const FieldInfo& field : filter.fields) {
    Json parameter{{"name", field.name},        {"kind", kind_name(field.kind)}, {"default", field.default_text},
                   {"auto", field.may_be_auto}, {"all", field.may_be_all},       {"unit", field.unit},
                   {"help", field.help}};
    if (!field.min.empty()) {
      parameter["min"] = FieldType<double>::parse(field.min).value();
      parameter["max"] = FieldType<double>::parse(field.max).value();
    }
    if (!field.choices.empty()) parameter["choices"] = field.choices;
    parameters.push_back(std::move(parameter));
  }
  return {{"name", filter.name}, {"summary", filter.summary}, {"parameter_list", parameters}};
}

void print_text(const Filter& filter) {
  std::cout << filter.name << "\n  " << filter.summary << "\n";
  for (const FieldInfo& field : filter.fields) {
    std::cout << "  --" << field.name << "  (" << kind_name(field.kind) << (field.unit.empty() ? "" : ", " + field.unit)
              << ")\n      " << field.help << "\n      allowed: " << field.allowed()
              << "; default: " << field.default_text << "\n";
  }
}

/// Escapes '|', which would end a cell of a Markdown table.
std::string in_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

void print_markdown(const std::vector<const Filter*>& list) {
  std::cout
      << "# Filters\n\nMade by `quietvox filters --markdown`; a test compares the two.\n\n"
         "What a filter computes, as a formula with its source, and how exactly, is stated in its header.\n"
         "A window given in voxels must fit into the volume (the searches of bm4d and prinlm may reach beyond it);\n"
         "along an axis of one voxel windows are flat.\n"
         "By default (`auto`) a window is about as long in mm along each axis. Its length is set in in-plane voxels,\n"
         "becomes voxels along each axis by the spacing, and shrinks to what fits. An axis whose voxels lie more than\n"
         "twice as far apart as those in plane takes no part unless asked for, nor do unevenly spaced slices. bm4d\n"
         "alone searches thick slices too, since it averages only blocks that look alike. `quietvox info` shows the\n"
         "windows that result for a scan.\n"
         "Beyond the edge, windows see the nearest voxel (border `replicate`) or the volume mirrored at its\n"
         "outermost voxels (`reflect`); `copy` keeps voxels near the edge as they are.\n";
  for (const Filter* filter : list) {
    std::cout << "\n## " << filter->name << "\n\n"
              << filter->summary << " [Definition](../src/filters/" << snake_case(filter->name) << ".hpp).\n\n"
              << "| parameter | type | unit | default | allowed | |\n|---|---|---|---|---|---|\n";
    for (const FieldInfo& field : filter->fields) {
      std::cout << "| `--" << field.name << "` | " << kind_name(field.kind) << " | " << in_cell(field.unit) << " | `"
                << field.default_text << "` | " << in_cell(field.allowed()) << " | " << in_cell(field.help) << " |\n";
    }
  }
}

void list_filters(const Arguments& arguments, Context& context) {
  std::vector<const Filter*> list;
  const std::string& name = arguments.operand(0);
  for (const Filter& filter : filters()) {
    if (name.empty()) list.push_back(&filter);
  }
  if (!name.empty()) list.push_back(&find_filter(name));

  const bool markdown = arguments.params<ListOptions>().markdown;
  if (markdown && context.json)
    throw Error(Errc::invalid_argument, "filters: give either " + Parameter{"json"} + " or " + Parameter{"markdown"});
  if (markdown) {
    print_markdown(list);
  } else if (context.json) {
    Json all = Json::array();
    for (const Filter* filter : list) all.push_back(to_json(*filter));
    print_json({{"filters", all}});
  } else {
    for (const Filter* filter : list) print_text(*filter);
  }
}

}  // namespace

Command filters_command() {
  return {"filters",
          "The filters and their parameters: type, unit, default, range.",
          {{"NAME", "One filter only.", false}},
          {option_group<ListOptions>()},
          list_filters};
}

}  // namespace quietvox::cli
