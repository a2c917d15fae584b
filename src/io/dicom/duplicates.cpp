// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/duplicates.hpp"

#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dcwcache.h>

#include <algorithm>
#include <map>
#include <set>

#include "io/dicom/frame_decoder.hpp"
#include "io/dicom/pixels.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io::dicom {
namespace {

namespace fs = std::filesystem;

bool same_bytes(const SliceHeader& a, const SliceHeader& b) {
  constexpr std::size_t at_once = 1 << 20;
  const RawReader first(a.path), second(b.path);
  if (first.size() != second.size()) return false;
  std::vector<std::byte> bytes(at_once), others(at_once);
  for (std::uint64_t at = 0; at < first.size(); at += at_once) {
    const std::size_t count = first.read(at, bytes);
    if (second.read(at, others) != count || !std::equal(bytes.begin(), bytes.begin() + count, others.begin()))
      return false;
  }
  return true;
}

/// Removes the pixels, and what differs from one transfer syntax, or one writer, to the next: lengths of groups,
/// padding, what is said of a compression without loss, the icon. Other images nested in the header are decoded where
/// they can be.
void make_plain(DcmDataset& data) {
  for (const DcmTagKey& key : {DCM_DerivationDescription, DCM_DerivationCodeSequence, DCM_IconImageSequence,
                               DCM_PixelData, DCM_DataSetTrailingPadding}) {
    data.findAndDeleteElement(key);
  }
  static_cast<void>(data.chooseRepresentation(EXS_LittleEndianExplicit, nullptr));
  data.computeGroupLengthAndPadding(EGL_withoutGL, EPD_withoutPadding, EXS_LittleEndianImplicit, EET_ExplicitLength);
}

/// An element as implicit little endian holds it, which does not tell its type; none where a nested image cannot be
/// written so.
std::optional<std::string> plain_bytes(DcmElement& element) {
  std::string bytes(element.calcElementLength(EXS_LittleEndianImplicit, EET_ExplicitLength), '\0');
  DcmOutputBufferStream stream(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  DcmWriteCache cache;
  element.transferInit();
  const OFCondition status = element.write(stream, EXS_LittleEndianImplicit, EET_ExplicitLength, &cache);
  element.transferEnd();
  return status.good() ? std::optional(std::move(bytes)) : std::nullopt;
}

/// The elements in which two data sets differ, or that cannot be compared.
std::vector<DcmTagKey> differences(DcmDataset& a, DcmDataset& b) {
  std::vector<DcmTagKey> found;
  Parts in_a(a), in_b(b);
  DcmObject *first = in_a.next(), *second = in_b.next();
  while (first || second) {
    const bool a_lacks = !first || (second && second->getTag() < first->getTag());
    const bool b_lacks = !second || (first && first->getTag() < second->getTag());
    const auto differ = [&] {
      const auto bytes = plain_bytes(static_cast<DcmElement&>(*first));
      return !bytes || bytes != plain_bytes(static_cast<DcmElement&>(*second));
    };
    if (a_lacks || b_lacks || differ()) found.push_back((a_lacks ? second : first)->getTag());
    if (!a_lacks) first = in_a.next();
    if (!b_lacks) second = in_b.next();
  }
  return found;
}

bool same_pixels(DcmDataset& a, const SliceHeader& in_a, DcmDataset& b, const SliceHeader& in_b,
                 const Execution& execution) {
  if (in_a.frames != in_b.frames) return false;
  FrameDecoder first(a, in_a, execution), second(b, in_b, execution);
  const auto same = [&](std::uint16_t x, std::uint16_t y) {
    return in_a.has_overlays_in_cells ? x == y : in_a.format.stored(x) == in_b.format.stored(y);
  };
  for (std::int64_t frame = 0; frame < in_a.frames; ++frame) {
    if (!std::ranges::equal(first.cells(frame), second.cells(frame), same)) return false;
  }
  return true;
}

/// The elements in which two files differ that are to hold one image.
std::vector<DcmTagKey> differences(const SliceHeader& a, const SliceHeader& b, const Execution& execution) {
  if (same_bytes(a, b)) return {};
  const auto first = load_file(a.path, execution), second = load_file(b.path, execution);
  DcmDataset &in_first = *first->getDataset(), &in_second = *second->getDataset();
  if (!same_pixels(in_first, a, in_second, b, execution)) return {DCM_PixelData};
  check_nested_images(in_first, a, execution);
  check_nested_images(in_second, b, execution);
  make_plain(in_first);
  make_plain(in_second);
  return differences(in_first, in_second);
}

/// True of elements that archives, routers and viewers correct or add: who asked, where it is kept, how it is shown and
/// described. None says whose the image is, where it lies, what its numbers mean or how it was made.
bool is_of_archives(const DcmTagKey& key) {
  static const std::set<DcmTagKey> known{
      DCM_SpecificCharacterSet,
      DCM_InstanceCreationDate,
      DCM_InstanceCreationTime,
      DCM_InstanceCreatorUID,
      DCM_AccessionNumber,
      DCM_RetrieveAETitle,
      DCM_StationAETitle,
      DCM_InstanceAvailability,
      DCM_InstitutionName,
      DCM_InstitutionAddress,
      DCM_InstitutionalDepartmentName,
      DCM_ReferringPhysicianName,
      DCM_TimezoneOffsetFromUTC,
      DCM_StudyDescription,
      DCM_SeriesDescription,
      DCM_PhysiciansOfRecord,
      DCM_PerformingPhysicianName,
      DCM_NameOfPhysiciansReadingStudy,
      DCM_OperatorsName,
      DCM_AdmittingDiagnosesDescription,
      DCM_OtherPatientIDsSequence,
      DcmTagKey(0x0010, 0x1000),  // Other Patient IDs, retired
      DCM_OtherPatientNames,
      DCM_PatientAddress,
      DCM_PatientTelephoneNumbers,
      DCM_AdditionalPatientHistory,
      DCM_PatientComments,
      DCM_PatientIdentityRemoved,
      DCM_DeidentificationMethod,
      DCM_DeidentificationMethodCodeSequence,
      DCM_ContributingEquipmentSequence,
      DCM_StudyID,
      DCM_ImageComments,
      DCM_WindowCenter,
      DCM_WindowWidth,
      DCM_WindowCenterWidthExplanation,
      DCM_PerformedProcedureStepStartDate,
      DCM_PerformedProcedureStepStartTime,
      DCM_PerformedProcedureStepID,
      DCM_PerformedProcedureStepDescription,
      DCM_RequestAttributesSequence,
      DCM_OriginalAttributesSequence,
      DCM_DigitalSignaturesSequence,
  };
  constexpr Uint16 request = 0x0032, visit = 0x0038, storage = 0x0088;
  const Uint16 group = key.getGroup();
  return known.contains(key) || group == request || group == visit || group == storage;
}

/// `ImageComments (0020,4000)`, or several with commas between.
std::string listed(const std::vector<DcmTagKey>& keys) {
  constexpr std::size_t most = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(keys.size(), most); ++i) list += (i > 0 ? ", " : "") + tag_name(keys[i]);
  return keys.size() > most ? list + " and " + std::to_string(keys.size() - most) + " more" : list;
}

/// Which of two files of one image is taken.
bool comes_first(const SliceHeader* a, const SliceHeader* b) {
  const auto length = [](const SliceHeader* slice) { return slice->name.native().size(); };
  return std::pair(length(a), a->name) < std::pair(length(b), b->name);
}

/// Files that have a SOP instance UID in common with one that comes first, each with that one.
std::vector<std::pair<const SliceHeader*, const SliceHeader*>> likely_copies(const std::vector<SliceHeader>& images) {
  std::map<std::string, std::vector<const SliceHeader*>> files;
  std::set<std::filesystem::path> known;
  for (const SliceHeader& image : images) {
    if (!image.sop_instance.empty() && known.insert(image.path).second) files[image.sop_instance].push_back(&image);
  }
  std::vector<std::pair<const SliceHeader*, const SliceHeader*>> copies;
  for (auto& [uid, same] : files) {
    std::sort(same.begin(), same.end(), comes_first);
    for (std::size_t i = 1; i < same.size(); ++i) copies.emplace_back(same[i], same.front());
  }
  std::sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) { return comes_first(a.first, b.first); });
  return copies;
}

void remove_copies(std::vector<SliceHeader>& images,
                   const std::vector<std::pair<const SliceHeader*, const SliceHeader*>>& copies) {
  std::set<std::filesystem::path> paths;
  for (const auto& [copy, original] : copies) paths.insert(copy->path);
  std::erase_if(images, [&](const SliceHeader& image) { return paths.contains(image.path); });
}

}  // namespace

std::vector<SliceHeader> without_duplicate_uids(std::vector<SliceHeader> images) {
  remove_copies(images, likely_copies(images));
  return images;
}

std::vector<SliceHeader> without_duplicates(std::vector<SliceHeader> images, const std::filesystem::path& folder,
                                            const Execution& execution, std::vector<std::string>& warnings) {
  const auto copies = likely_copies(images);
  if (copies.empty()) return images;
  std::vector<std::vector<DcmTagKey>> differing(copies.size());
  parallel_for(execution, std::ssize(copies), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      differing[i] = differences(*copies[i].first, *copies[i].second, execution);
    }
  });
  std::size_t changed = 0;
  std::set<DcmTagKey> all;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& [copy, original] = copies[i];
    if (differing[i].empty()) continue;
    if (!std::ranges::all_of(differing[i], is_of_archives)) {
      throw Error(Errc::irregular,
                  folder.string() + ": " + original->name.string() + " and " + copy->name.string() +
                      " are different images with the same " + tag_name(DCM_SOPInstanceUID) + ": " +
                      listed(differing[i]) + (differing[i].size() == 1 ? " differs" : " differ"),
                  "keep the right one in the folder");
    }
    ++changed;
    all.insert(differing[i].begin(), differing[i].end());
  }
  if (changed > 0) {
    warnings.push_back((changed == 1 ? "a copy has" : std::to_string(changed) + " copies have") +
                       " the same pixels as the file that is read but another header, which is not kept; the headers "
                       "differ in " +
                       listed({all.begin(), all.end()}));
  }
  const auto& [copy, original] = copies.front();
  warnings.push_back(
      (copies.size() == 1
           ? "1 file holds an image that is read from another file: "
           : std::to_string(copies.size()) + " files hold images that are read from other files, such as ") +
      copy->name.string() + ", a copy of " + original->name.string() + "; each image is read and written once");
  remove_copies(images, copies);
  return images;
}

}  // namespace quietvox::io::dicom
