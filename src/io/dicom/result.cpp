// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/result.hpp"

#include "core/error.hpp"
#include "io/dicom/derive.hpp"
#include "io/dicom/toolkit.hpp"

namespace quietvox::io {

bool is_dicom_result(const std::filesystem::path& path, const Execution& execution) {
  const DcmTagKey first_not_needed(0x0018, 0xA002);  // right behind the contributing equipment
  std::unique_ptr<DcmFileFormat> file;
  try {
    file = dicom::load_beginning(path, first_not_needed, {.memory_limit = {}, .stop = execution.stop});
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    return false;
  }
  DcmDataset& data = *file->getDataset();
  return dicom::text_of(data, DCM_Manufacturer) == "quietvox" || dicom::is_derived(data);
}

}  // namespace quietvox::io
