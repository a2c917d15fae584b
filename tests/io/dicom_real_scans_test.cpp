// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;

/// Either pixels that survive unchanged, or one clear error; none stands for "not DICOM".
struct Outcome {
  bool works = true;
  std::optional<Errc> error = std::nullopt;
};
const Outcome works{}, corrupt{false, Errc::corrupt}, unsupported{false, Errc::unsupported}, not_dicom{false};

/// Folders in which every single file is tried, with the files that do not simply work.
const std::map<std::string, std::map<std::string, Outcome>> files_by_folder{
    {"ct_localizer", {}},
    {"ct_series_philips", {}},
    {"mr_series_siemens", {}},
    {"mg", {}},
    {"luts", {}},
    {"dx_cr_mono1", {}},
    {"transfer_syntax_ct", {}},
    {"float_pixels", {{"parametric_map_float.dcm", unsupported}, {"parametric_map_double_float.dcm", unsupported}}},
    {"mr_mosaic_siemens", {{"IM-0001-0001.dcm", unsupported}}},
    {"mr_enhanced",
     {{"hyperfine.dcm", unsupported},
      {"philips_anat.dcm", unsupported},
      {"philips_fieldmap_mixed.dcm", unsupported},
      {"siemens_anat.dcm", unsupported},
      {"siemens_xa10_t1.dcm", unsupported}}},
    {"us_cine",
     {{"cine-test.dcm", unsupported}, {"examples_ybr_color.dcm", unsupported}, {"us_rgb_8f.dcm", unsupported}}},
    {"overlay",
     {{"12bitSigned_0x0F0F.dcm", unsupported},  // MOSAIC
      {"12bitUnsigned.dcm", unsupported},
      {"12bitUnsigned_0x0F0F.dcm", unsupported}}},
    {"charset",
     {{"chrJapMulti.dcm", corrupt},  // an image without pixel data
      {"chrJapMultiExplicitIR6.dcm", corrupt},
      {"chrKoreanMulti.dcm", corrupt},
      {"chrSQEncoding.dcm", corrupt},
      {"chrSQEncoding1.dcm", corrupt}}},
    {"small_and_private",
     {{"UN_sequence.dcm", corrupt},
      {"nested_priv_SQ.dcm", corrupt},
      {"priv_SQ.dcm", corrupt},
      {"rtdose.dcm", unsupported},
      {"test-SR.dcm", unsupported},
      {"liver_1frame.dcm", unsupported}}},
    {"malformed_dicom",
     {{"DICOMDIR", unsupported},
      {"ExplVR_BigEndNoMeta.dcm", unsupported},
      {"JPEG2000-embedded-sequence-delimiter.dcm", corrupt},
      {"MR_truncated.dcm", corrupt},
      {"empty_charset_LEI.dcm", unsupported},
      {"gen_bits_stored_0.dcm", corrupt},
      {"gen_bits_stored_17.dcm", corrupt},
      {"gen_cut_200.dcm", corrupt},
      {"gen_cut_half.dcm", corrupt},
      {"gen_empty.dcm", not_dicom},
      {"gen_iop_zero.dcm", corrupt},
      {"gen_len_overflow.dcm", corrupt},
      {"gen_no_pixel_data.dcm", corrupt},
      {"gen_no_seriesuid.dcm", corrupt},
      {"gen_pixelspacing_zero.dcm", corrupt},
      {"gen_rows_zero.dcm", corrupt},
      {"gen_slope_zero.dcm", corrupt},
      {"gen_text.dcm", not_dicom},
      {"meta_missing_tsyntax.dcm", corrupt},
      {"no-meta-length-test.dcm", unsupported},
      {"no_meta.dcm", not_dicom},  // begins one byte late
      {"no_meta_group_length.dcm", corrupt},
      {"rtplan_truncated.dcm", corrupt}}}};

/// What a program prints, line by line.
std::multiset<std::string> lines_of(const std::string& command) {
  std::multiset<std::string> lines;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> line;
  while (pipe && std::fgets(line.data(), line.size(), pipe)) lines.insert(line.data());
  if (pipe) pclose(pipe);
  return lines;
}

bool has_validator() { return std::system("command -v dciodvfy > /dev/null 2>&1") == 0; }

/// Errors that dciodvfy sees in a file, each as often as it sees it; not those about identifiers, which the derived
/// object repeats when it refers to a source whose own identifier is wrong.
std::multiset<std::string> validator_errors(const fs::path& path) {
  std::multiset<std::string> errors;
  for (const std::string& line : lines_of("dciodvfy '" + path.string() + "'")) {
    if (line.starts_with("Error") && line.find("(0x0008,0x1155)") == std::string::npos) errors.insert(line);
  }
  return errors;
}

/// Ends a test whose other checks are done.
#define QV_SKIP_WITHOUT_VALIDATOR() \
  if (!has_validator()) GTEST_SKIP() << "all was checked but conformance: dciodvfy (package dicom3tools) is missing"

void expect_no_new_errors(const fs::path& source, const fs::path& output) {
  if (!has_validator()) return;
  const auto before = validator_errors(source);
  if (before.contains("Error - Dicom dataset read failed\n")) return;  // it cannot inflate
  for (const std::string& error : validator_errors(output)) {
    EXPECT_GE(before.count(error), validator_errors(output).count(error)) << output << ": " << error;
  }
}

/// Beside what marks a derived object, only group lengths may differ, icons that were compressed like the image, and
/// the lost type of the object's class.
void expect_only_derivation_differs(const fs::path& source, const fs::path& output) {
  std::set<std::string> allowed{"(0008,0008)", "(0008,0012)", "(0008,0013)", "(0008,0018)", "(0008,103e)",
                                "(0008,2111)", "(0008,2112)", "(0008,9215)", "(0018,a001)", "(0020,000e)",
                                "(0020,0011)", "(0028,0106)", "(0028,0107)", "(0028,0108)", "(0028,0109)",
                                "(0028,2110)", "(4ffe,0001)", "(fffa,fffa)"};
  const auto file = parse_dicom(source);
  if (DcmXfer(file->getDataset()->getOriginalXfer()).isEncapsulated()) allowed.insert({"(0088,0200)", "(07a3,10ce)"});
  DcmElement* object_class = nullptr;
  file->getDataset()->findAndGetElement(DCM_SOPClassUID, object_class);
  if (object_class->getVR() == EVR_UN) allowed.insert("(0008,0016)");
  for (const std::string& tag : changed_elements(source, output)) {
    EXPECT_TRUE(allowed.contains(tag) || tag.ends_with(",0000)")) << output << ": " << tag;
  }
}

class RealFolder : public ::testing::TestWithParam<std::string> {};

TEST_P(RealFolder, EveryFileIsKeptOrRefusedClearly) {
  QV_NEEDS_TEST_DATA();
  const auto& special = files_by_folder.at(GetParam());
  int files = 0;
  for (const auto& entry : fs::directory_iterator(test_data(GetParam()))) {
    const std::string name = entry.path().filename();
    const auto found = special.find(name);
    const Outcome expected = found == special.end() ? works : found->second;
    SCOPED_TRACE(name);
    ++files;
    TemporaryFolder folder;
    const fs::path output = folder / "out.dcm";
    try {
      const auto image = io::open_dicom(entry.path(), {});
      EXPECT_EQ(image != nullptr, expected.works || expected.error) << "taken for something else than DICOM, or for it";
      if (!image) continue;
      EXPECT_EQ(write_image(*image, output).clamped, 0);
      EXPECT_FALSE(expected.error) << "works, though it should not";
      EXPECT_TRUE(std::ranges::equal(read_volume(*io::open_dicom(output, {}), 0, io::Values::stored).voxels,
                                     read_volume(*image, 0, io::Values::stored).voxels,
                                     [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
      expect_no_new_errors(entry.path(), output);
      expect_only_derivation_differs(entry.path(), output);
    } catch (const Error& error) {
      ASSERT_TRUE(expected.error) << error.what();
      EXPECT_EQ(error.code(), *expected.error) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_TRUE(folder.names().empty());
    }
  }
  EXPECT_GE(files, static_cast<int>(special.size()));
  EXPECT_GT(files, 0);
  QV_SKIP_WITHOUT_VALIDATOR();
}

INSTANTIATE_TEST_SUITE_P(All, RealFolder, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, files] : files_by_folder) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

struct RealSeries {
  const char* folder;
  std::vector<std::int64_t> slices;  ///< per volume
  const char* why_2d_only;           ///< of the first volume, part of it
};

class DicomSeriesOfScanner : public ::testing::TestWithParam<RealSeries> {};

TEST_P(DicomSeriesOfScanner, IsGroupedAndComesBackWhole) {
  QV_NEEDS_TEST_DATA();
  const RealSeries& series = GetParam();
  const fs::path input = test_data(series.folder);
  const auto image = io::open_dicom(input, {});
  std::vector<std::int64_t> slices;
  for (std::size_t i = 0; i < image->volume_count(); ++i) slices.push_back(image->geometry(i).extent.z);
  EXPECT_EQ(slices, series.slices);
  const std::string why = image->why_2d_only(0);
  EXPECT_TRUE(*series.why_2d_only ? why.find(series.why_2d_only) != std::string::npos : why.empty()) << why;

  TemporaryFolder folder;
  const auto report = write_image(*image, folder / "out");
  EXPECT_EQ(report.clamped, 0);
  std::set<std::string> sources, outputs;
  for (const auto& entry : fs::directory_iterator(input)) sources.insert(entry.path().filename());
  for (const auto& entry : fs::directory_iterator(folder / "out")) outputs.insert(entry.path().filename());
  EXPECT_EQ(outputs, sources);
  for (const std::string& name : sources) {
    EXPECT_EQ(dicom_cells(folder / "out" / name), dicom_cells(input / name)) << name;
    expect_no_new_errors(input / name, folder / "out" / name);
    expect_only_derivation_differs(input / name, folder / "out" / name);
  }
  QV_SKIP_WITHOUT_VALIDATOR();
}

INSTANTIATE_TEST_SUITE_P(
    All, DicomSeriesOfScanner,
    ::testing::Values(RealSeries{"ct_series_philips", {14}, ""}, RealSeries{"mr_series_siemens", {4}, ""},
                      RealSeries{"mr_perslice_slope", {4}, ""}, RealSeries{"mr_two_slices", {2}, ""},
                      RealSeries{"mr_mixed_orientation", {2, 2}, ""}, RealSeries{"mr_4d_dti_philips", {2, 2, 2, 2}, ""},
                      RealSeries{"mr_4d_multiecho", {3, 2, 2}, "slices are missing"},
                      RealSeries{"mr_magnitude_phase", {1, 1}, "single image"},
                      RealSeries{"ct_not_a_volume", {1, 1, 1}, "single image"},
                      RealSeries{"ct_missing_slice", {4}, "slices are missing"},
                      RealSeries{"ct_tilt_nonuniform_ge", {4, 4}, "gantry tilt"}),
    [](const auto& test) { return std::string(test.param.folder); });

std::vector<float> voxels_in(const std::string& syntax) {
  return read_volume(*io::open_dicom(test_data("transfer_syntax_ct/ct_1.2" + syntax + ".dcm"), {})).voxels;
}

TEST(DicomTransferSyntaxes, LosslessOnesHoldTheSamePixels) {
  QV_NEEDS_TEST_DATA();
  const auto expected = voxels_in("");
  for (const char* syntax : {".2", ".1.99", ".5", ".4.57", ".4.70", ".4.80", ".4.90"}) {
    EXPECT_EQ(voxels_in(syntax), expected) << syntax;
  }
}

TEST(DicomTransferSyntaxes, LossyOnesHoldAlmostTheSamePixels) {
  QV_NEEDS_TEST_DATA();
  const auto expected = voxels_in("");
  for (const char* syntax : {".4.51", ".4.81", ".4.91"}) {
    const auto lossy = voxels_in(syntax);
    double difference = 0, count = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] < -1024) continue;  // outside the field of view; one of the files holds nothing below
      difference += std::abs(lossy[i] - expected[i]);
      ++count;
    }
    EXPECT_LT(difference / count, 10) << syntax;
  }
}

}  // namespace
}  // namespace quietvox::test
