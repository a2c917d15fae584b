// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/verify.hpp"

#include <gtest/gtest.h>

#include "io/dicom/scan.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

TEST(DicomVerify, DamageToPixelsOrToWhatDescribesThemIsFound) {
  const TemporaryFolder folder;
  const auto path = folder / "a.dcm";
  const DicomSpec spec{.columns = 4, .rows = 2, .cells = {1, 2, 3, 4, 5, 6, 7, 8}, .instance = "1.2.3.4.99"};
  write_dicom(path, spec);
  const io::dicom::SliceHeader source = io::dicom::scan(path, {}).images.at(0);
  const auto verdict = [&] { return io::dicom::readback_mismatch(path, source, "1.2.3.4.99", spec.cells); };
  EXPECT_EQ(verdict(), "");

  const auto number = [](const DcmTagKey& key, Uint16 value) {
    return [=](DcmDataset& data) { data.putAndInsertUint16(key, value); };
  };
  const auto text = [](const DcmTagKey& key, const char* value) {
    return [=](DcmDataset& data) { data.putAndInsertString(key, value); };
  };
  const std::pair<std::function<void(DcmDataset&)>, const char*> damages[] = {
      {number(DCM_Rows, 1), "holds 2 frames"},
      {number(DCM_Columns, 3), "size"},
      {number(DCM_BitsStored, 11), "pixel format"},
      {number(DCM_HighBit, 12), "pixel format"},
      {number(DCM_PixelRepresentation, 1), "pixel format"},
      {text(DCM_PhotometricInterpretation, "MONOCHROME1"), "pixel format"},
      {text(DCM_RescaleSlope, "2"), "rescale"},
      {text(DCM_RescaleIntercept, "0"), "rescale"},
      {text(DCM_SOPInstanceUID, "1.2.3.4.98"), "SOP instance UID"},
      {number(DCM_Rows, 100), "PixelData (7fe0,0010) is too short"},
      {[](DcmDataset& data) { data.findAndDeleteElement(DCM_BitsStored); }, "BitsStored (0028,0101) is missing"}};
  for (const auto& [change, expected] : damages) {
    DicomSpec damaged = spec;
    damaged.change = change;
    write_dicom(path, damaged);
    EXPECT_NE(verdict().find(expected), std::string::npos) << expected << ": " << verdict();
  }
  DicomSpec damaged = spec;
  damaged.cells[7] = 9;
  write_dicom(path, damaged);
  EXPECT_EQ(verdict(), "with other pixels than were written");
}

}  // namespace
}  // namespace quietvox::test
