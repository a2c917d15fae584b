// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_result.hpp"

#include "core/error.hpp"
#include "io/dicom_derive.hpp"
#include "io/dicom_toolkit.hpp"

namespace quietvox::io {

bool is_dicom_result(const std::filesystem::path& path) {
  const DcmTagKey first_not_needed(0x0018, 0xA002);  // right behind the contributing equipment
  std::unique_ptr<DcmFileFormat> file;
  try {
    file = dicom::load_beginning(path, first_not_needed);
  } catch (const Error&) {
    return false;
  }
  DcmDataset& data = *file->getDataset();
  return dicom::text_of(data, DCM_Manufacturer) == "quietvox" || dicom::is_derived(data);
}

}  // namespace quietvox::io
