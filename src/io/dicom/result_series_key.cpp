// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/result_series_key.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "io/dicom/derive.hpp"
#include "io/dicom/toolkit.hpp"
#include "io/files/staging_name.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;

std::vector<std::string> dicom_result_series_keys(const fs::path& path, const Execution& execution) {
  const DcmTagKey first_not_needed(0x0020, 0x0012);  // right behind the number of the series
  std::unique_ptr<DcmFileFormat> file;
  try {
    file = dicom::load_beginning(path, first_not_needed, {.memory_limit = {}, .stop = execution.stop});
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    return {};
  }
  DcmDataset& data = *file->getDataset();
  if (dicom::text_of(data, DCM_Manufacturer) != "quietvox" && !dicom::is_derived(data)) return {};
  const std::string study = dicom::text_of(data, DCM_StudyInstanceUID), number = dicom::text_of(data, DCM_SeriesNumber),
                    series = dicom::text_of(data, DCM_SeriesInstanceUID);
  std::vector<std::string> keys;
  if (!series.empty()) keys.push_back("study " + study + " series " + series);
  if (!study.empty() && !number.empty()) keys.push_back("study " + study + " number " + number);
  return keys;
}

AtomicOutput::Examine dicom_results_of_one_series(const fs::path& target) {
  return [target](const fs::path& folder, const Execution& execution) {
    const auto refuse = [&](const std::string& what) {
      throw Error(Errc::exists, target.string() + ": holds " + what, "give another output");
    };
    const auto refuse_foreign = [&](const fs::path& path) {
      refuse(path.lexically_relative(folder).string() +
             ", which was not made by quietvox, and is therefore not replaced");
    };
    std::vector<fs::path> found{folder}, folders;
    std::vector<std::string> first;
    const auto look_at = [&](const fs::directory_entry& entry) {
      check_stop(execution.stop);
      if (entry.is_directory() && !entry.is_symlink()) {
        if (is_stale_staging(entry.path())) return;
        if (is_staging_name(entry.path().filename().native())) {
          refuse(entry.path().filename().string() + ", in which another run may be writing");
        }
        folders.push_back(entry.path());
        return;
      }
      const bool is_plain = entry.is_regular_file() && !entry.is_symlink();
      const auto keys = is_plain ? dicom_result_series_keys(entry.path(), execution) : std::vector<std::string>();
      if (keys.empty()) refuse_foreign(entry.path());
      if (first.empty()) first = keys;
      if (std::ranges::find_first_of(keys, first) == keys.end()) {
        refuse("results of several series, which the result of one must not replace");
      }
      found.push_back(entry.path());
    };
    // A link is no folder: what it leads to is not replaced.
    if (fs::is_directory(fs::symlink_status(folder))) folders.push_back(folder);
    while (!folders.empty()) {  // one is open at a time, however deep they lie
      const fs::path open = std::move(folders.back());
      folders.pop_back();
      std::error_code error;
      const fs::directory_iterator entries(open, error);
      if (error == std::errc::filename_too_long) refuse_foreign(open);  // no path of ours is
      if (error) {
        const fs::path name = open == folder ? target : target / open.lexically_relative(folder);
        throw Error(Errc::not_writable, name.string() + ": cannot be examined: " + error.message());
      }
      for (const fs::directory_entry& entry : entries) look_at(entry);
    }
    return found;
  };
}

}  // namespace quietvox::io
