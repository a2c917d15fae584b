// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/derive.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <set>

#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dcwcache.h>

#include "core/sha256.hpp"
#include "io/dicom/uid.hpp"

namespace quietvox::io::dicom {
namespace {

constexpr std::size_t most_description_characters = 64;

void check(const OFCondition& status, const DcmTagKey& key) {
  if (status.bad()) throw Error(Errc::internal, tag_name(key) + " cannot be set: " + status.text());
}

void put(DcmItem& item, const DcmTagKey& key, const std::string& value) {
  check(item.putAndInsertString(key, value.c_str()), key);
}

/// A new last item of a sequence, which is made where it is absent.
DcmItem& append_item(DcmItem& parent, const DcmTagKey& key) {
  DcmItem* item = nullptr;
  check(parent.findOrCreateSequenceItem(key, item, -2), key);
  return *item;
}

void append_code(DcmItem& parent, const DcmTagKey& key, const char* value, const char* meaning) {
  DcmItem& code = append_item(parent, key);
  put(code, DCM_CodeValue, value);
  put(code, DCM_CodingSchemeDesignator, "DCM");
  put(code, DCM_CodeMeaning, meaning);
}

/// Minutes east of UTC of the times in the object: as it says itself, else this machine's zone.
int zone_minutes(DcmDataset& data, std::time_t time) {
  const std::string zone = text_of(data, DCM_TimezoneOffsetFromUTC);
  int hhmm = 0;
  if (zone.size() == 5 && (zone[0] == '+' || zone[0] == '-') &&
      std::from_chars(zone.data() + 1, zone.data() + 5, hhmm).ptr == zone.data() + 5) {
    const int minutes = hhmm / 100 * 60 + hhmm % 100;
    return zone[0] == '-' ? -minutes : minutes;
  }
  std::tm local{};
  localtime_r(&time, &local);
  return static_cast<int>(local.tm_gmtoff / 60);
}

std::string formatted(std::time_t time, const char* format) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

void set_type(DcmItem& item, const DcmTagKey& key) {
  const std::string type = text_of(item, key);
  const std::size_t rest = type.find('\\');
  put(item, key, "DERIVED" + (rest == std::string::npos ? "\\PRIMARY" : type.substr(rest)));
}

/// How many bytes the first `count` characters of a text take, at most all of them; none where its character set does
/// not tell without decoding: escape sequences, pairs whose second byte may be ASCII, bytes of no declared meaning.
std::optional<std::size_t> bytes_of(const std::string& text, std::size_t count, const std::string& character_set) {
  const bool is_utf8 = character_set == "ISO_IR 192";
  const bool is_single_byte = character_set.starts_with("ISO_IR ") && character_set.find('\\') == std::string::npos;
  const auto is_ascii = [](unsigned char c) { return c < 0x80 && c != 0x1b; };
  if (!is_utf8 && !is_single_byte && !std::all_of(text.begin(), text.end(), is_ascii)) return std::nullopt;
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool goes_on = is_utf8 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
    if (!goes_on && count-- == 0) break;
  }
  return at;
}

/// A series without description starts from the name of its protocol. Where the suffix would not fit behind the
/// description, the end of that becomes `...`. False where it cannot be cut safely and stays as it is.
bool extend_series_description(DcmDataset& data, const std::string& suffix) {
  std::string text = text_of(data, DCM_SeriesDescription);
  if (text.empty()) text = text_of(data, DCM_ProtocolName);
  if (suffix.empty()) return true;
  const std::string addition = (text.empty() ? "" : " ") + suffix;
  if (text.size() + addition.size() > most_description_characters) {
    const std::size_t room = most_description_characters - std::min(most_description_characters, addition.size());
    constexpr std::string_view cut = "...";
    const std::string character_set = text_of(data, DCM_SpecificCharacterSet);
    const auto bytes = bytes_of(text, room, character_set);
    if (!bytes) return false;
    if (*bytes < text.size()) {
      const bool is_marked = room > cut.size();
      text.resize(is_marked ? *bytes_of(text, room - cut.size(), character_set) : *bytes);
      while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
      if (is_marked) text += cut;
    }
  }
  put(data, DCM_SeriesDescription, text.empty() ? suffix : text + addition);
  return true;
}

void raise_series_number(DcmDataset& data, int offset) {
  const std::string text = text_of(data, DCM_SeriesNumber);
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return;
  number += offset;
  if (number > std::numeric_limits<std::int32_t>::max() || number < std::numeric_limits<std::int32_t>::min()) return;
  put(data, DCM_SeriesNumber, std::to_string(number));
}

/// Where both texts do not fit, each has at least half of the element. The older one, which the source still holds,
/// ends with `...`, or is no more than that where it cannot be cut safely; ours is cut at a space, before its notice.
void extend_derivation_description(DcmItem& data, std::string addition) {
  constexpr std::string_view between = "; ", more = "...";
  constexpr std::size_t most = 1024 - between.size(), half = most / 2;
  std::string before = text_of(data, DCM_DerivationDescription);
  if (const std::size_t room = most - std::min(half, addition.size()); before.size() > room) {
    const std::string character_set = text_of(*data.getRootItem(), DCM_SpecificCharacterSet);
    if (bytes_of(before, room, character_set) != before.size()) {
      before.replace(bytes_of(before, room - more.size(), character_set).value_or(0), std::string::npos, more);
    }
  }
  if (const std::size_t room = most - std::min(half, before.size()); addition.size() > room) {
    const std::string end = " ..." + addition.substr(addition.rfind(';'));
    addition.replace(addition.rfind(' ', room - end.size()), std::string::npos, end);
  }
  put(data, DCM_DerivationDescription, before.empty() ? addition : before.append(between).append(addition));
}

void add_reference(DcmItem& item, const SliceHeader& source) {
  put(item, DCM_ReferencedSOPClassUID, source.sop_class);
  put(item, DCM_ReferencedSOPInstanceUID, source.sop_instance);
}

/// What was done to frames: the different texts, one after another.
std::string together(std::span<const FrameDerivation> frames) {
  const bool is_changed = std::ranges::any_of(frames, &FrameDerivation::is_changed);
  std::string all;
  std::set<std::string> known;
  for (const FrameDerivation& frame : frames) {
    const std::string& text = is_changed ? frame.volume->text : frame.volume->text_if_unchanged;
    if (known.insert(text).second) all += (all.empty() ? "" : "; ") + text;
  }
  return all;
}

/// Records how an image was derived, and from what: from a frame of the source, counted from 1, or 0: from all of it.
void add_derivation(DcmItem& parent, const SliceHeader& source, std::span<const FrameDerivation> frames,
                    std::size_t frame) {
  extend_derivation_description(parent, together(frames));
  // Functional groups must hold a code (PS3.3 C.7.6.16.2.6): there, only the text says that no voxel changed.
  const auto any = [&](bool VolumeDerivation::*does) {
    return std::ranges::any_of(frames, [&](const FrameDerivation& each) {
      return (each.is_changed || source.is_enhanced) && each.volume->*does;
    });
  };
  if (any(&VolumeDerivation::smooths)) append_code(parent, DCM_DerivationCodeSequence, "113087", "Smoothing");
  if (any(&VolumeDerivation::enhances)) append_code(parent, DCM_DerivationCodeSequence, "113086", "Edge enhancement");
  DcmItem& item = append_item(parent, DCM_SourceImageSequence);
  add_reference(item, source);
  if (frame > 0) put(item, DCM_ReferencedFrameNumber, std::to_string(frame));
  put(item, DCM_SpatialLocationsPreserved, "YES");
  append_code(item, DCM_PurposeOfReferenceCodeSequence, "121322", "Source image for image processing operation");
}

/// The UID of an object derived from a source. Always the same for the same arguments and version of quietvox;
/// different if anything in the result differs, its header included. `role` tells series from instances.
std::string derived_uid(const std::string& role, const SliceHeader& source, const std::string& source_uid,
                        const Derivation& derivation) {
  return uid_from(role + "\n" + source_uid + "\n" + source.series + "\n" + derivation.inputs + "\n" + derivation.chain +
                  "\n" + derivation.series_suffix + "\n" + std::to_string(derivation.series_offset) +
                  (derivation.moves_overlays ? "\noverlays" : "") + "\n" + version());
}

/// The sequences that grow, where some program did not know them and kept their bytes without a type (UN): items in
/// implicit little endian, whatever the transfer syntax (PS3.5 6.2.2). They are not parsed; new items come behind.
class UntypedSequences {
 public:
  /// Takes them out of the data set.
  explicit UntypedSequences(DcmDataset& data) : data_(data) {
    for (const DcmTagKey& key : {DCM_SourceImageSequence, DCM_DerivationCodeSequence, DCM_ContributingEquipmentSequence,
                                 DCM_SourceImageEvidenceSequence}) {
      DcmElement* element = nullptr;
      if (data.findAndGetElement(key, element).bad() || element->getVR() != EVR_UN) continue;
      const auto bytes = raw_bytes_of(data, key);
      before_.emplace_back(key, std::vector<Uint8>(bytes.begin(), bytes.end()));
      delete data.remove(element);
    }
  }

  /// Puts them back, with what stands there by now behind them.
  void put_back() {
    for (auto& [key, bytes] : before_) {
      DcmSequenceOfItems* added = nullptr;
      if (data_.findAndGetSequence(key, added).good()) append(*added, bytes);
      auto grown = std::make_unique<DcmOtherByteOtherWord>(DcmTag(key, EVR_UN));
      check(grown->putUint8Array(bytes.data(), bytes.size()), key);
      check(data_.insert(grown.get(), OFTrue), key);
      (void)grown.release();
    }
  }

 private:
  static void append(DcmSequenceOfItems& added, std::vector<Uint8>& bytes) {
    constexpr auto syntax = EXS_LittleEndianImplicit;
    constexpr std::size_t tag_and_length = 8;
    std::vector<Uint8> written(added.calcElementLength(syntax, EET_ExplicitLength));
    DcmOutputBufferStream stream(written.data(), static_cast<offile_off_t>(written.size()));
    DcmWriteCache cache;
    added.transferInit();
    check(added.write(stream, syntax, EET_ExplicitLength, &cache), added.getTag());
    added.transferEnd();
    bytes.insert(bytes.end(), written.begin() + tag_and_length, written.end());
  }

  DcmDataset& data_;
  std::vector<std::pair<DcmTagKey, std::vector<Uint8>>> before_;
};

/// Calls `body(item)` for the items of a sequence, if it is there.
template <class Body>
void for_each_item(DcmItem& parent, const DcmTagKey& key, const Body& body) {
  DcmSequenceOfItems* sequence = nullptr;
  if (parent.findAndGetSequence(key, sequence).bad()) return;
  for (Parts items(*sequence); DcmObject* const item = items.next();) body(static_cast<DcmItem&>(*item));
}

/// Marks the type of frames in functional groups.
void set_frame_types(DcmItem& groups) {
  for (Parts elements(groups); DcmObject* const element = elements.next();) {
    if (element->ident() != EVR_SQ) continue;
    for (Parts items(*element); DcmObject* const part = items.next();) {
      auto& item = static_cast<DcmItem&>(*part);
      if (item.tagExists(DCM_FrameType)) set_type(item, DCM_FrameType);
    }
  }
}

/// Enhanced objects tell of their derivation frame by frame, in functional groups (PS3.3 C.7.6.16.2.6), and list all
/// their sources once, at the top level. Where all frames share a history, it stays shared.
void derive_frames(DcmDataset& data, const SliceHeader& source, std::span<const FrameDerivation> frames) {
  bool is_shared = false;
  for_each_item(data, DCM_SharedFunctionalGroupsSequence, [&](DcmItem& groups) {
    set_frame_types(groups);
    is_shared = groups.tagExists(DCM_DerivationImageSequence);
    if (is_shared) add_derivation(append_item(groups, DCM_DerivationImageSequence), source, frames, 0);
  });
  std::size_t frame = 0;
  for_each_item(data, DCM_PerFrameFunctionalGroupsSequence, [&](DcmItem& groups) {
    set_frame_types(groups);
    ++frame;
    if (is_shared) return;
    add_derivation(append_item(groups, DCM_DerivationImageSequence), source, frames.subspan(frame - 1, 1), frame);
  });
  DcmItem& study = append_item(data, DCM_SourceImageEvidenceSequence);
  put(study, DCM_StudyInstanceUID, text_of(data, DCM_StudyInstanceUID));
  DcmItem& series = append_item(study, DCM_ReferencedSeriesSequence);
  put(series, DCM_SeriesInstanceUID, source.series);
  add_reference(append_item(series, DCM_ReferencedSOPSequence), source);
}

void add_equipment(DcmDataset& data, std::time_t time) {
  DcmItem& item = append_item(data, DCM_ContributingEquipmentSequence);
  append_code(item, DCM_PurposeOfReferenceCodeSequence, "109102", "Processing Equipment");
  put(item, DCM_Manufacturer, "quietvox");
  // No model name and no software versions: readers that look for elements at any depth, as dcm2niix does, would take
  // them for those of the scanner.
  put(item, DCM_ContributionDescription, "quietvox " + version());
  put(item, DCM_ContributionDateTime, formatted(time, "%Y%m%d%H%M%S+0000"));
}

bool no_longer_holds(const DcmTagKey& key) {
  static const std::set<DcmTagKey> keys{DCM_SmallestImagePixelValue,
                                        DCM_LargestImagePixelValue,
                                        DCM_SmallestPixelValueInSeries,
                                        DCM_LargestPixelValueInSeries,
                                        DCM_RETIRED_SmallestImagePixelValueInPlane,
                                        DCM_RETIRED_LargestImagePixelValueInPlane,
                                        DCM_HistogramSequence,
                                        DCM_IconImageSequence,
                                        DCM_MACParametersSequence,
                                        DCM_DigitalSignaturesSequence,
                                        DCM_InstanceCreatorUID,
                                        DCM_SOPInstanceStatus,
                                        DCM_SOPAuthorizationDateTime,
                                        DCM_SOPAuthorizationComment,
                                        DCM_AuthorizationEquipmentCertificationNumber,
                                        // Where the source's compressed frames begin, and their length.
                                        {0x7fe0, 0x0001},
                                        {0x7fe0, 0x0002},
                                        {0x7fe0, 0x0003}};
  const bool is_overlay = key.getGroup() >= 0x6000 && key.getGroup() <= 0x60fe && key.getGroup() % 2 == 0;
  // Mean and standard deviation of the pixels below overlays.
  const bool tells_of_pixels = key.getElement() == 0x1302 || key.getElement() == 0x1303;
  return keys.contains(key) || (is_overlay && tells_of_pixels);
}

/// Where there are millions of elements, a search for each of these would take longer than all else.
void remove_what_no_longer_holds(DcmDataset& data) {
  std::vector<DcmObject*> removed;
  for (Parts elements(data); DcmObject* const element = elements.next();) {
    if (no_longer_holds(element->getTag())) removed.push_back(element);
  }
  for (DcmObject* const element : removed) delete data.remove(element);
}

}  // namespace

bool is_derived(DcmDataset& data) {
  DcmItem* last = nullptr;
  if (data.findAndGetSequenceItem(DCM_ContributingEquipmentSequence, last, -1).good() && last)
    return text_of(*last, DCM_Manufacturer) == "quietvox";
  // Where the sequence has lost its type (see UntypedSequences), the last manufacturer in its bytes counts.
  using namespace std::string_view_literals;
  constexpr auto manufacturer = "\x08\0\x70\0"sv, of_ours = "\x08\0\x70\0\x08\0\0\0quietvox"sv;
  const auto bytes = raw_bytes_of(data, DCM_ContributingEquipmentSequence);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t at = text.rfind(manufacturer);
  return at != std::string_view::npos && text.substr(at).starts_with(of_ours);
}

int series_offset_of(const std::string& chain) {
  const auto digest = sha256(chain);
  return 1000 * (1 + (digest[0] << 16 | digest[1] << 8 | digest[2]) % 9999);
}

void check_series_suffix(const std::string& suffix) {
  const bool is_plain =
      std::all_of(suffix.begin(), suffix.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f && c != '\\'; });
  if (is_plain && suffix.size() <= most_description_characters) return;
  throw Error(
      Errc::invalid_argument,
      Parameter{"series-description-suffix"} + (is_plain
                                                    ? " has " + std::to_string(suffix.size()) + " characters"
                                                    : " holds a backslash, or what is no printable ASCII character"),
      "give at most " + std::to_string(most_description_characters) + " printable ASCII characters without backslash");
}

std::string identity_of(std::span<const Volume> volumes) {
  std::set<std::string> instances;
  for (const Volume& volume : volumes) {
    for (const SliceHeader& slice : volume.slices) instances.insert(slice.sop_instance + "\n");
    // A kind that was given decides what is filtered.
    const auto kind = volume.slices.front().kind;
    if (kind) instances.insert(FieldType<DataKind>::format(*kind) + " " + volume.slices.front().sop_instance + "\n");
  }
  // Windows reach across gaps where they are allowed to.
  if (std::ranges::any_of(volumes,
                          [](const Volume& volume) { return volume.is_irregular && volume.why_2d_only.empty(); })) {
    instances.insert("gaps\n");
  }
  Sha256 hash;
  for (const std::string& instance : instances) hash.update(std::as_bytes(std::span(instance)));
  return to_hex(hash.digest());
}

bool derive(DcmDataset& data, const SliceHeader& source, std::span<const FrameDerivation> frames,
            const Derivation& derivation) {
  put(data, DCM_SOPClassUID, source.sop_class);  // the same; where it has lost its type, DCMTK's meta group needs it
  put(data, DCM_SOPInstanceUID, derived_uid("instance", source, source.sop_instance, derivation));
  // Images for processing and for presentation must not meet in one series.
  put(data, DCM_SeriesInstanceUID, derived_uid("series " + source.intent, source, source.series, derivation));
  if (const std::string whole = text_of(data, DCM_ConcatenationUID); !whole.empty()) {
    put(data, DCM_ConcatenationUID, derived_uid("concatenation", source, whole, derivation));
  }
  if (const std::string whole = text_of(data, DCM_SOPInstanceUIDOfConcatenationSource); !whole.empty()) {
    put(data, DCM_SOPInstanceUIDOfConcatenationSource, derived_uid("concatenation source", source, whole, derivation));
  }
  set_type(data, DCM_ImageType);
  const std::time_t local = derivation.time + 60 * zone_minutes(data, derivation.time);
  put(data, DCM_InstanceCreationDate, formatted(local, "%Y%m%d"));
  put(data, DCM_InstanceCreationTime, formatted(local, "%H%M%S"));
  const bool has_suffix = extend_series_description(data, derivation.series_suffix);
  raise_series_number(data, derivation.series_offset);
  UntypedSequences untyped(data);
  if (source.is_enhanced) {
    derive_frames(data, source, frames);
  } else {
    add_derivation(data, source, frames, 0);
  }
  add_equipment(data, derivation.time);
  untyped.put_back();
  if (source.is_lossy) put(data, DCM_LossyImageCompression, "01");
  remove_what_no_longer_holds(data);
  return has_suffix;
}

}  // namespace quietvox::io::dicom
