// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/result_series_key.hpp"

#include "core/error.hpp"
#include "io/dicom/derive.hpp"
#include "io/dicom/toolkit.hpp"

namespace quietvox::io {

std::vector<std::string> dicom_result_series_keys(const std::filesystem::path& path, const Execution& execution) {
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

}  // namespace quietvox::io
