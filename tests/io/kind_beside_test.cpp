// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/kind_beside.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"
#include "support/text_file.hpp"

namespace quietvox::test {
namespace {

using io::KindsBeside;

TEST(KindBeside, TheFileOfDcm2niixSaysIt) {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& json) {
    put(folder / "scan.json", json);
    return KindsBeside(folder / "scan.nii.gz").of_volume(3);
  };
  EXPECT_EQ(said(R"({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY", "P", "ND"]})").kind, DataKind::phase);
  EXPECT_EQ(said(R"({"ImageType": ["ORIGINAL", "PRIMARY", "P", "ND"]})").kind_source, "scan.json says ImageType P");
  EXPECT_EQ(said(R"({"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND", "PHASE"]})").kind, DataKind::phase);
  EXPECT_EQ(said(R"({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY", "M", "NORM"]})").kind, DataKind::magnitude);
  EXPECT_EQ(said(R"({"Modality": "CT", "ImageType": ["ORIGINAL", "PRIMARY", "AXIAL"]})").kind, DataKind::scalar);
  EXPECT_EQ(said(R"({"Modality": "MR", "ImageType": ["ORIGINAL", "PRIMARY"]})").kind, std::nullopt);
}

TEST(KindBeside, WhatIsNoSuchFileSaysNothing) {
  const TemporaryFolder folder;
  const auto kind = [&] { return KindsBeside(folder / "scan.nii").of_volume(0).kind; };
  const std::string phase = R"("ImageType": ["ORIGINAL", "PRIMARY", "P"])";
  const std::vector<std::string> texts{
      "",
      "{",
      "[1, 2]",
      "{" + phase,
      R"({"ImageType": "P"})",
      R"({"ImageType": [1, 2, {"P": []}, null]})",
      R"({"Modality": 3, "ImageType": {}})",
      std::string(500'000, '['),
      "{" + phase + ", \"more\": \"" + std::string(2'000'000, 'x') + "\"}",
      R"({"quietvox": "1", "volumes": [{"kind": "phase", "first": -1, "last": 5}, {"kind": "phases", "first": 0}, 7]})"};
  for (const std::string& text : texts) {
    put(folder / "scan.json", text);
    EXPECT_EQ(kind(), std::nullopt) << text.substr(0, 100);
  }
  std::filesystem::remove(folder / "scan.json");
  EXPECT_EQ(kind(), std::nullopt);
  ASSERT_EQ(mkfifo((folder / "scan.json").c_str(), 0600), 0);
  EXPECT_EQ(kind(), std::nullopt);
}

TEST(KindBeside, NamesOfBidsSayIt) {
  const auto kind = [](const char* name) {
    return KindsBeside(std::filesystem::path("nowhere") / name).of_volume(0).kind;
  };
  for (const char* name : {"sub-1_part-phase_bold.nii.gz", "sub-1_phasediff.nii", "sub-1_run-2_phase1.nii.gz"}) {
    EXPECT_EQ(kind(name), DataKind::phase) << name;
  }
  EXPECT_EQ(kind("sub-1_part-imag_T1w.nii"), DataKind::scalar);
  for (const char* name :
       {"phase.nii", "sub-phase1_T1w.nii", "sub-1_phasediff_mask.nii", "sub-1_T1w.nii", ".nii", ""}) {
    EXPECT_EQ(kind(name), std::nullopt) << name;
  }
}

TEST(KindBeside, VolumesAreToldApart) {
  const TemporaryFolder folder;
  put(folder / "scan.json", R"({"quietvox": "1", "volumes": [{"first": 0, "last": 1, "kind": "magnitude"},
                               {"first": 2, "last": 2, "kind": "phase"}, {"first": 3, "last": 3}]})");
  const KindsBeside kinds(folder / "scan.nii");
  EXPECT_EQ(kinds.of_volume(1).kind, DataKind::magnitude);
  EXPECT_EQ(kinds.of_volume(2).kind, DataKind::phase);
  EXPECT_EQ(kinds.of_volume(2).kind_source, "scan.json says phase");
  EXPECT_EQ(kinds.of_volume(3).kind, std::nullopt);
}

}  // namespace
}  // namespace quietvox::test
