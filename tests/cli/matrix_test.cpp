// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of every kind of real scan, good or broken: one table, one line per file or folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/images.hpp"
#include "cli/process.hpp"
#include "support/dicom_checks.hpp"
#include "support/make_dicom.hpp"
#include "support/programs.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// How an input ends.
enum class End {
  in_3d,       ///< windows may reach across slices
  in_2d,       ///< single images: windows never do, whatever is asked for
  irregular,   ///< windows across slices are refused with 10, windows within a slice work
  no_input,    ///< refused with 2
  bad_input,   ///< refused with 4
  bad_voxels,  ///< info works, filters refuse with 4 what they read
  choice,      ///< several series: info lists them, filters refuse with 64
  choice_4,    ///< the same, and filters refuse with 4 for a file that belongs to none
};
using enum End;

struct Case {
  const char* input;  ///< below the folder of real scans
  End end;
  int volumes = 1;
  int copies = 0;  ///< files that repeat an image
};

void PrintTo(const Case& test, std::ostream* out) { *out << test.input; }

const std::vector<Case> dicom_cases{
    // Series, each in a folder of its own.
    {"ct_series_philips", in_3d},
    {"ct_localizer", in_2d},
    {"ct_missing_slice", irregular},
    {"ct_tilt_nonuniform_ge", irregular, 2},
    {"ct_not_a_volume", in_2d, 3},
    {"mr_series_siemens", in_3d},
    {"mr_perslice_slope", in_3d},
    {"mr_two_slices", in_3d},
    {"mr_mixed_orientation", in_3d, 2},
    {"mr_magnitude_phase", in_2d, 2},
    {"mr_4d_dti_philips", in_3d, 4},
    {"mr_4d_multiecho", irregular, 3},
    {"mg", in_2d},
    // Folders with several series, or with a file that belongs to none.
    {"charset", choice_4},
    {"ct_enhanced", choice},
    {"dx_cr_mono1", choice},
    {"float_pixels", choice},
    {"luts", choice},
    {"malformed_dicom", choice_4},
    {"mr_enhanced", choice},
    {"overlay", choice},
    {"small_and_private", choice_4},
    {"us_cine", choice},
    // Projection images and single slices.
    {"ct_localizer/I10", in_2d},
    {"ct_series_philips/I10", in_2d},
    {"mg/mg_ge_presentation.dcm", in_2d},
    {"dx_cr_mono1/dx_image.dcm", in_2d},
    {"dx_cr_mono1/cr_mono1_chest.dcm", in_2d},
    {"dx_cr_mono1/RG3_J2KR.dcm", in_2d},
    {"luts/mlut_18.dcm", in_2d},
    {"luts/vlut_04.dcm", in_2d},
    {"luts/CR-ModalitySequenceLUT.dcm", in_2d},
    {"overlay/MR-SIEMENS-DICOM-WithOverlays.dcm", in_2d},
    // Transfer syntaxes.
    {"transfer_syntax_ct/ct_1.2.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.2.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.1.99.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.5.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.51.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.57.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.70.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.80.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.81.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.90.dcm", in_2d},
    {"transfer_syntax_ct/ct_1.2.4.91.dcm", in_2d},
    // Many slices in one file.
    {"ct_enhanced/eCT_Supplemental.dcm", bad_voxels},  // colours of a palette among them
    {"ct_enhanced/legacy_converted_ct.dcm", in_3d},
    {"mr_enhanced/philips_anat.dcm", in_3d},
    {"mr_enhanced/siemens_anat.dcm", in_3d},
    {"mr_enhanced/hyperfine.dcm", in_3d},
    {"mr_enhanced/philips_fieldmap_mixed.dcm", in_3d, 2},
    {"mr_enhanced/siemens_xa10_t1.dcm", in_3d},
    {"mr_enhanced_ts", in_2d, 10, 4},
    // its frames do not say where they lie
    {"mr_enhanced_ts/emri_small.dcm", in_2d, 10},
    {"mr_enhanced_ts/emri_small_RLE.dcm", in_2d, 10},
    {"mr_enhanced_ts/emri_small_jpeg_ls_lossless.dcm", in_2d, 10},
    {"mr_enhanced_ts/emri_small_jpeg_2k_lossless.dcm", in_2d, 10},
    {"mr_enhanced_ts/emri_small_big_endian.dcm", in_2d, 10},
    {"us_cine/cine-test.dcm", in_3d},
    {"us_cine/us_rgb_8f.dcm", bad_input},           // colour
    {"us_cine/examples_ybr_color.dcm", bad_input},  // colour
    {"mr_mosaic_siemens", in_3d},
    {"mr_mosaic_siemens/IM-0001-0001.dcm", in_3d},
    {"overlay/12bitSigned_0x0F0F.dcm", in_3d},
    {"overlay/12bitUnsigned.dcm", in_3d},
    {"overlay/12bitUnsigned_0x0F0F.dcm", in_3d},
    // Character sets; private, unknown and odd elements.
    {"charset/chrArab.dcm", in_2d},
    {"charset/chrFren.dcm", in_2d},
    {"charset/chrFrenMulti.dcm", in_2d},
    {"charset/chrGerm.dcm", in_2d},
    {"charset/chrGreek.dcm", in_2d},
    {"charset/chrH31.dcm", in_2d},
    {"charset/chrH32.dcm", in_2d},
    {"charset/chrHbrw.dcm", in_2d},
    {"charset/chrI2.dcm", in_2d},
    {"charset/chrRuss.dcm", in_2d},
    {"charset/chrX1.dcm", in_2d},
    {"charset/chrX2.dcm", in_2d},
    {"charset/chrJapMulti.dcm", bad_input},  // an image without pixel data, as the next two
    {"charset/chrJapMultiExplicitIR6.dcm", bad_input},
    {"charset/chrKoreanMulti.dcm", bad_input},
    {"charset/chrSQEncoding.dcm", bad_input},  // no series, as the next
    {"charset/chrSQEncoding1.dcm", bad_input},
    {"small_and_private/CT_small.dcm", in_2d},
    {"small_and_private/MR_small.dcm", in_2d},
    {"small_and_private/MR_small_implicit.dcm", in_2d},
    {"small_and_private/MR_small_bigendian.dcm", in_2d},
    {"small_and_private/MR_small_padded.dcm", in_2d},
    {"small_and_private/J2K_pixelrep_mismatch.dcm", in_2d},
    {"small_and_private/bad_sequence.dcm", in_2d},
    {"small_and_private/explicit_VR-UN.dcm", in_2d},
    {"small_and_private/UN_sequence.dcm", bad_input},
    {"small_and_private/nested_priv_SQ.dcm", bad_input},
    {"small_and_private/priv_SQ.dcm", bad_input},
    {"small_and_private/rtdose.dcm", no_input},
    {"small_and_private/test-SR.dcm", no_input},
    {"small_and_private/liver_1frame.dcm", no_input},
    {"float_pixels/parametric_map_float.dcm", bad_input},
    {"float_pixels/parametric_map_double_float.dcm", bad_input},
    // Broken files.
    {"malformed_dicom/image_dfl.dcm", in_2d},
    {"malformed_dicom/gen_slope_negative.dcm", in_2d},
    {"malformed_dicom/DICOMDIR", no_input},
    {"malformed_dicom/ExplVR_BigEndNoMeta.dcm", no_input},
    {"malformed_dicom/JPEG2000-embedded-sequence-delimiter.dcm", bad_input},
    {"malformed_dicom/MR_truncated.dcm", bad_input},
    {"malformed_dicom/empty_charset_LEI.dcm", no_input},
    {"malformed_dicom/gen_bits_stored_0.dcm", bad_input},
    {"malformed_dicom/gen_bits_stored_17.dcm", bad_input},
    {"malformed_dicom/gen_cut_200.dcm", bad_input},
    {"malformed_dicom/gen_cut_half.dcm", bad_input},
    {"malformed_dicom/gen_empty.dcm", no_input},
    {"malformed_dicom/gen_iop_zero.dcm", bad_input},
    {"malformed_dicom/gen_len_overflow.dcm", bad_input},
    {"malformed_dicom/gen_no_pixel_data.dcm", bad_input},
    {"malformed_dicom/gen_no_seriesuid.dcm", bad_input},
    {"malformed_dicom/gen_pixelspacing_zero.dcm", bad_input},
    {"malformed_dicom/gen_rows_zero.dcm", bad_input},
    {"malformed_dicom/gen_slope_zero.dcm", bad_input},
    {"malformed_dicom/gen_text.dcm", no_input},
    {"malformed_dicom/meta_missing_tsyntax.dcm", bad_input},
    {"malformed_dicom/no-meta-length-test.dcm", bad_input},
    {"malformed_dicom/no_meta.dcm", no_input},  // begins one byte late
    {"malformed_dicom/no_meta_group_length.dcm", bad_input},
    {"malformed_dicom/rtplan_truncated.dcm", bad_input},
};

const std::vector<Case> nifti_cases{
    {"nifti/LPS.nii.gz", in_3d},
    {"nifti/PSR.nii.gz", in_3d},
    {"nifti/RAS.nii.gz", in_3d},
    {"nifti/T1.nii.gz", in_3d},
    {"nifti/anatomical.nii", in_3d},
    {"nifti/avg152T1_RL_nifti.nii.gz", in_3d},
    {"nifti/complex.nii.gz", bad_input},
    {"nifti/example4d.nii.gz", in_3d, 2},
    {"nifti/example_nifti2.nii.gz", in_3d, 2},
    {"nifti/fieldmap.nii.gz", in_3d},
    {"nifti/functional.nii", in_3d, 20},
    {"nifti/gen_float_nan_inf.nii.gz", in_3d},
    {"nifti/gen_int64.nii.gz", bad_voxels},  // numbers beyond 32-bit floats
    {"nifti/gen_uint16_4d.nii.gz", in_3d, 3},
    {"nifti/low_res.nii.gz", in_3d},
    {"nifti/minimal.nii.gz", in_3d},
    {"nifti/pcasl.nii.gz", in_3d, 10},
    {"nifti/ras.hdr", in_3d},
    {"nifti/ras.img", in_3d},
    {"nifti/reoriented_anat_moved.nii", in_3d},
    {"nifti/resampled_anat_moved.nii", in_3d},
    {"nifti/shear.nii.gz", in_3d},
    {"nifti/spmMotor.nii.gz", in_3d},
    {"nifti/standard.nii.gz", in_3d},
    {"nifti/stats.nv_demo_mskd.nii.gz", in_3d, 2},
    {"volumes/CT_AVM.nii.gz", in_3d},
    {"volumes/chris_t1.nii.gz", in_3d},
    {"volumes/fmri_pitch.nii.gz", in_3d},
    {"malformed_nifti/gzip_bomb_134MB.nii.gz", in_3d},  // 134 MB of zeros are an image, if a dull one
    {"malformed_nifti/gzip_trailing_garbage.nii.gz", in_3d},
    {"malformed_nifti/pixdim_nan.nii", in_3d},
    {"malformed_nifti/pixdim_zero.nii", in_3d},
    {"malformed_nifti/sform_zero.nii", in_3d},
    {"malformed_nifti/bad_datatype.nii", bad_input},
    {"malformed_nifti/bad_magic.nii", bad_input},
    {"malformed_nifti/dim0_9.nii", bad_input},
    {"malformed_nifti/dim_negative.nii", bad_input},
    {"malformed_nifti/dim_zero.nii", bad_input},
    {"malformed_nifti/slope_inf.nii", bad_input},
    {"malformed_nifti/truncated.nii", bad_input},
    {"malformed_nifti/voxoffset_nan.nii", bad_input},
};

int status_of(End end) {
  switch (end) {
    case in_3d:
    case in_2d: return 0;
    case irregular: return 10;
    case no_input: return 2;
    case bad_input:
    case bad_voxels: return 4;
    case choice: return 64;
    case choice_4: return 4;
  }
  return -1;
}

bool is_choice(End end) { return end == choice || end == choice_4; }
bool is_refused(End end) { return end == no_input || end == bad_input || end == bad_voxels || is_choice(end); }

/// One line, the right status, and nothing left behind.
void expect_refused(const Result& result, int status) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_TRUE(result.err.starts_with("quietvox: ")) << result.err;
}

std::string name_of(const ::testing::TestParamInfo<Case>& test) {
  std::string name = test.param.input;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

class Matrix : public ::testing::TestWithParam<Case> {
 protected:
  static fs::path input() { return test_data(GetParam().input); }

  /// How the program sees the input, and what it does with windows across slices.
  void expect_end(const std::string& output) {
    const auto& [name, end, volumes, copies] = GetParam();
    const Result info = quietvox({"info", input().string(), "--json"});
    if (is_refused(end)) {
      if (is_choice(end)) {
        EXPECT_EQ(info.status, 0) << info.err;
        EXPECT_GT(Json::parse(info.out)["series"].size(), 1U);
      } else if (end == bad_voxels) {
        EXPECT_EQ(info.status, 0) << info.err;
      } else {
        expect_refused(info, status_of(end));
      }
      expect_refused(quietvox({"median", input().string(), output, "--radius", "1x1x0"}), status_of(end));
      EXPECT_TRUE(folder_.names().empty());
      return;
    }
    ASSERT_EQ(info.status, 0) << info.err;
    const Json facts = Json::parse(info.out);
    EXPECT_EQ(facts["volume_count"], volumes);
    // None of these scans is of counts as they were measured.
    EXPECT_FALSE(facts["noise"].is_object() && facts["noise"].contains("gain")) << facts["noise"];
    EXPECT_EQ(facts["windows_across_slices"]["use"] != "no", end == in_3d) << facts;
    // A window must fit: two slices leave no room for a third.
    const std::string across = facts["extent"][2] == 2 ? "0x0x0" : "1x1x1";
    const Result across_slices =
        quietvox({"median", input().string(), output, "--radius", across, "--dry-run", "--progress", "none"});
    if (end == irregular) {
      expect_refused(across_slices, 10);
      expect_refused(quietvox({"median", input().string(), (folder_ / "out.nii").string(), "--radius", "0"}), 10);
    } else {
      EXPECT_EQ(across_slices.status, 0) << across_slices.err;
    }
    EXPECT_TRUE(folder_.names().empty());
  }

  TemporaryFolder folder_;
};

class DicomMatrix : public Matrix {};

TEST_P(DicomMatrix, EndsAsTheTableSays) {
  QV_NEEDS_TEST_DATA();
  const fs::path output = folder_ / "out.dcm";
  expect_end(output);
  if (is_refused(GetParam().end)) return;
  quietvox_ok({"median", input().string(), output.string(), "--radius", "0", "--progress", "none"});
  ASSERT_EQ(fs::is_directory(output), fs::is_directory(input()));
  std::vector<std::pair<fs::path, fs::path>> files{{input(), output}};
  if (fs::is_directory(input())) {
    files.clear();
    for (const auto& entry : fs::directory_iterator(output)) {
      files.emplace_back(input() / entry.path().filename(), entry.path());
    }
    EXPECT_EQ(std::ssize(files) + GetParam().copies,
              std::distance(fs::directory_iterator(input()), fs::directory_iterator()));
  }
  for (const auto& [source, written] : files) {
    SCOPED_TRACE(source.string());
    expect_same_pixel_data(source, written);
    expect_only_derivation_differs(source, written);
    expect_no_new_errors(source, written);
    // GDCM believes the code stream of this one, which calls signed numbers unsigned.
    if (source.filename() != "J2K_pixelrep_mismatch.dcm") expect_gdcm_agrees(source, written);
  }
  for (int volume = 0; volume < GetParam().volumes; ++volume) {
    EXPECT_TRUE(std::ranges::equal(read_voxels(output, volume), read_voxels(input(), volume),
                                   [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }));
  }
  if (!has_program("dciodvfy")) GTEST_SKIP() << "all was checked but conformance: dciodvfy (dicom3tools) is missing";
  if (!has_program("gdcmconv")) GTEST_SKIP() << "all was checked but a second reader: gdcmconv is missing";
}

INSTANTIATE_TEST_SUITE_P(All, DicomMatrix, ::testing::ValuesIn(dicom_cases), name_of);

/// A folder of several series under --all-series: how many are filtered, how many series and files are not, and the
/// exit status.
struct Folder {
  const char* input;
  int filtered, failed, status;
};

void PrintTo(const Folder& test, std::ostream* out) { *out << test.input; }

class FolderMatrix : public ::testing::TestWithParam<Folder> {};

TEST_P(FolderMatrix, EndsAsTheTableSays) {
  QV_NEEDS_TEST_DATA();
  const auto& [name, filtered, failed, status] = GetParam();
  const TemporaryFolder folder;
  const Result result =
      quietvox({"median", test_data(name).string(), (folder / "out").string(), "--all-series", "--radius", "0",
                "--json", "--progress", "none", "--include", "localizer,processed,secondary-capture"});
  EXPECT_EQ(result.status, status) << result.err;
  int good = 0, bad = 0;
  const Json document = Json::parse(result.out);
  for (const Json& series : document["series"]) ++(series.contains("error") ? bad : good);
  EXPECT_EQ(good, filtered);
  EXPECT_EQ(bad, failed);
}

// overlay holds a series of different images under one UID, transfer_syntax_ct copies of one, charset a copy whose
// texts were changed.
INSTANTIATE_TEST_SUITE_P(All, FolderMatrix,
                         ::testing::Values(Folder{"charset", 11, 4, 4}, Folder{"ct_enhanced", 1, 1, 4},
                                           Folder{"dx_cr_mono1", 3, 0, 0}, Folder{"float_pixels", 0, 2, 4},
                                           Folder{"luts", 3, 0, 0}, Folder{"malformed_dicom", 1, 12, 4},
                                           Folder{"mr_enhanced", 5, 0, 0}, Folder{"overlay", 1, 1, 10},
                                           Folder{"small_and_private", 5, 3, 4}, Folder{"transfer_syntax_ct", 1, 0, 0},
                                           Folder{"us_cine", 1, 2, 4}),
                         [](const auto& test) { return std::string(test.param.input); });

class NiftiMatrix : public Matrix {};

TEST_P(NiftiMatrix, EndsAsTheTableSays) {
  QV_NEEDS_TEST_DATA();
  const std::string name = input().filename();
  const std::string ending = name.ends_with(".gz")                              ? ".nii.gz"
                             : name.ends_with(".hdr") || name.ends_with(".img") ? ".hdr"
                                                                                : ".nii";
  const fs::path output = folder_ / ("out" + ending);
  expect_end(output);
  if (is_refused(GetParam().end)) return;
  quietvox_ok({"median", input().string(), output.string(), "--radius", "0", "--progress", "none"});
  if (ending == ".nii") {
    EXPECT_TRUE(read_file(output) == read_file(input()));
  }
  if (ending == ".hdr") {
    EXPECT_EQ(read_file(output), read_file(fs::path(input()).replace_extension(".hdr")));
    EXPECT_EQ(read_file(folder_ / "out.img"), read_file(fs::path(input()).replace_extension(".img")));
  }
  if (ending == ".nii.gz") {
    const std::string inflate = "gzip -dcq '" + output.string() + "' > '" + (folder_ / "a").string() +
                                "' && gzip -dcq '" + input().string() + "' > '" + (folder_ / "b").string() + "'";
    const int status = WEXITSTATUS(std::system(inflate.c_str()));
    EXPECT_TRUE(status == 0 || status == 2);  // 2: a warning, about bytes after the end of the source
    EXPECT_TRUE(read_file(folder_ / "a") == read_file(folder_ / "b"));
  }
}

/// A filter that changes voxels leaves the header as it is, in the eyes of another program too.
TEST_P(NiftiMatrix, KeepsItsHeaderWhateverTheFilter) {
  QV_NEEDS_TEST_DATA();
  if (is_refused(GetParam().end)) return;
  if (!has_program("nifti_tool")) GTEST_SKIP() << "nifti_tool is missing";
  fs::path source = input();
  if (source.extension() == ".img") source.replace_extension(".hdr");
  const std::string name = source.filename();
  const fs::path output =
      folder_ / ("out" + name.substr(name.find('.', name.ends_with(".nii.gz") ? name.size() - 7 : name.size() - 4)));
  quietvox_ok({"median", source.string(), output.string(), "--radius", "1x1x0", "--progress", "none"});
  // What it thinks of the source's header goes to stderr; what differs, to stdout.
  const auto differences = [&](const fs::path& other) {
    const fs::path list = folder_ / "differences";
    const std::string command = "nifti_tool -diff_hdr -infiles '" + source.string() + "' '" + other.string() + "' > '" +
                                list.string() + "' 2> /dev/null";
    const int status = std::system(command.c_str());
    return std::to_string(status) + read_file(list);
  };
  EXPECT_EQ(differences(output), differences(source));
}

INSTANTIATE_TEST_SUITE_P(All, NiftiMatrix, ::testing::ValuesIn(nifti_cases), name_of);

TEST(MatrixTable, NamesEveryFileOrItsFolder) {
  QV_NEEDS_TEST_DATA();
  std::set<std::string> named;
  for (const auto* cases : {&dicom_cases, &nifti_cases}) {
    for (const Case& each : *cases) named.insert(each.input);
  }
  for (const auto& folder : fs::directory_iterator(test_data())) {
    const std::string folder_name = folder.path().filename();
    if (!folder.is_directory() || folder_name == "LICENSES" || folder_name == "quality") continue;
    const auto found = named.find(folder_name);
    if (found != named.end() && std::none_of(dicom_cases.begin(), dicom_cases.end(), [&](const Case& each) {
          return each.input == folder_name && is_refused(each.end);
        })) {
      continue;  // the folder as a whole is filtered
    }
    for (const auto& file : fs::directory_iterator(folder)) {
      const std::string name = folder_name + "/" + file.path().filename().string();
      EXPECT_TRUE(named.contains(name)) << name;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
