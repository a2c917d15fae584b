// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/scan.hpp"

#include <dcmtk/dcmdata/dcuid.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/fields.hpp"
#include "core/input_limits.hpp"
#include "io/dicom/dicom_file.hpp"
#include "io/dicom/frames.hpp"
#include "io/dicom/read_header.hpp"
#include "io/dicom_folder.hpp"
#include "io/files/folder_walk.hpp"

namespace quietvox::io::dicom {
namespace {

namespace fs = std::filesystem;

/// Why an object holds no image, by its class; empty where it may hold one, or ought to: a file that ends early may
/// have lost its pixels, and even its class, which the meta group repeats.
std::string why_no_image(DcmFileFormat& file) {
  DcmDataset& data = *file.getDataset();
  static constexpr std::pair<std::string_view, const char*> kinds[] = {
      {"1.2.840.10008.1.3.10", "a DICOMDIR"},
      {"1.2.840.10008.5.1.4.1.1.88.", "a structured report"},
      {"1.2.840.10008.5.1.4.1.1.4.2", "a spectrum"},
      {"1.2.840.10008.5.1.4.1.1.11.", "a presentation state"},
      {"1.2.840.10008.5.1.4.1.1.9.", "a waveform"},
      {"1.2.840.10008.5.1.4.1.1.104.", "an encapsulated document"},
      {"1.2.840.10008.5.1.4.1.1.66.4", "a segmentation"},
      {"1.2.840.10008.5.1.4.1.1.66", "raw data, a registration or fiducials"},
      {"1.2.840.10008.5.1.4.1.1.67", "a real world value mapping"},
      {"1.2.840.10008.5.1.4.1.1.481.1", ""},  // RT Image
      {"1.2.840.10008.5.1.4.1.1.481.", "a radiotherapy object"},
  };
  std::string sop_class = text_of(data, DCM_SOPClassUID);
  if (sop_class.empty()) sop_class = text_of(*file.getMetaInfo(), DCM_MediaStorageSOPClassUID);
  for (const auto& [prefix, kind] : kinds) {
    if (sop_class.starts_with(prefix) &&
        (prefix.back() == '.' || sop_class.size() == prefix.size() || sop_class[prefix.size()] == '.')) {
      return kind;
    }
  }
  const bool has_pixels =
      data.tagExists(DCM_PixelData) || data.tagExists(DCM_FloatPixelData) || data.tagExists(DCM_DoubleFloatPixelData);
  if (!has_pixels && data.tagExists(DCM_SpectroscopyData)) return "a spectrum";
  if (!has_pixels && sop_class == "1.3.12.2.1107.5.9.1") return "Siemens data without an image";
  const bool is_image = has_pixels || data.tagExists(DCM_Rows) || dcmIsImageStorageSOPClassUID(sop_class.c_str());
  return is_image ? "" : "a DICOM object without pixel data";
}

using WalkedFile = FolderWalk::File;

FolderWalk look_into(const fs::path& path) {
  if (fs::is_directory(path)) return walk_folder(path);
  if (!fs::is_regular_file(path)) throw Error(Errc::input_path, path.string() + ": is neither a file nor a folder");
  FolderWalk walk;
  walk.files.push_back({path, path.filename()});
  return walk;
}

constexpr const char* maybe_lost = "not DICOM, although its name says so: an image may be lost";

/// False for what macOS keeps beside a file on disks of other systems, `._NAME`.
bool is_named_dicom(const fs::path& name) {
  const std::string ending = name.extension().string();
  return (is_word(ending, ".dcm") || is_word(ending, ".ima")) && !name.filename().string().starts_with("._");
}

/// A name without its last number, and that number: so the files of a series are often named. None where it holds none.
struct NumberedName {
  std::string around;
  std::uint64_t number;
};
std::optional<NumberedName> numbered(const fs::path& path) {
  constexpr std::size_t longest = 18;  // digits
  constexpr const char* digits = "0123456789";
  const std::string name = path.string();
  const std::size_t last = name.find_last_of(digits);
  if (last == std::string::npos || name.find('/', last) != std::string::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of(digits, last), first = before == std::string::npos ? 0 : before + 1;
  if (last - first >= longest) return std::nullopt;
  return NumberedName{name.substr(0, first) + '#' + name.substr(last + 1),
                      std::stoull(name.substr(first, last + 1 - first))};
}

/// What one file turned out to be.
struct Outcome {
  std::vector<SliceHeader> images;
  std::string skipped;  ///< why it holds no image
  bool is_dicom = true;
  bool is_empty = false;
  /// Why it cannot be told to belong to a series. Given by name it is an error even where it is to be skipped.
  std::optional<Error> unassigned = std::nullopt;
  std::shared_ptr<DicomFile> file = nullptr;
};

Outcome examine(const WalkedFile& walked, const Execution& execution) {
  SliceHeader slice;
  slice.file = FileStamp(walked.path);
  try {
    if (!looks_like_dicom(walked.path)) {
      return {{}, is_named_dicom(walked.name) ? maybe_lost : "not DICOM", false, slice.file.bytes == 0};
    }
  } catch (const Error& error) {
    return {.images = {}, .skipped = {}, .unassigned = error};
  }
  slice.path = walked.path;
  slice.name = walked.name;
  std::shared_ptr<DicomFile> file;
  try {
    file = std::make_shared<DicomFile>(walked.path, execution);
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    const auto series = series_of_broken_file(walked.path, execution);
    if (!series) return {.images = {}, .skipped = "nothing but zeros where DICOM data should be", .unassigned = error};
    slice.series = *series;
    if (slice.series.empty()) return {.images = {}, .skipped = {}, .unassigned = error};
    slice.problem = error;
    return {{std::move(slice)}, {}};
  }
  DcmDataset& data = *file->header().getDataset();
  if (std::string kind = why_no_image(file->header()); !kind.empty()) return {{}, std::move(kind)};
  try {
    read_header(data, slice);
    return {.images = images_of(data, slice, execution), .skipped = {}, .file = file};
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    slice.problem = Error(error.code(), walked.path.string() + ": " + error.problem(), error.remedy());
  }
  return {{std::move(slice)}, {}};
}

void check_identity(SliceHeader& slice) {
  const auto missing = [&](const DcmTagKey& key) {
    return Error(Errc::corrupt, slice.path.string() + ": " + tag_name(key) + " is missing");
  };
  if (slice.series.empty()) {
    slice.problem = missing(DCM_SeriesInstanceUID);
    return;
  }
  if (slice.problem) return;
  if (slice.sop_class.empty()) slice.problem = missing(DCM_SOPClassUID);
  if (slice.sop_instance.empty()) slice.problem = missing(DCM_SOPInstanceUID);
}

}  // namespace

Scan scan(const fs::path& path, const Execution& execution, const ScanGuard& guard) {
  FolderWalk walk = look_into(path);
  std::vector<WalkedFile>& files = walk.files;
  std::erase_if(files, [&](const WalkedFile& walked) { return guard.left_out.contains(walked.path); });
  std::vector<Outcome> outcomes(files.size());
  // Files that are read at the same time share the memory that may be taken.
  Execution each = execution;
  each.memory_limit = memory_budget(execution) /
                      std::clamp<std::uint64_t>(files.size(), 1, static_cast<std::uint64_t>(thread_count(execution)));
  parallel_for(execution, static_cast<std::int64_t>(files.size()), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (guard.before) guard.before(files[i].path);
      outcomes[i] = examine(files[i], each);
      if (files.size() > 1) outcomes[i].file.reset();
    }
  });
  Scan result;
  result.any_dicom = !walk.closed.empty();  // perhaps
  result.unreadable = std::move(walk.closed);
  std::vector<std::string> lost, others = std::move(walk.skipped);
  std::size_t count = 0;
  std::set<std::pair<std::string, std::uint64_t>> numbers;  // in the names of images
  for (std::size_t i = 0; i < files.size(); ++i) {
    count += outcomes[i].images.size();
    const auto name = outcomes[i].images.empty() ? std::nullopt : numbered(files[i].name);
    if (name) numbers.emplace(name->around, name->number);
  }
  const auto is_beside_image = [&](const fs::path& other) {
    const auto name = numbered(other);
    return name &&
           (numbers.contains({name->around, name->number + 1}) || numbers.contains({name->around, name->number - 1}));
  };
  result.images.reserve(count);
  for (std::size_t i = 0; i < files.size(); ++i) {
    Outcome& outcome = outcomes[i];
    result.any_dicom = result.any_dicom || outcome.is_dicom;
    if (outcome.is_empty && is_beside_image(files[i].name)) outcome.skipped = maybe_lost;
    if (outcome.unassigned && (outcome.skipped.empty() || files[i].path == path)) {
      result.unreadable.push_back(std::move(*outcome.unassigned));
      continue;
    }
    if (outcome.file) result.only_file = std::move(outcome.file);
    if (outcome.images.empty()) {
      const bool is_lost = outcome.skipped == maybe_lost;
      (is_lost ? lost : others).push_back(files[i].name.string() + ": " + outcome.skipped);
      if (is_lost) {
        result.perhaps_lost.emplace_back(Errc::corrupt, files[i].path.string() + ": " + maybe_lost,
                                         "copy it again, or remove it");
      }
    }
    for (SliceHeader& image : outcome.images) {
      check_identity(image);
      if (image.series.empty()) {
        result.without_series.push_back(std::move(*image.problem));
        break;
      }
      result.images.push_back(std::move(image));
    }
  }
  std::map<std::string, std::ptrdiff_t> more_grey;  // than coloured images, of a series
  for (const SliceHeader& image : result.images) {
    if (image.is_colour || !image.problem) more_grey[image.series] += image.is_colour ? -1 : 1;
  }
  std::erase_if(result.images, [&](const SliceHeader& image) {
    const bool is_misfit = image.is_colour && more_grey[image.series] > 0;
    if (is_misfit) lost.push_back(image.name.string() + ": a colour image");
    return is_misfit;
  });
  // What may be an image is named before what is none, since only the first are named.
  result.skipped = std::move(lost);
  std::ranges::move(others, std::back_inserter(result.skipped));
  return result;
}

}  // namespace quietvox::io::dicom
