// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/kind_beside.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "core/input_limits.hpp"
#include "io/files/byte_stream.hpp"
#include "io/image_type.hpp"
#include "io/output/provenance_json.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t most_bytes = 1 << 20;  // of a JSON file; dcm2niix writes some 10,000

/// An object, which is empty where the file is no such.
Json object_of(const fs::path& path) {
  if (!fs::is_regular_file(path)) return Json::object();
  std::string text;
  try {
    const RawReader file(path);
    if (file.size() > most_bytes) return Json::object();
    text.resize(file.size());
    text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
  } catch (const Error&) {  // it may not be read
    return Json::object();
  }
  const auto is_shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < most_nested; };
  Json json = Json::parse(text, is_shallow, false);
  return json.is_object() ? json : Json::object();
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// What the fields say that dcm2niix writes.
std::vector<KindSaid> said_by_fields(const Json& json, const std::string& file) {
  std::vector<KindSaid> said;
  const std::string modality = text_of(json, "Modality");
  if (const auto kind = kind_of_modality(modality)) said.push_back({*kind, file + " says Modality " + modality});
  const auto type = json.find("ImageType");
  if (!said.empty() || type == json.end() || !type->is_array()) return said;
  for (std::size_t i = 2; i < type->size(); ++i) {
    if (!(*type)[i].is_string()) continue;
    const auto value = (*type)[i].get<std::string>();
    if (const auto kind = kind_of_image_type(value)) said.push_back({*kind, file + " says ImageType " + value});
  }
  return said;
}

/// What the parts of a name say: entities `key-value` and a suffix, with `_` between them.
std::vector<KindSaid> said_by_name(const std::string& stem) {
  std::vector<KindSaid> said;
  for (std::size_t begin = 0; begin <= stem.size();) {
    const std::size_t end = std::min(stem.find('_', begin), stem.size());
    const std::string part = stem.substr(begin, end - begin);
    const bool is_suffix = end == stem.size() && begin > 0;
    const auto is_named = [&](auto... names) { return ((part == names) || ...); };
    const bool is_phase = part == "part-phase" || (is_suffix && is_named("phase", "phase1", "phase2", "phasediff"));
    if (is_phase) said.push_back({DataKind::phase, "its name says " + part});
    if (is_named("part-real", "part-imag")) said.push_back({DataKind::scalar, "its name says " + part});
    begin = end + 1;
  }
  return said;
}

}  // namespace

KindsBeside::KindsBeside(const fs::path& image) {
  const fs::path path = sidecar_of(image);
  const std::string file = path.filename().string();
  const Json json = object_of(path);
  std::vector<KindSaid> said = said_by_fields(json, file);
  std::ranges::move(said_by_name(path.stem().string()), std::back_inserter(said));
  usual_ = facts_of(said);
  const auto entries = json.find("volumes");
  if (!json.contains("quietvox") || entries == json.end() || !entries->is_array()) return;
  for (const Json& entry : *entries) {
    if (!entry.is_object()) continue;
    const std::string text = text_of(entry, "kind");
    const auto kind = FieldType<DataKind>::parse(text);
    const auto first = entry.find("first"), last = entry.find("last");
    if (!kind || first == entry.end() || last == entry.end()) continue;
    if (!first->is_number_unsigned() || !last->is_number_unsigned()) continue;
    volumes_.push_back({*first, *last, {.kind = kind, .kind_source = file + " says " + text}});
  }
}

HeaderFacts KindsBeside::of_volume(std::size_t volume) const {
  const auto holds = [&](const Volumes& some) { return some.first <= volume && volume <= some.last; };
  const auto found = std::ranges::find_if(volumes_, holds);
  return found == volumes_.end() ? usual_ : found->facts;
}

}  // namespace quietvox::io
