// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <limits>
#include <set>

#include "io/create.hpp"
#include "io/image.hpp"
#include "support/comma_locale.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/programs.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;
using test::dicom_text;
using test::expect_error;

const Geometry tilted{{{6, 5, 3}}, {0.5, 0.75, 2.5}, {-10, 20.25, -300}, {0, 0, 1, 1, 0, 0, 0, 1, 0}};
const Geometry flat{{{6, 5, 1}}, {0.1, 0.1, 1}, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};

WriteReport create(const fs::path& folder, const Geometry& geometry, const std::string& modality, float offset = 0) {
  test::Volume volume(geometry.extent, geometry.spacing);
  for (std::size_t i = 0; i < volume.voxels.size(); ++i) volume.voxels[i] = offset + static_cast<float>(i);
  const auto writer = create_dicom(folder, geometry, modality, {});
  writer->begin_volume(0, {});
  for (std::int64_t z = 0; z < geometry.extent.z; ++z) writer->write(volume.view().slices(z, 1));
  return writer->commit();
}

/// What dciodvfy says about a file; none where the tool is not installed.
std::optional<std::string> dciodvfy(const fs::path& file) {
  if (!test::has_program("dciodvfy")) return std::nullopt;
  FILE* pipe = popen(("dciodvfy '" + file.string() + "' 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 4096> piece;
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), got);
  pclose(pipe);
  return text;
}

class CreateDicomTest : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

TEST_F(CreateDicomTest, SeriesIsReadBackWithItsGeometry) {
  for (const std::string modality : {"CT", "MR"}) {
    SCOPED_TRACE(modality);
    const fs::path series = folder_ / modality;
    const WriteReport report = create(series, tilted, modality, modality == "CT" ? -1000.0f : 0.0f);
    EXPECT_EQ(report.files,
              (std::vector{series / "slice_0001.dcm", series / "slice_0002.dcm", series / "slice_0003.dcm"}));
    EXPECT_EQ(report.clamped, 0);
    const auto image = open_image(series, {});
    ASSERT_TRUE(image);
    const Geometry& geometry = image->geometry(0);
    EXPECT_EQ(geometry.extent, tilted.extent);
    for (int i = 0; i < 9; ++i) EXPECT_NEAR(geometry.direction[i], tilted.direction[i], 1e-6) << i;
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(geometry.origin[i], tilted.origin[i], 1e-6);
      EXPECT_NEAR(geometry.spacing[i], tilted.spacing[i], 1e-6);
    }
    const auto volume = test::read_volume(*image);
    EXPECT_EQ(volume.voxels[0], modality == "CT" ? -1000 : 0);
    EXPECT_EQ(volume.voxels[89], volume.voxels[0] + 89);
    EXPECT_EQ(dicom_text(series / "slice_0001.dcm", DCM_PatientName), "Phantom^" + modality);
  }
}

TEST_F(CreateDicomTest, NumbersKeepTheirPointWhereTheLocaleHasAComma) {
  create(folder_ / "point", tilted, "CT");
  const test::CommaLocale comma;
  if (!comma.is_set()) GTEST_SKIP() << "the package locales is not installed";
  create(folder_ / "comma", tilted, "CT");
  for (const DcmTagKey& tag : {DCM_PixelSpacing, DCM_ImagePositionPatient, DCM_ImageOrientationPatient}) {
    EXPECT_EQ(dicom_text(folder_ / "comma/slice_0001.dcm", tag), dicom_text(folder_ / "point/slice_0001.dcm", tag));
  }
}

TEST_F(CreateDicomTest, ADiskThatFillsUpIsNamedAsSuch) {
  for (const rlim_t most : {2000, 9000}) {  // within what is written at once, and before
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{most, most};
      setrlimit(RLIMIT_FSIZE, &limit);
      std::string message;
      try {
        create(folder_ / "series", {.extent = {{64, 64, 2}}}, "CT");
      } catch (const Error& error) {
        if (error.code() == Errc::not_writable) message = error.what();
      }
      const bool is_right = message.find("series/slice_000") != std::string::npos &&
                            message.find("dcm: cannot be written: the system took less") != std::string::npos;
      if (!is_right) std::fprintf(stderr, "%s\n", message.c_str());
      _exit(is_right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << most;
  }
}

TEST_F(CreateDicomTest, MammogramIsOneSlice) {
  create(folder_ / "mg", flat, "MG");
  const auto image = open_image(folder_ / "mg", {});
  EXPECT_EQ(test::read_volume(*image).voxels[29], 29);
  EXPECT_EQ(dicom_text(folder_ / "mg/slice_0001.dcm", DCM_PresentationIntentType), "FOR PRESENTATION");
  expect_error(Errc::invalid_argument, "one slice", [&] { create(folder_ / "mg3", tilted, "MG"); });
}

TEST_F(CreateDicomTest, ObjectsAreValid) {
  for (const std::string modality : {"CT", "MR", "MG"}) {
    create(folder_ / modality, modality == "MG" ? flat : tilted, modality);
    const auto verdict = dciodvfy(folder_ / modality / "slice_0001.dcm");
    if (!verdict) GTEST_SKIP() << "dciodvfy (package dicom3tools) is not installed";
    EXPECT_EQ(verdict->find("Error"), std::string::npos) << *verdict;
  }
}

TEST_F(CreateDicomTest, IdentifiersDependOnTheImageOnly) {
  create(folder_ / "a", tilted, "CT");
  create(folder_ / "b", tilted, "CT");
  create(folder_ / "other", tilted, "CT", 1);
  std::set<std::string> instances;
  for (const std::string name : {"slice_0001.dcm", "slice_0002.dcm", "slice_0003.dcm"}) {
    for (const DcmTagKey& tag : {DCM_SOPInstanceUID, DCM_SeriesInstanceUID, DCM_StudyInstanceUID}) {
      EXPECT_EQ(dicom_text(folder_ / "a" / name, tag), dicom_text(folder_ / "b" / name, tag));
      EXPECT_NE(dicom_text(folder_ / "a" / name, tag), dicom_text(folder_ / "other" / name, tag));
    }
    instances.insert(dicom_text(folder_ / "a" / name, DCM_SOPInstanceUID));
  }
  EXPECT_EQ(instances.size(), 3u);
}

TEST_F(CreateDicomTest, ValuesAreRoundedAndClamped) {
  Geometry geometry = flat;
  geometry.extent = {{5, 1, 1}};
  const auto writer = create_dicom(folder_ / "ct", geometry, "CT", {});
  writer->begin_volume(0, {});
  const std::array values = {-5000.0f, -1024.0f, 0.4f, 0.5f, 5000.0f};
  writer->write({values.data(), geometry.extent});
  EXPECT_EQ(writer->commit().clamped, 2);
  EXPECT_EQ(test::dicom_cells(folder_ / "ct/slice_0001.dcm"), (std::vector<std::uint16_t>{0, 0, 1024, 1025, 4095}));
}

TEST_F(CreateDicomTest, LeavesNothingWithoutCommit) {
  {
    const auto writer = create_dicom(folder_ / "ct", flat, "CT", {});
    writer->begin_volume(0, {});
    expect_error(Errc::internal, "not all", [&] { writer->commit(); });
    const std::vector<float> values(30, std::numeric_limits<float>::quiet_NaN());
    expect_error(Errc::unsupported, "without a value", [&] { writer->write({values.data(), flat.extent}); });
  }
  expect_error(Errc::invalid_argument, "CT, MR or MG", [&] { create(folder_ / "us", flat, "US"); });
  EXPECT_TRUE(folder_.names().empty());
}

}  // namespace
}  // namespace quietvox::io
