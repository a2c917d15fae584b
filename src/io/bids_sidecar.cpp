// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/bids_sidecar.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/input_limits.hpp"
#include "io/files/paths.hpp"
#include "io/files/posix_file.hpp"
#include "io/image_type.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t most_bytes = 1 << 24;  // of a JSON file; dcm2niix writes some 10,000, quietvox 1,000 a volume

/// The text of a file, empty where there is none; nothing where it is too large or may not be read.
std::optional<std::string> text_of_file(const fs::path& path) {
  if (std::error_code error; !fs::is_regular_file(path, error)) return "";
  try {
    const RawReader file(path);
    if (file.size() > most_bytes) return std::nullopt;
    std::string text(file.size(), '\0');
    text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
    return text;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// JSON of what is nearly JSON: names in character sets of old, and NaN and Infinity, which Python writes.
std::string repaired(std::string text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";  // before UTF-8
  if (text.starts_with(mark)) text.erase(0, mark.size());
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = is_quoted && text[i] == '\\';
    if (text[i] == '"') is_quoted = !is_quoted;
    if (static_cast<unsigned char>(text[i]) >= 0x80) text[i] = '?';
    if (is_escape) ++i;
    for (const std::string_view number : {"NaN", "-Infinity", "Infinity"}) {
      if (is_quoted || std::string_view(text).substr(i, number.size()) != number) continue;
      text.replace(i, number.size(), std::string(number.size() - 1, ' ') + '0');
    }
  }
  return text;
}

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

/// What the fields say that dcm2niix writes. It cuts the values of the image type at each `_`.
HeaderFacts facts_of_fields(const Json& json, const std::string& file) {
  const std::string modality = text_of(json, "Modality");
  if (const auto kind = kind_of_modality(modality)) {
    return {.kind = kind, .kind_source = file + " says Modality " + modality, .are_ct_numbers = modality == "CT"};
  }
  const auto type = json.find("ImageType");
  if (type == json.end() || !type->is_array()) return {};
  std::string all, one;
  std::vector<KindSaid> said;
  for (std::size_t i = 2; i < type->size(); ++i) {
    if (!(*type)[i].is_string()) continue;
    const auto value = (*type)[i].get<std::string>();
    all += (all.empty() ? "" : "_") + value;
    const auto kind = kind_of_image_type(value);
    if (kind == DataKind::phase) one = value;
    if (kind && kind != DataKind::phase) said.push_back({*kind, file + " says ImageType " + value});
  }
  if (kind_of_image_type(all) == DataKind::phase) {
    said.push_back({DataKind::phase, file + " says ImageType " + (one.empty() ? all : one)});
  }
  return facts_of(said);
}

/// What the parts of a name say: entities `key-value` and a suffix, with `_` between them. Names of BIDS begin with the
/// subject; dcm2niix ends those of phases with `_ph`.
HeaderFacts facts_of_name(const std::string& stem) {
  std::vector<KindSaid> said;
  if (stem.ends_with("_ph"))
    return {.kind = DataKind::phase, .kind_source = "its name ends in _ph, as dcm2niix names phases"};
  if (!stem.starts_with("sub-")) return {};
  for (std::size_t begin = 0; begin <= stem.size();) {
    const std::size_t end = std::min(stem.find('_', begin), stem.size());
    const std::string part = stem.substr(begin, end - begin);
    const auto is_named = [&](auto... names) { return ((part == names) || ...); };
    const bool is_suffix = end == stem.size();
    if (is_named("part-phase") || (is_suffix && is_named("phase", "phase1", "phase2", "phasediff"))) {
      said.push_back({DataKind::phase, "its name says " + part});
    }
    if (is_suffix && is_named("dseg", "mask")) said.push_back({DataKind::labels, "its name says " + part});
    if (is_named("part-real", "part-imag")) said.push_back({DataKind::scalar, "its name says " + part});
    begin = end + 1;
  }
  return facts_of(said);
}

/// Whether the last part of a name of BIDS is a contrast of MR.
bool is_named_mr(const std::string& stem) {
  static constexpr auto contrasts = std::to_array<std::string_view>(
      {"T1w",   "T2w",     "T2starw", "PDw",    "PDT2", "FLAIR",     "inplaneT1",  "inplaneT2",
       "angio", "MP2RAGE", "MESE",    "MEGRE",  "VFA",  "IRT1",      "bold",       "cbv",
       "sbref", "dwi",     "asl",     "m0scan", "epi",  "magnitude", "magnitude1", "magnitude2"});
  return stem.starts_with("sub-") && std::ranges::find(contrasts, stem.substr(stem.rfind('_') + 1)) != contrasts.end();
}

}  // namespace

BidsSidecar::BidsSidecar(const fs::path& image, std::size_t volumes) {
  const fs::path path = sidecar_of(image);
  const std::string file = path.filename().string();
  const auto is_shallow = [](int depth, Json::parse_event_t, const Json&) { return depth < most_nested; };
  const std::optional<std::string> text = text_of_file(path);
  Json json = Json::parse(text.value_or(""), is_shallow, false);
  if (json.is_discarded()) json = Json::parse(repaired(text.value_or("")), is_shallow, false);
  if (!text || (!text->empty() && json.is_discarded())) {
    warning_ = path.string() + ": cannot be read as JSON; what it says of the voxels is not used";
  }
  if (json.is_object()) usual_ = facts_of_fields(json, file);
  if (usual_.kind.value_or(DataKind::magnitude) == DataKind::magnitude) {
    if (HeaderFacts by_name = facts_of_name(path.stem().string()); by_name.kind) usual_ = std::move(by_name);
  }
  usual_.are_of_mr = is_named_mr(path.stem().string()) || is_file(beside(image, ".bval")) ||
                     (json.is_object() && text_of(json, "Modality") == "MR");
  if (!json.is_object() || !json.contains("quietvox")) return;
  const auto entries = json.find("volumes");
  if (entries == json.end() || !entries->is_array()) return;
  std::uint64_t count = 0;
  for (const Json& entry : *entries) {
    if (!entry.is_object()) continue;
    const auto first = entry.find("first"), last = entry.find("last");
    if (first == entry.end() || last == entry.end()) continue;
    if (!first->is_number_unsigned() || !last->is_number_unsigned()) continue;
    count = std::max<std::uint64_t>(count, last->get<std::uint64_t>() + 1);
    const std::string kind = text_of(entry, "kind");
    if (const auto known = FieldType<DataKind>::parse(kind)) {
      HeaderFacts facts = usual_;
      facts.kind = known;
      facts.kind_source = file + " says " + kind;
      volumes_.push_back({*first, *last, std::move(facts)});
    }
  }
  // Then it is of another image. The name in it does not tell: users rename both files.
  if (count != volumes) volumes_.clear();
}

HeaderFacts BidsSidecar::of_volume(std::size_t volume) const {
  const auto holds = [&](const Volumes& some) { return some.first <= volume && volume <= some.last; };
  const auto found = std::ranges::find_if(volumes_, holds);
  return found == volumes_.end() ? usual_ : found->facts;
}

}  // namespace quietvox::io
