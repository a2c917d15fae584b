// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/patient_match.hpp"

#include <dcmtk/dcmdata/dcspchrs.h>

#include <algorithm>
#include <functional>

namespace quietvox::io::dicom {
namespace {

/// A text in UTF-8; as it is where it is plain ASCII, or where its character set cannot be told.
std::string in_utf8(DcmDataset& data, std::string text, const std::string& delimiters) {
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text;
  DcmSpecificCharacterSet converter;
  OFString converted;
  const std::string from = text_of(data, DCM_SpecificCharacterSet);
  const bool is_converted =
      converter.selectCharacterSet(from.c_str()).good() &&
      converter.convertString(OFString(text.data(), text.size()), converted, delimiters.c_str()).good();
  return is_converted ? std::string(converted.data(), converted.size()) : text;
}

std::vector<std::string> parts_of(const std::string& text, char delimiter) {
  std::string list = text;
  std::replace(list.begin(), list.end(), delimiter, '\\');
  return components(list);
}

/// Texts one after another, without empty ones at the end.
std::string joined(std::vector<std::string> parts, char delimiter) {
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  std::string text;
  for (const std::string& part : parts) text += (&part == &parts.front() ? "" : std::string(1, delimiter)) + part;
  return text;
}

/// A name without case (of ASCII), padding and what says nothing (PS3.5, 6.2.1): `DOE^JANE^^^ ` is `Doe^Jane`.
std::string plain_name(const std::string& name) {
  auto groups = parts_of(name, '=');
  for (std::string& group : groups) group = joined(parts_of(group, '^'), '^');
  std::string plain = joined(std::move(groups), '=');
  for (char& c : plain) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return plain;
}

/// One of the ways in which a name is written, in letters, in ideograms, by sound; empty where it is not, or not with
/// or without escape sequences as wanted. What has them has stayed in its character set, and is compared with its like
/// alone.
std::string group_of_name(const SliceHeader& slice, std::size_t index, bool has_escapes) {
  const auto groups = parts_of(slice.patient_name, '=');
  if (index >= groups.size() || (groups[index].find('\x1b') != std::string::npos) != has_escapes) return "";
  return groups[index];
}

/// A date in digits alone, where it is a whole one: DICOM of old writes 1950.01.01. Others say nothing.
std::string plain_date(std::string date) {
  std::erase_if(date, [](char c) { return c == '.' || c == '-'; });
  const bool is_date = date.size() == 8 && date.find_first_not_of("0123456789") == std::string::npos;
  return is_date && date != "00000000" ? date : "";
}

/// F or M, in letters of any case and however long; others say nothing.
std::string plain_sex(const std::string& sex) {
  if (sex.starts_with('f') || sex.starts_with('F')) return "F";
  return sex.starts_with('m') || sex.starts_with('M') ? "M" : "";
}

}  // namespace

void read_patient(DcmDataset& data, SliceHeader& slice) {
  slice.patient_id = in_utf8(data, text_of(data, DCM_PatientID), "\\");
  slice.patient_name = plain_name(in_utf8(data, text_of(data, DCM_PatientName), "\\^="));
  slice.patient_birth_date = plain_date(text_of(data, DCM_PatientBirthDate));
  slice.patient_sex = plain_sex(text_of(data, DCM_PatientSex));
  slice.study = text_of(data, DCM_StudyInstanceUID);
  slice.frame_of_reference = text_of(data, DCM_FrameOfReferenceUID);
  slice.patient_position = text_of(data, DCM_PatientPosition);
}

std::optional<Error> mixed_patients_error(std::span<const SliceHeader> images) {
  using Said = std::function<std::string(const SliceHeader&)>;
  std::vector<std::pair<DcmTagKey, Said>> elements{{DCM_PatientID, &SliceHeader::patient_id},
                                                   {DCM_PatientBirthDate, &SliceHeader::patient_birth_date},
                                                   {DCM_PatientSex, &SliceHeader::patient_sex},
                                                   {DCM_StudyInstanceUID, &SliceHeader::study}};
  for (const std::size_t index : {0, 1, 2}) {
    for (const bool has_escapes : {false, true}) {
      elements.emplace_back(DCM_PatientName,
                            [=](const SliceHeader& slice) { return group_of_name(slice, index, has_escapes); });
    }
  }
  for (const auto& [key, said] : elements) {
    const SliceHeader* first = nullptr;
    std::string by_first;
    for (const SliceHeader& slice : images) {
      std::string text = said(slice);
      if (text.empty()) continue;
      if (!first) {
        first = &slice;
        by_first = std::move(text);
      } else if (text != by_first) {
        return Error(Errc::irregular,
                     first->name.string() + " and " + slice.name.string() + " have the same " +
                         tag_name(DCM_SeriesInstanceUID) + ", but by their " + tag_name(key) +
                         " they belong to different patients or studies",
                     "put what belongs together into folders of its own");
      }
    }
  }
  return std::nullopt;
}

}  // namespace quietvox::io::dicom
