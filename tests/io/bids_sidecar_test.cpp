// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/bids_sidecar.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::test {
namespace {

using io::BidsSidecar;

TEST(KindBeside, TheFileOfDcm2niixSaysIt) {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& json) {
    put(folder / "scan.json", json);
    return BidsSidecar(folder / "scan.nii.gz", 4).of_volume(3);
  };
  EXPECT_EQ(said(R"({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY", "P", "ND"]})").kind, DataKind::phase);
  EXPECT_EQ(said(R"({"ImageType": ["ORIGINAL", "PRIMARY", "P", "ND"]})").kind_source, "scan.json says ImageType P");
  EXPECT_EQ(said(R"({"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND", "PHASE"]})").kind, DataKind::phase);
  EXPECT_EQ(said(R"({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY", "M", "NORM"]})").kind, DataKind::magnitude);
  EXPECT_EQ(said(R"({"Modality": "CT", "ImageType": ["ORIGINAL", "PRIMARY", "AXIAL"]})").kind, DataKind::scalar);
  EXPECT_EQ(said(R"({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY"]})").kind, std::nullopt);
  // It cuts values at `_`, and adds PHASE where it met that.
  for (const char* type : {R"("DIXON", "IN", "PHASE", "PHASE")", R"("DIXON", "OPP", "PHASE", "PHASE")",
                           R"("IN PHASE", "PHASE")", R"("PHASE", "CONTRAST", "PHASE")"}) {
    EXPECT_EQ(said(std::string(R"({"ImageType": ["DERIVED", "PRIMARY", )") + type + "]}").kind, std::nullopt) << type;
  }
  EXPECT_EQ(said(R"({"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND", "OUT", "PHASE", "PHASE"]})").kind,
            DataKind::magnitude);
  EXPECT_EQ(said(R"({"ImageType": ["ORIGINAL", "PRIMARY", "OTHER", "PHASE"]})").kind, DataKind::phase);
  // Python writes NaN, and others names as they stood in the DICOM file.
  EXPECT_EQ(
      said("{\"Slope\": NaN, \"Max\": -Infinity, \"Name\": \"J\xe4ger NaN \\\"\", \"ImageType\": [\"\", \"\", \"P\"]}")
          .kind,
      DataKind::phase);
  EXPECT_EQ(said("\xef\xbb\xbf{\"ImageType\": [\"\", \"\", \"P\"]}").kind, DataKind::phase);
}

TEST(KindBeside, WhatIsNoSuchFileSaysNothing) {
  const TemporaryFolder folder;
  const auto kind = [&] { return BidsSidecar(folder / "scan.nii", 1).of_volume(0).kind; };
  const std::string phase = R"("ImageType": ["ORIGINAL", "PRIMARY", "P"])";
  std::string long_text;
  long_text.resize(20'000'000, 'x');  // clang-tidy takes such a constructor for a mistake
  const std::vector<std::string> texts{
      "",
      "{",
      "[1, 2]",
      "{" + phase,
      R"({"ImageType": "P"})",
      R"({"ImageType": [1, 2, {"P": []}, null]})",
      R"({"Modality": 3, "ImageType": {}})",
      std::string(500'000, '['),
      "{" + phase + ", \"more\": \"" + long_text + "\"}",
      R"({"quietvox": "1", "volumes": [{"kind": "phase", "first": -1, "last": 5}, {"kind": "phases", "first": 0}, 7]})"};
  for (const std::string& text : texts) {
    put(folder / "scan.json", text);
    EXPECT_EQ(kind(), std::nullopt) << text.substr(0, 100);
    const bool is_bad = text == "{" || text == "{" + phase || text.size() > 1000;
    EXPECT_EQ(!BidsSidecar(folder / "scan.nii", 1).warning().empty(), is_bad) << text.substr(0, 100);
  }
  std::filesystem::remove(folder / "scan.json");
  EXPECT_EQ(kind(), std::nullopt);
  ASSERT_EQ(mkfifo((folder / "scan.json").c_str(), 0600), 0);
  EXPECT_EQ(kind(), std::nullopt);
}

TEST(KindBeside, NamesOfAnyLettersAndLength) {
  const TemporaryFolder folder;
  put(folder / "f\xc3\xbcr.json",
      "{\"quietvox\": \"1\", \"image\": \"f\xc3\xbcr.nii\", \"volumes\": [{\"first\": 0, \"last\": 0, \"kind\": "
      "\"phase\"}]}");
  EXPECT_EQ(BidsSidecar(folder / "f\xc3\xbcr.nii", 1).of_volume(0).kind, DataKind::phase);
  EXPECT_EQ(BidsSidecar(folder / (std::string(251, 'a') + ".nii"), 1).of_volume(0).kind, std::nullopt);
  std::filesystem::create_symlink("loop.json", folder / "loop.json");
  EXPECT_EQ(BidsSidecar(folder / "loop.nii", 1).of_volume(0).kind, std::nullopt);
}

TEST(KindBeside, NamesOfBidsAndDcm2niixSayIt) {
  const auto kind = [](const char* name) {
    return BidsSidecar(std::filesystem::path("nowhere") / name, 1).of_volume(0).kind;
  };
  for (const char* name : {"sub-1_part-phase_bold.nii.gz", "sub-1_phasediff.nii", "sub-1_run-2_phase1.nii.gz",
                           "5_gre_field_mapping_e2_ph.nii.gz", "scan_ph.nii"}) {
    EXPECT_EQ(kind(name), DataKind::phase) << name;
  }
  EXPECT_EQ(kind("sub-1_part-imag_T1w.nii"), DataKind::scalar);
  for (const char* name : {"sub-1_dseg.nii.gz", "sub-1_space-MNI_desc-aseg_dseg.nii", "sub-1_phasediff_mask.nii"}) {
    EXPECT_EQ(kind(name), DataKind::labels) << name;
  }
  for (const char* name : {"phase.nii", "ph.nii", "arterial_phase.nii", "sub-phase1_T1w.nii",
                           "sub-1_label-GM_probseg.nii", "mask.nii", "sub-1_T1w.nii", ".nii", ""}) {
    EXPECT_EQ(kind(name), std::nullopt) << name;
  }
}

TEST(KindBeside, ContrastsOfMrAreNoCounts) {
  const auto is_mr = [](const char* name) {
    return BidsSidecar(std::filesystem::path("nowhere") / name, 1).of_volume(0).are_of_mr;
  };
  EXPECT_TRUE(is_mr("sub-01_T1w.nii.gz"));
  EXPECT_TRUE(is_mr("sub-01_task-rest_bold.nii"));
  EXPECT_FALSE(is_mr("sub-01_pet.nii.gz"));
  EXPECT_FALSE(is_mr("T1w.nii.gz"));
  const TemporaryFolder folder;
  std::ofstream(folder / "scan.json") << R"({"Modality": "MR"})";
  EXPECT_TRUE(BidsSidecar(folder / "scan.nii", 1).of_volume(0).are_of_mr);
  EXPECT_FALSE(BidsSidecar(folder / "dwi.nii.gz", 1).of_volume(0).are_of_mr);
  std::ofstream(folder / "dwi.bval") << "0 1000\n";
  EXPECT_TRUE(BidsSidecar(folder / "dwi.nii.gz", 1).of_volume(0).are_of_mr);
}

TEST(KindBeside, WhatIsSaidOfVolumesLeavesTheModality) {
  const TemporaryFolder folder;
  const auto facts = [&](const std::string& more) {
    put(folder / "scan.json",
        R"({"quietvox": "1", "image": "scan.nii", "volumes": [{"first": 0, "last": 0, "kind": ")" + more);
    return BidsSidecar(folder / "scan.nii", 1).of_volume(0);
  };
  EXPECT_TRUE(facts(R"(scalar"}], "Modality": "CT"})").are_ct_numbers);
  EXPECT_TRUE(facts(R"(magnitude"}], "Modality": "MR"})").are_of_mr);
  EXPECT_EQ(facts(R"(magnitude"}], "Modality": "MR"})").kind, DataKind::magnitude);
  EXPECT_FALSE(facts(R"(scalar"}]})").are_ct_numbers);
}

TEST(KindBeside, WhatTheFileSaysCountsMoreThanTheName) {
  const TemporaryFolder folder;
  put(folder / "sub-1_phase.json", R"({"Modality": "CT"})");
  EXPECT_EQ(BidsSidecar(folder / "sub-1_phase.nii", 1).of_volume(0).kind, DataKind::scalar);
  put(folder / "sub-1_phase.json", R"({"ImageType": ["ORIGINAL", "PRIMARY", "M"]})");
  EXPECT_EQ(BidsSidecar(folder / "sub-1_phase.nii", 1).of_volume(0).kind, DataKind::phase) << "they contradict";
}

TEST(KindBeside, VolumesAreToldApart) {
  const TemporaryFolder folder;
  put(folder / "scan.json",
      R"({"quietvox": "1", "image": "scan.nii", "volumes": [{"first": 0, "last": 1, "kind": "magnitude"},
          {"first": 2, "last": 2, "kind": "phase"}, {"first": 3, "last": 3}]})");
  const BidsSidecar kinds(folder / "scan.nii", 4);
  EXPECT_EQ(kinds.of_volume(1).kind, DataKind::magnitude);
  EXPECT_EQ(kinds.of_volume(2).kind, DataKind::phase);
  EXPECT_EQ(kinds.of_volume(2).kind_source, "scan.json says phase");
  EXPECT_EQ(kinds.of_volume(3).kind, std::nullopt);
  EXPECT_EQ(BidsSidecar(folder / "scan.nii", 3).of_volume(2).kind, std::nullopt) << "an image of other volumes";
  std::filesystem::rename(folder / "scan.json", folder / "renamed.json");
  EXPECT_EQ(BidsSidecar(folder / "renamed.nii.gz", 4).of_volume(2).kind, DataKind::phase);
}

}  // namespace
}  // namespace quietvox::test
