// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "io/dicom/series_fixture.hpp"
#include "io/dicom_folder.hpp"
#include "io/image.hpp"

namespace quietvox::test {
namespace {

using Elements = std::vector<std::pair<DcmTagKey, std::string>>;

using DicomPatients = DicomSeries;

TEST_F(DicomPatients, ASeriesOfTwoPatientsOrStudiesIsRefused) {
  struct Case {
    DcmTagKey key;
    const char *name, *first, *second;
  };
  const Case cases[] = {{DCM_PatientID, "PatientID (0010,0020)", "A123", "B456"},
                        {DCM_PatientBirthDate, "PatientBirthDate (0010,0030)", "19500101", "19800202"},
                        {DCM_PatientSex, "PatientSex (0010,0040)", "F", "M"},
                        {DCM_PatientName, "PatientName (0010,0010)", "Doe^Jane", "Roe^Rita"},
                        {DCM_PatientName, "PatientName (0010,0010)", "Yamada^T=\xe5\xb1\xb1", "Yamada^T=\xe5\xb7\x9d"},
                        {DCM_PatientName, "PatientName (0010,0010)", "Y=\x1b$B;3ED\x1b(B", "Y=\x1b$B;3@n\x1b(B"},
                        {DCM_StudyInstanceUID, "StudyInstanceUID (0020,000d)", "1.2.3.1", "1.2.3.2"}};
  for (const auto& [key, name, first, second] : cases) {
    const bool has_escapes = std::string(first).find('\x1b') != std::string::npos;
    for (int z = 0; z < 6; ++z) {
      add(std::to_string(z), z, z,
          {{key, z % 2 ? second : first}, {DCM_SpecificCharacterSet, has_escapes ? "\\ISO 2022 IR 87" : "ISO_IR 192"}});
    }
    for (const bool allow_gaps : {false, true}) {
      const std::string problem = problem_of_opening({.allow_gaps = allow_gaps, .series_uid = ""});
      EXPECT_NE(problem.find("0.dcm and 1.dcm"), std::string::npos) << problem;
      EXPECT_NE(problem.find(name), std::string::npos) << problem;
      const std::size_t behind_path = folder_.path().string().size();  // chance may put an F or M into it
      for (const char* secret : {first, second}) {
        EXPECT_EQ(problem.find(secret, behind_path), std::string::npos) << problem;
      }
    }
    const auto series = io::DicomFolder(folder_.path()).series();
    ASSERT_EQ(series.size(), 1U);
    EXPECT_NE(series[0].problem.find(name), std::string::npos) << series[0].problem;
  }
}

TEST_F(DicomPatients, OnlyTheSeriesOfTwoPatientsIsRefused) {
  add("a", 0, 1, {{DCM_PatientID, "A"}});
  add("b", 1, 2, {{DCM_PatientID, "B"}});
  DicomSpec other = marked(3);
  other.series = "1.2.3.99";
  write_dicom(folder_ / "c.dcm", other);
  EXPECT_EQ(marks(*open({.allow_gaps = false, .series_uid = "1.2.3.99"})), (std::vector<int>{3}));
  EXPECT_NE(problem_of_opening({.allow_gaps = false, .series_uid = "1.2.3.4"}), "");
}

TEST_F(DicomPatients, OnePatientMayBeWrittenInSeveralWays) {
  const std::string utf8 = "ISO_IR 192", latin = "ISO_IR 100", japanese = "\\ISO 2022 IR 87";
  const std::vector<Elements> ways[] = {
      {{{DCM_PatientName, "Doe^Jane"}}, {{DCM_PatientName, "DOE^JANE^^^ "}}, {{DCM_PatientName, " doe ^jane="}}},
      {{{DCM_PatientID, "12"}}, {{DCM_PatientID, " 12 "}}},
      {{{DCM_PatientID, "12"}}, {{DCM_PatientID, ""}}, {}},
      {{{DCM_PatientBirthDate, "19500101"}},
       {{DCM_PatientBirthDate, "1950.01.01"}},
       {{DCM_PatientBirthDate, "00000000"}}},
      {{{DCM_PatientSex, "M"}}, {{DCM_PatientSex, "m"}}, {{DCM_PatientSex, "O"}}},
      {{{DCM_PatientName, "Doe^Jane"}}, {{DCM_PatientName, ""}}, {{DCM_PatientName, "^^"}}},
      {{{DCM_StudyInstanceUID, "1.2.3"}}, {{DCM_StudyInstanceUID, ""}}},
      {{{DCM_SpecificCharacterSet, utf8}, {DCM_PatientName, "M\xc3\xbcller^K\xc3\xa4the"}},
       {{DCM_SpecificCharacterSet, latin}, {DCM_PatientName, "M\xfcller^K\xe4the"}}},
      {{{DCM_SpecificCharacterSet, utf8},
        {DCM_PatientName, "Yamada^Tarou=\xe5\xb1\xb1\xe7\x94\xb0^\xe5\xa4\xaa\xe9\x83\x8e"}},
       {{DCM_SpecificCharacterSet, japanese}, {DCM_PatientName, "Yamada^Tarou=\x1b$B;3ED\x1b(B^\x1b$BB@O:\x1b(B"}},
       {{DCM_PatientName, "Yamada^Tarou"}}}};
  for (const auto& way : ways) {
    SCOPED_TRACE(way[0].back().second);
    for (const auto& file : fs::directory_iterator(folder_.path())) fs::remove(file);
    for (std::size_t z = 0; z < way.size(); ++z) add(std::to_string(z), static_cast<double>(z), 1, way[z]);
    EXPECT_EQ(problem_of_opening(), "");
    EXPECT_EQ(open()->volume_count(), 1U);
  }
}

}  // namespace
}  // namespace quietvox::test
