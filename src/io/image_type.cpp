// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image_type.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

namespace quietvox::io {
namespace {

template <std::size_t count>
bool is_among(std::string_view word, const std::array<std::string_view, count>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// In capitals, cut at `_` and spaces.
std::vector<std::string> words_of(std::string_view value) {
  std::vector<std::string> words(1);
  for (const char letter : value) {
    if (letter == '_' || letter == ' ') {
      words.emplace_back();
    } else {
      words.back() += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
  }
  return words;
}

/// True where words name the phase of the signal, as in PHASE_MAP or SW_P_FFE. What is in phase or out of it, such as
/// water and fat, is none, and no more is an image that phases made, or one of a bolus, a heart or a breath on its way;
/// nor what dcm2niix then puts at the end, PHASE once more.
bool name_phase(const std::vector<std::string>& words) {
  static constexpr auto before = std::to_array<std::string_view>(
      {"IN",       "OUT",       "OF",          "OP",        "OPP",   "OPPOSED", "NO",
       "ARTERIAL", "VENOUS",    "PORTAL",      "DELAYED",   "EARLY", "LATE",    "CARDIAC",
       "SYSTOLIC", "DIASTOLIC", "RESPIRATORY", "BREATHING", "MULTI", "MAG",     "MAGNITUDE"});
  static constexpr auto after = std::to_array<std::string_view>({"CONTRAST", "ENCODED", "ENCODING", "SENSITIVE"});
  bool is_other = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_last = i + 1 == words.size();
    if (words[i] == "P" || words[i] == "PHASEMAP" || words[i] == "PHASEDIFF") return true;
    if (words[i] != "PHASE") continue;
    if ((i > 0 && is_among(words[i - 1], before)) || (!is_last && is_among(words[i + 1], after))) {
      is_other = true;
    } else if (!(is_last && is_other)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<DataKind> kind_of_modality(std::string_view modality) {
  static constexpr auto scalars = std::to_array<std::string_view>({"CT", "PT", "NM", "US"});
  if (modality == "SEG") return DataKind::labels;
  return is_among(modality, scalars) || is_radiograph(modality) ? std::optional(DataKind::scalar) : std::nullopt;
}

bool is_radiograph(std::string_view modality) {
  static constexpr auto radiographs = std::to_array<std::string_view>({"CR", "DX", "MG", "XA", "RF", "RG", "IO", "PX"});
  return is_among(modality, radiographs);
}

std::optional<DataKind> kind_of_image_type(std::string_view value) {
  static constexpr auto magnitudes = std::to_array<std::string_view>({"M", "MAGNITUDE"});
  static constexpr auto scalars = std::to_array<std::string_view>(
      {"R", "REAL", "I", "IMAGINARY", "MAP", "ADC", "EADC", "FA", "RCBF", "RCBV", "CBF", "CBV", "MTT", "TTP"});
  const std::vector<std::string> words = words_of(value);
  if (name_phase(words)) return DataKind::phase;
  if (is_among(words.back(), magnitudes)) return DataKind::magnitude;  // Philips: SW_M
  return is_among(words.back(), scalars) ? std::optional(DataKind::scalar) : std::nullopt;
}

HeaderFacts facts_of(std::span<const KindSaid> said) {
  if (said.empty()) return {};
  auto chosen = std::ranges::find(said, DataKind::phase, &KindSaid::kind);
  if (chosen == said.end()) chosen = std::ranges::find(said, DataKind::scalar, &KindSaid::kind);
  if (chosen == said.end()) chosen = said.begin();
  return {.kind = chosen->kind, .kind_source = chosen->source};
}

std::string modality_of(const HeaderFacts& header) {
  return header.are_ct_numbers ? "CT" : header.are_of_mr ? "MR" : "";
}

}  // namespace quietvox::io
