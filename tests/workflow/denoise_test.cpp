// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The calls behind the command line. What the commands do with files, tests/cli shows.
#include "workflow/denoise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <random>

#include "core/swapped_volume.hpp"
#include "filters/registry.hpp"
#include "io/create.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/temporary_folder.hpp"
#include "support/volumes.hpp"
#include "workflow/unfiltered_volumes.hpp"

namespace quietvox::test {
namespace {

constexpr Extent extent{{48, 40, 24}};

/// A bright box in the dark, with white noise.
std::vector<float> noisy_box(float sigma) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise;
  std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
  for (float& voxel : voxels) voxel = sigma * noise(random);
  const VolumeView<float> view{voxels.data(), extent};
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) view.at(x, y, z) += x > 12 && x < 36 && y > 10 && y < 30 ? 800 : 200;
    }
  }
  return voxels;
}

struct Result {
  std::vector<float> voxels;
  VolumeReport report;
};

Result denoised(const std::vector<float>& noisy, const VolumeRequest& request = {}) {
  Result result{std::vector<float>(noisy.size(), -1), {}};
  result.report = denoise({noisy.data(), extent}, {result.voxels.data(), extent}, request);
  return result;
}

FilterConfig filter(const char* name, std::initializer_list<std::pair<const char*, const char*>> values = {}) {
  FilterConfig settings(find_filter(name));
  for (const auto& [key, value] : values) settings.set(key, value);
  return settings;
}

void write_nifti(const std::filesystem::path& path, const std::vector<float>& voxels,
                 const io::WriteOptions& options = {}) {
  io::Geometry geometry;
  geometry.extent = extent;
  const auto writer = io::create_nifti(path, geometry, 1, options);
  writer->begin_volume(0, {});
  writer->write({voxels.data(), extent});
  writer->commit();
}

/// 16-bit numbers, of which real values are `slope` times as large.
void write_integers(const std::filesystem::path& path, const std::vector<float>& numbers, float slope) {
  write_nifti(path, numbers, {.force = true, .output_type = io::ScalarType::int16});
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(112);  // scl_slope
  file.write(reinterpret_cast<const char*>(&slope), sizeof slope);
}

std::vector<float> read_nifti(const std::filesystem::path& path) {
  const auto image = io::open_image(path, {});
  std::vector<float> voxels(static_cast<std::size_t>(image->geometry(0).extent.voxels()));
  image->volume(0, io::VoxelDomain::real)->read({voxels.data(), image->geometry(0).extent});
  return voxels;
}

TEST(Workflow, AVolumeInMemoryIsDenoisedWithoutBeingToldAnything) {
  const std::vector<float> clean = noisy_box(0), noisy = noisy_box(20);
  const Result result = denoised(noisy);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    before += std::pow(noisy[i] - clean[i], 2);
    after += std::pow(result.voxels[i] - clean[i], 2);
  }
  EXPECT_LT(std::sqrt(after / before), 0.4);
  ASSERT_EQ(result.report.volume.noise.size(), 1U);
  EXPECT_NEAR(result.report.volume.noise[0].sigma, 20, 2);
  EXPECT_EQ(result.report.volume.filters.at(0).filter().name, "bm4d");
  EXPECT_EQ(result.report.backend, "cpu");
}

TEST(Workflow, MemoryAndFilesGiveTheSameVoxels) {
  const TemporaryFolder folder;
  const std::vector<float> noisy = noisy_box(20);
  write_nifti(folder / "in.nii", noisy);
  for (const auto& filters : {std::vector<FilterConfig>{}, {filter("median")}, {filter("gaussian"), filter("nlm")}}) {
    denoise({.input = folder / "in.nii", .output = folder / "out.nii", .filters = filters, .out = {.force = true}});
    EXPECT_EQ(read_nifti(folder / "out.nii"), denoised(noisy, {.filters = filters}).voxels)
        << (filters.empty() ? "denoise" : describe_chain(filters));
  }
}

TEST(Workflow, NoiseThatGrowsWithTheValueIsStabilisedAlikeInMemoryAndInFiles) {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  std::vector<float> counts = noisy_box(0);
  for (float& voxel : counts) voxel = 2 * static_cast<float>(std::poisson_distribution<int>(voxel / 2)(random));
  write_nifti(folder / "in.nii", counts);
  for (const auto choice : {Stabilise::automatic, Stabilise::none, Stabilise::poisson}) {
    const Result result = denoised(counts, {.stabilise = choice});
    const std::string stabilised = choice == Stabilise::none ? "" : "Poisson noise";
    EXPECT_EQ(result.report.volume.stabilised, stabilised);
    const NoiseModel& noise = result.report.volume.noise.at(0);
    EXPECT_EQ(noise.distribution, NoiseDistribution::poisson);
    EXPECT_NEAR(noise.poisson.gain, 2, 0.2);
    const auto report = denoise(
        {.input = folder / "in.nii", .output = folder / "out.nii", .stabilise = choice, .out = {.force = true}});
    EXPECT_EQ(report.first().stabilised, stabilised);
    EXPECT_EQ(read_nifti(folder / "out.nii"), result.voxels);
  }
}

/// A median makes the same of values that are stabilised and of those that are not; a Gaussian does not.
TEST(Workflow, AMedianMayFollowWhereNoiseIsStabilised) {
  std::mt19937 random(3);
  std::vector<float> counts = noisy_box(0);
  for (float& voxel : counts) voxel = 2 * static_cast<float>(std::poisson_distribution<int>(voxel / 2)(random));
  const auto stabilised = [&](const char* second) {
    return denoised(counts, {.filters = {filter("nlm"), filter(second)}}).report.volume.stabilised;
  };
  EXPECT_EQ(stabilised("median"), "Poisson noise");
  EXPECT_EQ(stabilised("gaussian"), "");
}

/// Of a radiograph whose rays are counted, air tells the noise best, and a mask hides it. The object's texture is as
/// fine as noise.
TEST(Workflow, AMaskHidesNoAirOfARadiograph) {
  const TemporaryFolder folder;
  constexpr int columns = 240, object = 130;
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  DicomSpec spec{.columns = std::uint16_t{columns},
                 .rows = std::uint16_t{columns},
                 .bits_stored = 16,
                 .position = {},
                 .slope = "",
                 .intercept = "",
                 .more = {{DCM_Modality, "DX"},
                          {DCM_PhotometricInterpretation, "MONOCHROME1"},
                          {DCM_PixelIntensityRelationship, "LIN"}}};
  std::vector<float> mask;
  for (int i = 0; i < columns * columns; ++i) {
    const bool is_object = i % columns < object;
    const double value = is_object ? 900 + 12 * normal(random) : 9000;
    spec.cells.push_back(static_cast<std::uint16_t>(std::lround(value + std::sqrt(0.03 * value) * normal(random))));
    mask.push_back(is_object ? 1 : 0);
  }
  write_dicom(folder / "in.dcm", spec);
  const auto writer =
      io::create_nifti(folder / "mask.nii", io::open_dicom(folder / "in.dcm", {})->geometry(0), 1, {.force = true});
  writer->begin_volume(0, {});
  writer->write({mask.data(), {{columns, columns, 1}}});
  writer->commit();
  const auto noise_with = [&](const MaskOptions& options) {
    return denoise({.input = folder / "in.dcm", .output = folder / "out.dcm", .mask = options, .out = {.force = true}})
        .first()
        .noise.at(0);
  };
  const NoiseModel masked = noise_with({.mask = folder / "mask.nii"});
  EXPECT_EQ(masked.distribution, NoiseDistribution::poisson);
  EXPECT_EQ(masked.sigma, noise_with({}).sigma);
}

/// As gaps in a transfer leave them, or programs that pad a volume.
TEST(Workflow, BlankSlicesStayAndCountForNobody) {
  const TemporaryFolder folder;
  const std::vector<float> noisy = noisy_box(20);
  const auto slice = static_cast<std::size_t>(extent.slice());
  std::vector<float> blank = noisy;
  for (const std::size_t z : {0, 1, 11, 23})
    std::fill_n(blank.begin() + static_cast<std::ptrdiff_t>(z * slice), slice, 0);
  std::vector<float> missing = blank;
  for (float& voxel : missing) voxel = voxel == 0 ? std::numeric_limits<float>::quiet_NaN() : voxel;
  const auto tells = [](const Message& warning) {
    return warning.text().starts_with("slice 12 holds one value, although the slices beside it hold an image");
  };
  for (const auto& filters :
       {std::vector<FilterConfig>{}, {filter("median", {{"radius", "1x1x1"}})}, {filter("gaussian")}}) {
    const std::string name = filters.empty() ? "denoise" : describe_chain(filters);
    const Result result = denoised(blank, {.filters = filters});
    const std::vector<float> expected = denoised(missing, {.filters = filters}).voxels;
    for (std::size_t i = 0; i < blank.size(); ++i) {
      ASSERT_EQ(result.voxels[i], blank[i] == 0 ? 0 : expected[i]) << name << i;
    }
    EXPECT_EQ(std::ranges::count_if(result.report.warnings, tells), 1) << name;

    write_nifti(folder / "in.nii", blank, {.force = true});
    for (const bool dry_run : {true, false}) {
      const auto report = denoise({.input = folder / "in.nii",
                                   .output = folder / "out.nii",
                                   .filters = filters,
                                   .out = {.force = true, .dry_run = dry_run}});
      EXPECT_EQ(std::ranges::count_if(report.warnings, tells), 1) << name;
    }
    EXPECT_EQ(read_nifti(folder / "out.nii"), result.voxels) << name;
  }
}

TEST(Workflow, VoxelsOutsideTheMaskAndMissingOnesStayAndCountForNobody) {
  std::vector<float> noisy = noisy_box(20), mask(noisy.size(), 1);
  noisy[5000] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 20000; i < 30000; ++i) mask[i] = 0;
  const VolumeRequest request{.filters = {filter("gaussian", {{"sigma", "1.5"}})}, .mask = {mask.data(), extent}};
  const Result result = denoised(noisy, request);
  EXPECT_TRUE(std::isnan(result.voxels[5000]));
  for (std::size_t i = 20000; i < 30000; ++i) ASSERT_EQ(result.voxels[i], noisy[i]) << i;
  std::vector<float> others = noisy;
  for (std::size_t i = 20000; i < 30000; ++i) others[i] = 1e6F;
  const Result again = denoised(others, request);
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    if (i != 5000 && mask[i] != 0) {
      ASSERT_EQ(again.voxels[i], result.voxels[i]) << i;
    }
  }
}

/// What is narrow inside a mask is no writing in a background.
TEST(Workflow, ANarrowMaskOfASliceIsFiltered) {
  constexpr Extent size{{256, 256, 1}};
  std::mt19937 random(4);
  std::normal_distribution<float> noise(0, 20);
  std::vector<float> noisy(static_cast<std::size_t>(size.voxels())), mask(noisy.size()), result(noisy.size());
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    const std::size_t x = i % 256;
    noisy[i] = (x / 64 % 2 == 0 ? 200.F : 1000.F) + noise(random);
    mask[i] = x % 64 < 3 || x % 64 > 60 ? 1 : 0;
  }
  denoise({noisy.data(), size}, {result.data(), size}, {.mask = {mask.data(), size}});
  double inside = 0, changed = 0;
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    inside += mask[i];
    if (mask[i] > 0 && result[i] != noisy[i]) ++changed;
  }
  EXPECT_GT(changed, 0.95 * inside);
}

/// What lies outside the mask is a picture, too. What is lost inside is told.
TEST(Workflow, AFlatPartInsideAMaskLosesNoPicture) {
  const TemporaryFolder folder;
  std::vector<float> numbers = noisy_box(1), mask(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::round(numbers[i]);
    mask[i] = i < 5000 ? 1 : 0;
    if (i < 5000) numbers[i] = i % 7 == 0 ? 101.F : 100.F;
  }
  write_integers(folder / "in.nii", numbers, 1);
  write_nifti(folder / "mask.nii", mask);
  DenoiseRequest request{
      .input = folder / "in.nii", .output = folder / "out.nii", .filters = {filter("gaussian", {{"sigma", "4"}})}};
  request.mask.mask = folder / "mask.nii";
  const auto warnings = denoise(request).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].text().find("would all be stored as 100"), std::string::npos) << warnings[0].text();
}

/// Air, whose noise is the same, tells the sigma of magnitudes whose signal is as weak as it.
TEST(Workflow, WhoAsksForRicianSaysThatVoxelsAreMagnitudes) {
  constexpr double sigma = 150;
  const std::vector<float> box = noisy_box(0);
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, sigma);
  std::vector<float> magnitudes;
  for (std::size_t i = 0; i < box.size(); ++i) {
    const double signal = box[i] < 500 ? 0 : i % 3 == 0 ? 250 : 180;
    magnitudes.push_back(static_cast<float>(std::hypot(signal + noise(random), noise(random))));
  }
  const auto measured = [](const Result& result) { return result.report.volume.noise.at(0).sigma; };
  const double asked = measured(denoised(magnitudes, {.stabilise = Stabilise::rician}));
  EXPECT_NEAR(asked, sigma, 0.05 * sigma);
  EXPECT_EQ(asked, measured(denoised(magnitudes, {.header = {.kind = DataKind::magnitude}})));
  EXPECT_LT(measured(denoised(magnitudes)), 0.95 * sigma);  // counts, for all that is known

  const TemporaryFolder folder;
  write_nifti(folder / "in.nii", magnitudes);
  const DenoiseReport report =
      denoise({.input = folder / "in.nii", .output = folder / "out.nii", .stabilise = Stabilise::rician});
  EXPECT_EQ(report.volumes.at(0).noise.at(0).sigma, asked);
  const std::vector<FilterConfig> two{filter("dct"), filter("nlm")};
  denoise({.input = folder / "in.nii", .output = folder / "two.nii", .filters = two, .stabilise = Stabilise::rician});
  EXPECT_EQ(read_nifti(folder / "two.nii"),
            denoised(magnitudes, {.filters = two, .stabilise = Stabilise::rician}).voxels);
}

TEST(Workflow, ABackgroundThatWasCutOutStaysZero) {
  const std::vector<float> box = noisy_box(0);
  for (const bool is_whole : {false, true}) {
    std::vector<float> noisy = noisy_box(20);
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      if (is_whole) noisy[i] = std::round(noisy[i]);
      if (box[i] < 500) noisy[i] = 0;
    }
    const Result result = denoised(noisy);
    EXPECT_TRUE(result.report.volume.noise.at(0).masked);
    EXPECT_GT(result.report.volume.noise[0].sigma, 10);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < noisy.size(); ++i) {
      if (noisy[i] == 0) {
        ASSERT_EQ(result.voxels[i], 0) << i << (is_whole ? " of whole numbers" : "");
      } else {
        changed += result.voxels[i] != noisy[i];
      }
    }
    EXPECT_GT(changed, 1000U);
  }
}

/// A dotted line beside the object, as of a scale: it was filtered with what lies between, and gone.
TEST(Workflow, MarksInABackgroundThatWasCutOutStay) {
  constexpr Extent size{{128, 128, 4}};
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 12);
  std::vector<float> noisy(static_cast<std::size_t>(size.voxels())), result(noisy.size());
  const VolumeView<float> slices{noisy.data(), size}, filtered{result.data(), size};
  const auto is_object = [](std::int64_t x, std::int64_t y) { return x >= 20 && x < 84 && y >= 20 && y < 108; };
  const auto is_mark = [](std::int64_t x, std::int64_t y) { return x == 108 && y % 5 == 0; };
  const auto for_each_voxel = [&](const auto& take) {
    for (std::int64_t i = 0; i < size.voxels(); ++i) take(i % 128, i / 128 % 128, i / size.slice());
  };
  for_each_voxel([&](std::int64_t x, std::int64_t y, std::int64_t z) {
    if (is_object(x, y)) slices.at(x, y, z) = std::round(100.0F + (x > 50 ? 60.0F : 0.0F) + noise(random));
    if (is_mark(x, y)) slices.at(x, y, z) = 60;
  });
  denoise({noisy.data(), size}, {result.data(), size});
  for_each_voxel([&](std::int64_t x, std::int64_t y, std::int64_t z) {
    if (is_mark(x, y)) {
      ASSERT_NEAR(filtered.at(x, y, z), 60, 10) << y << " " << z;
    } else if (!is_object(x, y)) {
      ASSERT_EQ(filtered.at(x, y, z), 0) << x << " " << y << " " << z;
    }
  });
}

/// `background`: of a picture with digits beside it, as of ultrasound: `0.83` became `0.88`. `behind`: of the digits.
void expect_digits_to_stay(float background, float behind, std::optional<float> panel = {}) {
  constexpr Extent size{{160, 128, 1}};
  // Halftones as of smoothed letters stand between the strokes: 5 is half of 9.
  constexpr std::array<std::array<std::string_view, 7>, 2> digits{{
      {"59995.", "95.59.", "...95.", ".599..", "...95.", "95.59.", "59995."},
      {"59995.", "95559.", "95559.", "59995.", "95559.", "95559.", "59995."},
  }};
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 12);
  std::vector<float> noisy(static_cast<std::size_t>(size.voxels()), background), result(noisy.size());
  const VolumeView<float> picture{noisy.data(), size};
  for (std::int64_t y = 10; y < 96; ++y) {
    for (std::int64_t x = 20; x < 140; ++x)
      picture.at(x, y, 0) = std::round((x > 80 ? 160.0F : 100.0F) + noise(random));
  }
  std::fill(noisy.begin() + 100 * size.x, noisy.end(), behind);
  if (panel) std::fill(noisy.begin(), noisy.begin() + 10 * size.x, *panel);
  std::vector<std::size_t> written;
  for (std::int64_t letter = 0; letter < 20; ++letter) {
    for (std::int64_t y = 0; y < 7; ++y) {
      for (std::int64_t x = 0; x < 6; ++x) {
        const char shade =
            digits[static_cast<std::size_t>(letter % 2)][static_cast<std::size_t>(y)][static_cast<std::size_t>(x)];
        const std::int64_t at = (110 + y) * size.x + 16 + letter * 6 + x;
        if (shade == '.') continue;
        noisy[static_cast<std::size_t>(at)] = static_cast<float>(shade - '0') * 28;
        written.push_back(static_cast<std::size_t>(at));
      }
    }
  }
  const VolumeReport report = denoise({noisy.data(), size}, {result.data(), size});
  EXPECT_EQ(report.volume.noise.at(0).masked, !std::isnan(background) || panel);
  for (const std::size_t at : written) ASSERT_EQ(result[at], noisy[at]) << at;
  for (std::size_t at = 100 * static_cast<std::size_t>(size.x); at < noisy.size(); ++at) {
    if (!std::isnan(behind)) {
      ASSERT_EQ(result[at], noisy[at]) << at;
    }
  }
  double error = 0;
  for (std::int64_t y = 20; y < 86; ++y) {
    for (std::int64_t x = 100; x < 130; ++x) {
      error += std::pow(result[static_cast<std::size_t>(y * size.x + x)] - 160, 2) / (66 * 30);
    }
  }
  EXPECT_LT(std::sqrt(error), 4);
}

TEST(Workflow, DigitsInABackgroundThatWasCutOutStay) { expect_digits_to_stay(0, 0); }

/// As of the controls of a machine, whose picture lies on black.
TEST(Workflow, DigitsInAPanelBesideAnImageStay) { expect_digits_to_stay(0, 90); }

/// As pixel padding of DICOM is.
TEST(Workflow, DigitsInABackgroundThatIsMissingStay) {
  constexpr float missing = std::numeric_limits<float>::quiet_NaN();
  expect_digits_to_stay(missing, missing);
  expect_digits_to_stay(missing, missing, 90);  // with a panel elsewhere
}

/// Fingers, or folds of a brain whose skull was taken off, are no letters.
TEST(Workflow, NarrowTissueInABackgroundThatWasCutOutIsFiltered) {
  constexpr Extent size{{160, 128, 1}};
  std::mt19937 random(8);
  std::normal_distribution<float> noise(0, 12);
  std::vector<float> noisy(static_cast<std::size_t>(size.voxels())), result(noisy.size());
  const auto is_finger = [](std::int64_t x, std::int64_t y) { return y >= 64 && y < 120 && x >= 20 && x % 20 < 7; };
  const auto is_palm = [](std::int64_t x, std::int64_t y) { return y >= 4 && y < 56 && x >= 20 && x < 140; };
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    if (is_finger(i % size.x, i / size.x) || is_palm(i % size.x, i / size.x)) {
      noisy[static_cast<std::size_t>(i)] = std::round(150 + noise(random));
    }
  }
  const VolumeReport report = denoise({noisy.data(), size}, {result.data(), size});
  ASSERT_TRUE(report.volume.noise.at(0).masked);
  double error = 0, count = 0;
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    if (!is_finger(i % size.x, i / size.x)) continue;
    error += std::pow(result[static_cast<std::size_t>(i)] - 150, 2);
    ++count;
  }
  EXPECT_LT(std::sqrt(error / count), 5);
}

/// As in nuclear medicine: nothing outside the field of view, and few counts in parts of it, most of which are 0.
TEST(Workflow, LowCountsBesideACutOutBackgroundAreNoBackground) {
  constexpr Extent size{{96, 96, 12}};
  const auto expected = [](std::int64_t i) {
    const auto x = i % 96 - 48, y = i / 96 % 96 - 48;
    return x * x + y * y > 40 * 40 ? 0.0 : x < -10 ? 0.1 : x < 0 ? 0.05 : y < 0 ? 15.0 : 40.0;
  };
  std::mt19937 random(5);
  std::vector<float> counts, result(static_cast<std::size_t>(size.voxels()));
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    const double mean = expected(i);
    counts.push_back(mean > 0 ? static_cast<float>(std::poisson_distribution<int>(mean)(random)) : 0.F);
  }
  const VolumeReport report = denoise({counts.data(), size}, {result.data(), size});
  EXPECT_TRUE(report.volume.noise.at(0).masked);
  for (const double mean : {0.05, 0.1, 15.0, 40.0}) {
    double before = 0, after = 0;
    for (std::int64_t i = 0; i < size.voxels(); ++i) {
      if (expected(i) != mean) continue;
      before += counts[static_cast<std::size_t>(i)];
      after += result[static_cast<std::size_t>(i)];
    }
    EXPECT_NEAR(after / before, 1, mean < 1 ? 0.2 : 0.02) << mean;
  }
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(result[i], 0) << i;  // far from all counts
}

/// A CT: air, noisy and cut off at -1024, and a body; -1024 outside the scan circle, and in a slit two voxels
/// wide that leads into it.
TEST(Workflow, AFloorThatCutsOffNoiseIsNoBackground) {
  constexpr Extent size{{96, 96, 12}};
  enum Part { outside, air, body };
  const auto part = [](std::int64_t i) {
    const auto x = i % 96 - 48, y = i / 96 % 96 - 48, radius2 = x * x + y * y;
    const bool is_slit = x > 30 && (y == 0 || y == 1);
    return radius2 > 46 * 46 || is_slit ? outside : radius2 > 22 * 22 ? air : body;
  };
  for (const bool is_whole : {false, true}) {
    std::mt19937 random(5);
    std::normal_distribution<float> noise(0, 60);
    std::vector<float> noisy(static_cast<std::size_t>(size.voxels())), result(noisy.size());
    for (std::int64_t i = 0; i < size.voxels(); ++i) {
      float& voxel = noisy[static_cast<std::size_t>(i)];
      voxel = part(i) == outside ? -1024 : std::max((part(i) == body ? 40.F : -1000.F) + noise(random), -1024.F);
      if (is_whole) voxel = std::round(voxel);
    }
    denoise({noisy.data(), size}, {result.data(), size}, {.header = {.kind = DataKind::scalar}});
    double count = 0, cut = 0;
    for (std::int64_t i = 0; i < size.voxels(); ++i) {
      const float value = result[static_cast<std::size_t>(i)];
      if (part(i) == outside) {
        ASSERT_EQ(value, -1024) << i;
      }
      if (part(i) == air) {
        ++count;
        cut += value == -1024;
      }
    }
    EXPECT_LT(cut / count, 0.05) << is_whole;
  }
}

TEST(Workflow, WholeNumbersTooCoarseForTheValuesAreToldOf) {
  for (const float scale : {1e-5F, 0.02F, 1.F, 1e6F}) {
    const TemporaryFolder folder;
    std::vector<float> noisy = noisy_box(20);
    for (float& voxel : noisy) voxel *= scale;
    write_nifti(folder / "in.nii", noisy);
    for (const char* output : {"out.nii", "other.mha"}) {
      DenoiseRequest request{.input = folder / "in.nii",
                             .output = folder / output,
                             .filters = {filter("gaussian")},
                             .out = {.output_type = OutputType::int16, .force = true}};
      if (scale < 1e-3F || scale > 1) {  // nothing is left
        const std::string text = "would all be stored as " + std::string(scale > 1 ? "32767" : "0");
        expect_error(Errc::invalid_argument, text, [&] { denoise(request); });
        EXPECT_FALSE(std::filesystem::exists(request.output));
        request.out.dry_run = true;
        expect_error(Errc::invalid_argument, text, [&] { denoise(request); });
        continue;
      }
      const auto warnings = denoise(request).warnings;
      ASSERT_EQ(warnings.size(), scale < 1 ? 1U : 0U);
      if (scale == 1) continue;
      const std::string text = warnings[0].text();
      EXPECT_NE(text.find("whole numbers"), std::string::npos) << text;
      EXPECT_NE(text.find("give output-type float32"), std::string::npos) << text;
    }
  }
  const TemporaryFolder folder;
  std::vector<float> whole = noisy_box(20);
  for (float& voxel : whole) voxel = std::round(voxel / 40);
  write_nifti(folder / "in.nii", whole);
  const DenoiseRequest median{.input = folder / "in.nii",
                              .output = folder / "out.nii",
                              .filters = {filter("median")},
                              .out = {.output_type = OutputType::int16, .force = true}};
  EXPECT_TRUE(denoise(median).warnings.empty());
}

/// An output keeps the type of its input. What a filter makes of small whole numbers may be lost in it.
TEST(Workflow, ATypeThatIsKeptLosesNoPictureInSilence) {
  for (const float slope : {1.F, 0.5F}) {
    const TemporaryFolder folder;
    std::mt19937 random(7);
    std::poisson_distribution<int> counts(0.1);
    std::vector<float> few(static_cast<std::size_t>(extent.voxels()));
    for (float& count : few) count = static_cast<float>(counts(random));
    write_integers(folder / "in.nii", few, slope);
    DenoiseRequest request{
        .input = folder / "in.nii", .output = folder / "out.nii", .filters = {filter("gaussian", {{"sigma", "4"}})}};
    expect_error(Errc::invalid_argument, "would all be stored as 0", [&] { denoise(request); });
    EXPECT_FALSE(std::filesystem::exists(request.output));
    request.out.output_type = OutputType::float32;
    EXPECT_TRUE(denoise(request).warnings.empty());
    request.out.force = true;
    request.out.output_type = OutputType::same;
    few.front() = 10000;  // hides nothing
    request.filters = {filter("gaussian", {{"sigma", "1"}})};
    write_integers(folder / "in.nii", few, slope);
    const auto warnings = denoise(request).warnings;
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].text().find(slope == 1 ? "whole numbers" : "steps of 0.5"), std::string::npos)
        << warnings[0].text();
    std::ranges::fill(few, 31000.F);
    write_integers(folder / "in.nii", few, slope);
    EXPECT_TRUE(denoise(request).warnings.empty());
  }
}

/// What the voxels are is looked at in a dry run where the run would fail for it.
TEST(Workflow, ADryRunRefusesTheVoxelsThatTheRunRefuses) {
  const TemporaryFolder folder;
  std::vector<float> voxels = noisy_box(20);
  DenoiseRequest request{.input = folder / "in.nii", .output = folder / "out.nii"};
  const auto expect = [&](Errc code, const std::string& text) {
    write_nifti(request.input, voxels);
    for (const bool dry_run : {false, true}) {
      request.out.dry_run = dry_run;
      expect_error(code, text, [&] { denoise(request); });
    }
    std::filesystem::remove(request.input);
  };
  voxels[7] = -3;
  request.filters = {filter("nlm", {{"noise-model", "rician"}})};
  expect(Errc::invalid_argument, "is for magnitudes, which are never negative");
  for (std::size_t i = 0; i < voxels.size(); i += 50) voxels[i] = -3;
  request.filters = {filter("nlm")};
  request.stabilise = Stabilise::rician;
  expect(Errc::invalid_argument, "is for magnitudes, which are never negative");
  std::vector<float> mask(voxels.size());
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    mask[i] = i % 1000 == 0 ? 1 : 0;
    if (i % 1000 != 0) voxels[i] = std::abs(voxels[i]);
  }
  write_nifti(folder / "mask.nii", mask);
  request.mask.mask = folder / "mask.nii";  // all that is filtered is negative
  expect(Errc::invalid_argument, "is for magnitudes, which are never negative");
  request.mask.mask.clear();
  request.stabilise = Stabilise::automatic;
  voxels[8] = std::numeric_limits<float>::quiet_NaN();
  request.out.output_type = OutputType::int16;
  expect(Errc::unsupported, "voxels that are not finite, which int16 cannot store");
  request.filters.clear();
  expect(Errc::unsupported, "voxels that are not finite, which int16 cannot store");
}

TEST(Workflow, ADryRunOfTheChosenFilterTellsWhatTheRunDoes) {
  const TemporaryFolder folder;
  std::vector<float> noisy = noisy_box(20), mask(noisy.size(), 0);
  for (std::size_t i = noisy.size() / 2; i < noisy.size(); ++i) {
    mask[i] = 1;
    noisy[i] += 10000;
  }
  write_nifti(folder / "in.nii", noisy);
  write_nifti(folder / "mask.nii", mask);
  DenoiseRequest request{.input = folder / "in.nii", .output = folder / "out.nii"};
  request.mask.mask = folder / "mask.nii";
  request.out.dry_run = true;
  const DenoiseReport dry = denoise(request);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.nii"));
  request.out.dry_run = false;
  const DenoiseReport run = denoise(request);
  EXPECT_TRUE(std::filesystem::exists(folder / "out.nii"));
  EXPECT_EQ(describe_chain(dry.volumes.at(0).filters), describe_chain(run.volumes.at(0).filters));
  EXPECT_EQ(dry.volumes[0].noise.at(0).describe(), run.volumes[0].noise.at(0).describe());
}

TEST(Workflow, TellsOfProgressAndStops) {
  const std::vector<float> noisy = noisy_box(20);
  std::vector<float> out(noisy.size());
  double done = 0;
  denoise({noisy.data(), extent}, {out.data(), extent}, {.filters = {filter("median")}},
          {.progress = [&](double fraction) { done = std::max(done, fraction); }});
  EXPECT_EQ(done, 1);
  std::stop_source stop;
  stop.request_stop();
  expect_error(Errc::cancelled, "stopped", [&] {
    denoise({noisy.data(), extent}, {out.data(), extent}, {.filters = {filter("median")}}, {.stop = stop.get_token()});
  });
}

TEST(Workflow, AnEndOfMemoryIsAnError) {
  std::vector<float> voxels = noisy_box(20), result(voxels.size());
  const VolumeView<float> output{result.data(), extent};
  const VolumeView<const float> input{voxels.data(), extent};
  Observer observer;
  observer.progress = [](double) { throw std::bad_alloc(); };
  expect_error(Errc::out_of_memory, "out of memory", [&] { denoise(input, output, {}, observer); });
}

TEST(Workflow, RefusesExtentsThatDiffer) {
  const std::vector<float> noisy = noisy_box(20);
  std::vector<float> out(noisy.size());
  const Extent other{{40, 48, 24}};
  expect_error(Errc::invalid_argument, "output", [&] { denoise({noisy.data(), extent}, {out.data(), other}); });
  expect_error(Errc::invalid_argument, "mask", [&] {
    denoise({noisy.data(), extent}, {out.data(), extent}, {.mask = {noisy.data(), other}});
  });
}

TEST(Workflow, RefusesWhatIsNoVolumeAndNoOption) {
  const std::vector<float> noisy = noisy_box(20);
  std::vector<float> out(noisy.size());
  const auto refused = [&](const std::string& text, const VolumeView<const float>& input,
                           const VolumeRequest& request = {}) {
    expect_error(Errc::invalid_argument, text, [&] { denoise(input, {out.data(), input.extent}, request); });
  };
  for (const double wrong : {-1.0, 0.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    refused("the spacing", {noisy.data(), extent, {1, wrong, 1}});
  }
  refused("the volume is empty", {noisy.data(), {{0, 48, 24}}});
  refused("the volume is empty", {noisy.data(), {{-48, -48, 24}}});
  refused("no voxels in memory", {nullptr, extent});
  expect_error(Errc::invalid_argument, "no voxels in memory", [&] {
    denoise({noisy.data(), extent}, {nullptr, extent});
  });
  refused("threads = '-1' is not allowed", {noisy.data(), extent}, {.execution = {.threads = -1}});
  refused("threads = '100000' is not allowed", {noisy.data(), extent}, {.execution = {.threads = 100000}});
  expect_error(Errc::invalid_argument, "series-offset = '-3' is not allowed",
               [&] { denoise({.input = "in", .output = "out", .out = {.series_offset = -3}}); });
  expect_error(Errc::unsupported, "the kind given is labels", [&] {
    denoise({noisy.data(), extent}, {out.data(), extent}, {.header = {.kind = DataKind::labels}});
  });
}

/// The volume with an axis and z exchanged.
Volume turned(const Volume& volume, int axis) {
  const auto exchanged = [axis](auto values) {
    std::swap(values[axis], values.z);
    return values;
  };
  Volume result(exchanged(volume.extent), exchanged(volume.spacing));
  for (std::int64_t z = 0; z < volume.extent.z; ++z) {
    for (std::int64_t y = 0; y < volume.extent.y; ++y) {
      for (std::int64_t x = 0; x < volume.extent.x; ++x) {
        const Index3 to = exchanged(Index3{x, y, z});
        result.view().at(to.x, to.y, to.z) = volume.view().at(x, y, z);
      }
    }
  }
  return result;
}

/// Magnitudes in thick slices, which programs that reorder axes put along x or y.
TEST(DenoiseVolume, SlicesMayLieAlongAnyAxis) {
  Volume volume(extent, {1, 1, 5});
  volume.voxels = noisy_box(40);
  for (float& voxel : volume.voxels) voxel = std::abs(voxel);
  for (const auto& chain :
       std::vector<std::vector<FilterConfig>>{{},
                                              {filter("dct")},
                                              {filter("dct", {{"block", "4x4x4"}})},
                                              {filter("prinlm")},
                                              {filter("bm4d")},
                                              {filter("quadratic")},
                                              {filter("gaussian", {{"sigma", "1x1x0"}}), filter("bm4d")},
                                              {filter("nlm", {{"search-radius", "2x2x0"}})}}) {
    const std::string name = chain.empty() ? "denoise" : chain.back().filter().name;
    Volume expected = volume;
    const VolumeReport report = denoise(volume.view(), expected.view(), {.filters = chain});
    for (const int axis : {0, 1}) {
      const Volume along_axis = turned(volume, axis);
      const AxisSwap swap({.extent = along_axis.extent, .spacing = along_axis.spacing});
      ASSERT_EQ(swap.axis(), axis);
      Volume result = along_axis;
      const VolumeReport found = denoise(along_axis.view(), result.view(), {.filters = swap(chain)});
      EXPECT_EQ(describe_chain(found.volume.filters), describe_chain(swap(report.volume.filters)));
      ASSERT_EQ(found.volume.noise.size(), report.volume.noise.size());
      for (std::size_t i = 0; i < found.volume.noise.size(); ++i) {
        EXPECT_EQ(found.volume.noise[i].sigma, report.volume.noise[i].sigma) << name << axis;
        EXPECT_EQ(found.volume.noise[i].spectrum.length(), swap(report.volume.noise[i].spectrum.length())) << name;
      }
      const Volume back = turned(result, axis);
      const float allowed = name == "nlm" ? 0.01F : 0;  // windows need not lie in slices: sums have another order
      for (std::size_t i = 0; i < back.voxels.size(); ++i)
        ASSERT_NEAR(back.voxels[i], expected.voxels[i], allowed) << name << axis << " " << i;
    }
  }
}

/// A time series, by its units: mm and seconds.
void write_series(const std::filesystem::path& path, const std::vector<Volume>& volumes, char units = 2 + 8) {
  io::Geometry geometry;
  geometry.extent = volumes.front().extent;
  geometry.spacing = volumes.front().spacing;
  const auto writer = io::create_nifti(path, geometry, volumes.size(), {.force = true});
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    writer->begin_volume(i, {});
    writer->write(volumes[i].view());
  }
  writer->commit();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(123);
  file.put(units);
}

std::vector<VolumeView<const float>> views_of(const std::vector<Volume>& volumes) {
  std::vector<VolumeView<const float>> views;
  for (const Volume& volume : volumes) views.push_back(volume.view());
  return views;
}

/// With a spoilt volume, and with times or without: the noise of each is told by others.
TEST(Workflow, SeriesInMemoryAndInFilesGiveTheSameVoxels) {
  const TemporaryFolder folder;
  std::mt19937 random(9);
  std::normal_distribution<float> noise;
  std::vector<Volume> volumes(5, Volume({{40, 36, 12}}, {1, 1, 3}));
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    for (std::int64_t at = 0; at < volumes[i].view().extent.voxels(); ++at) {
      const float truth = at / 40 % 36 < 16 ? 300.F : 700.F;
      volumes[i].voxels[static_cast<std::size_t>(at)] = truth + (i == 3 ? 80.F : 12.F) * noise(random);
    }
  }
  constexpr char mm_and_seconds = 10, mm_alone = 2;
  std::vector<float> mask_voxels(volumes[0].voxels.size(), 1);
  std::fill_n(mask_voxels.begin(), 3000, 0.F);
  const VolumeView<const float> mask{mask_voxels.data(), volumes[0].extent, volumes[0].spacing};
  Volume mask_volume(volumes[0].extent, volumes[0].spacing);
  mask_volume.voxels = mask_voxels;
  write_series(folder / "mask.nii", {mask_volume});
  for (const bool are_times : {true, false}) {
    write_series(folder / "in.nii", volumes, are_times ? mm_and_seconds : mm_alone);
    for (const auto& filters : {std::vector<FilterConfig>{}, {filter("gaussian"), filter("nlm")}}) {
      const DenoiseReport of_file = denoise(
          {.input = folder / "in.nii", .output = folder / "out.nii", .filters = filters, .out = {.force = true}});
      std::vector<Volume> results(volumes.size(), Volume(volumes[0].extent, volumes[0].spacing));
      std::vector<VolumeView<float>> outputs;
      for (Volume& result : results) outputs.push_back(result.view());
      const SeriesReport report = denoise(views_of(volumes), outputs, {.filters = filters, .are_times = are_times});
      EXPECT_EQ(report.noise_source, of_file.noise_source);
      EXPECT_EQ(report.noise_source.empty(), !are_times);
      ASSERT_EQ(report.volumes.size(), volumes.size());
      ASSERT_EQ(report.warnings.size(), of_file.warnings.size());
      for (std::size_t i = 0; i < report.warnings.size(); ++i) {
        EXPECT_EQ(report.warnings[i].text(), of_file.warnings[i].text());
      }
      const auto image = io::open_image(folder / "out.nii", {});
      for (std::size_t i = 0; i < volumes.size(); ++i) {
        EXPECT_EQ(report.volumes[i].noise.front().sigma, of_file.volumes[i].noise.front().sigma) << i;
        Volume expected(volumes[i].extent, volumes[i].spacing);
        image->volume(i, io::VoxelDomain::real)->read(expected.view());
        EXPECT_TRUE(results[i].voxels == expected.voxels) << i;
      }
      (void)denoise(views_of(volumes), outputs, {.filters = filters, .mask = mask, .are_times = are_times});
      (void)denoise({.input = folder / "in.nii",
                     .output = folder / "masked.nii",
                     .filters = filters,
                     .mask = {.mask = (folder / "mask.nii").string()},
                     .out = {.force = true}});
      const auto masked = io::open_image(folder / "masked.nii", {});
      for (std::size_t i = 0; i < volumes.size(); ++i) {
        EXPECT_TRUE(std::equal(results[i].voxels.begin(), results[i].voxels.begin() + 3000, volumes[i].voxels.begin()));
        EXPECT_NE(results[i].voxels.back(), volumes[i].voxels.back());
        Volume expected(volumes[i].extent, volumes[i].spacing);
        masked->volume(i, io::VoxelDomain::real)->read(expected.view());
        EXPECT_TRUE(results[i].voxels == expected.voxels) << i;
      }
    }
  }
}

TEST(Workflow, RefusesVolumesOfDifferentExtentsAsASeries) {
  std::vector<Volume> volumes{Volume({{8, 8, 4}}, {1, 1, 1}), Volume({{8, 8, 5}}, {1, 1, 1})};
  std::vector<VolumeView<float>> outputs;
  for (Volume& volume : volumes) outputs.push_back(volume.view());
  expect_error(Errc::invalid_argument, "the volumes differ in extent", [&] { denoise(views_of(volumes), outputs); });
  outputs.pop_back();
  expect_error(Errc::invalid_argument, "the outputs are not as many as the inputs",
               [&] { denoise(views_of(volumes), outputs); });
  expect_error(Errc::invalid_argument, "there is no volume",
               [&] { denoise(std::span<const VolumeView<const float>>(), {}); });
}

/// What one volume does not show is told by the others.
TEST(Denoise, ASeriesIsStabilisedByItsOwnNoise) {
  const TemporaryFolder folder;
  std::mt19937 random(6);
  std::normal_distribution<float> noise;
  std::vector<Volume> volumes(4, Volume({{64, 64, 16}}, {1, 1, 1}));
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    for (std::int64_t at = 0; at < volumes[i].view().extent.voxels(); ++at) {
      const float truth = at / 64 % 64 < 32 ? 100.F : 400.F, spread = i == 2 ? 32.F : 2 * std::sqrt(truth);
      volumes[i].voxels[static_cast<std::size_t>(at)] = truth + spread * noise(random);
    }
  }
  write_series(folder / "in.nii", volumes);
  DenoiseRequest request{.input = folder / "in.nii",
                         .output = folder / "out.nii",
                         .filters = {filter("nlm")},
                         .stabilise = Stabilise::poisson};
  request.out.dry_run = true;
  EXPECT_NO_THROW(denoise(request)) << "the run does it";
  request.out.dry_run = false;
  for (const DenoisedVolume& volume : denoise(request).volumes) EXPECT_EQ(volume.stabilised, "Poisson noise");
}

/// Whatever lies about under the name of a preset.
TEST(Denoise, ThePresetOfAFilterIsNoFile) {
  const TemporaryFolder folder;
  write_nifti(folder / "in.nii", noisy_box(20));
  std::filesystem::create_directory(folder / "denoise");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_NO_THROW(
      denoise({.input = "in.nii", .output = folder / "denoise" / "out.nii", .filters = {filter("quadratic")}}));
  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::exists(folder / "denoise" / "out.nii"));
}

/// Noise of counts, of parts so dark that it may be that of magnitudes, and without a step that would tell.
TEST(Denoise, WhoSaysPoissonSaysThatTheseAreCounts) {
  constexpr Extent size{{96, 96, 24}};
  std::mt19937 random(6);
  std::normal_distribution<double> noise;
  std::vector<float> counts, result(static_cast<std::size_t>(size.voxels()));
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    const double mean = i / 96 % 96 < 32 ? 4 : i / 96 % 96 < 64 ? 6 : 9;
    counts.push_back(static_cast<float>(mean + std::sqrt(mean) * noise(random)));
  }
  EXPECT_EQ(denoise({counts.data(), size}, {result.data(), size}).volume.stabilised, "");
  const VolumeReport report = denoise({counts.data(), size}, {result.data(), size}, {.stabilise = Stabilise::poisson});
  EXPECT_EQ(report.volume.stabilised, "Poisson noise");
  EXPECT_NEAR(report.volume.noise.at(0).poisson.gain, 1, 0.1);

  const TemporaryFolder folder;
  Volume volume(size, {1, 1, 1});
  volume.voxels = counts;
  write_series(folder / "in.nii", {volume});
  const DenoiseReport of_file =
      denoise({.input = folder / "in.nii", .output = folder / "out.nii", .stabilise = Stabilise::poisson});
  EXPECT_EQ(of_file.volumes.at(0).stabilised, "Poisson noise");
}

/// A radiograph with wires, darker than any brick of 8 x 8 pixels: by its texture, noise seems to vanish at a value
/// above theirs.
TEST(Denoise, DarkWiresOfARadiographStayDark) {
  constexpr Extent size{{384, 384, 1}};
  const auto is_wire = [](std::int64_t x, std::int64_t y) {
    return y > 60 && y < 320 && std::abs(x - 190 - 8 * std::sin(static_cast<double>(y) / 15)) < 1.5;
  };
  std::mt19937 random(6);
  std::normal_distribution<double> noise;
  std::vector<double> texture(static_cast<std::size_t>(size.voxels()));
  for (double& one : texture) one = noise(random);
  for (const std::size_t step : {1, 384, 1, 384}) {  // smoothed over about 7 pixels
    const std::vector<double> rough = texture;
    for (std::size_t i = 3 * step; i + 3 * step < rough.size(); ++i) {
      texture[i] = 0;
      for (std::size_t j = i - 3 * step; j <= i + 3 * step; j += step) texture[i] += rough[j] / 7;
    }
  }
  std::vector<float> pixels, result(texture.size());
  double before = 0, after = 0, count = 0;
  for (std::int64_t y = 0; y < size.y; ++y) {
    for (std::int64_t x = 0; x < size.x; ++x) {
      const auto [a, b] = std::pair(static_cast<double>(x), static_cast<double>(y));
      const double depth = 1 + 0.45 * std::sin(0.02 * a) + 0.45 * std::sin(0.017 * b) + 0.6 * texture[pixels.size()];
      const double mean = 30000 * std::exp(-depth) * (is_wire(x, y) ? 1e-3 : 1);
      pixels.push_back(static_cast<float>(std::round(1000 + mean + std::sqrt(mean) * noise(random))));
    }
  }
  const VolumeReport report = denoise({pixels.data(), size}, {result.data(), size});
  EXPECT_EQ(report.volume.stabilised, "Poisson noise");
  EXPECT_LT(report.volume.noise.at(0).poisson.at(1020), 0) << report.volume.noise[0].describe();
  for (std::int64_t y = 0; y < size.y; ++y) {
    for (std::int64_t x = 0; x < size.x; ++x) {
      if (!is_wire(x, y)) continue;
      before += pixels[static_cast<std::size_t>(y * size.x + x)];
      after += result[static_cast<std::size_t>(y * size.x + x)];
      ++count;
    }
  }
  EXPECT_NEAR(after / count, before / count, 20);
}

TEST(Denoise, AMaskThatTellsLittleOfTheNoiseLeavesItToTheWhole) {
  const std::vector<float> noisy = noisy_box(20);
  std::vector<float> mask(noisy.size(), 0), result(noisy.size());
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const std::int64_t x = i % extent.x - extent.x / 2, y = i / extent.x % extent.y - extent.y / 2,
                       z = i / extent.slice() - extent.z / 2;
    if (x * x + y * y + z * z <= 16) mask[static_cast<std::size_t>(i)] = 1;
  }
  const double whole = denoise({noisy.data(), extent}, {result.data(), extent}).volume.noise.at(0).sigma;
  std::vector<float> inside = noisy;  // what the mask leaves, and nothing else to measure
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (mask[i] == 0) inside[i] = std::numeric_limits<float>::quiet_NaN();
  }
  const NoiseModel by_itself = denoise({inside.data(), extent}, {result.data(), extent}).volume.noise.at(0);
  EXPECT_LE(by_itself.confidence, Confidence::low);
  EXPECT_NE(by_itself.sigma, whole);
  const VolumeReport report = denoise({noisy.data(), extent}, {result.data(), extent}, {.mask = {mask.data(), extent}});
  EXPECT_EQ(report.volume.noise.at(0).sigma, whole);
  EXPECT_EQ(report.volume.noise[0].confidence, Confidence::medium);
  EXPECT_NE(report.volume.noise[0].reason.find("so the whole volume was measured"), std::string::npos);
}

/// Sigma was 998, with medium confidence, since the mask leaves few parts to go by.
TEST(Denoise, NoiseFarAboveThatInsideAMaskIsOfSomethingElse) {
  constexpr Extent size{{128, 128, 10}};
  std::mt19937 random(8);
  std::normal_distribution<float> noise;
  std::vector<float> noisy, mask, result(static_cast<std::size_t>(size.voxels()));
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    const bool is_inside = i % size.x < 20;
    noisy.push_back(is_inside ? 300 + 20 * noise(random) : 5000 + 1000 * noise(random));
    mask.push_back(is_inside ? 1 : 0);
  }
  const NoiseModel model =
      denoise({noisy.data(), size}, {result.data(), size}, {.mask = {mask.data(), size}}).volume.noise.at(0);
  EXPECT_NEAR(model.sigma, 20, 5);
}

/// Inside a small mask correlated noise looks like structure, and comes out too weak.
TEST(Denoise, CorrelatedNoiseInASmallMaskIsThatOfTheWhole) {
  constexpr Extent size{{64, 64, 16}};
  std::mt19937 random(9);
  std::normal_distribution<float> noise;
  std::vector<float> white, noisy, mask, result(static_cast<std::size_t>(size.voxels()));
  for (std::int64_t i = 0; i < size.voxels(); ++i) white.push_back(noise(random));
  for (std::int64_t i = 0; i < size.voxels(); ++i) {
    const std::int64_t x = i % 64, y = i / 64 % 64, z = i / size.slice();
    double sum = 0, squares = 0;
    for (std::int64_t dy = -3; dy <= 3; ++dy) {
      for (std::int64_t dx = -3; dx <= 3; ++dx) {
        const double weight = std::exp(-static_cast<double>(dx * dx + dy * dy) / 2);
        const std::int64_t at = z * size.slice() + (y + dy + 64) % 64 * 64 + (x + dx + 64) % 64;
        sum += weight * static_cast<double>(white[static_cast<std::size_t>(at)]);
        squares += weight * weight;
      }
    }
    noisy.push_back(static_cast<float>(300 + 20 * sum / std::sqrt(squares)));
    mask.push_back(std::abs(x - 32) < 6 && std::abs(y - 32) < 6 && std::abs(z - 8) < 4 ? 1 : 0);
  }
  const auto sigma = [&](const VolumeView<const float>& inside) {
    const VolumeRequest request{.header = {.kind = DataKind::scalar}, .mask = inside};
    return denoise({noisy.data(), size}, {result.data(), size}, request).volume.noise.at(0).sigma;
  };
  const double of_whole = sigma({});
  EXPECT_NEAR(of_whole, 20, 6);
  EXPECT_EQ(sigma({mask.data(), size}), of_whole);
}

/// Resampling leaves a few negative voxels; a volume of real parts has many.
TEST(Denoise, AFewNegativeVoxelsAreThoseOfMagnitudes) {
  const TemporaryFolder folder;
  std::mt19937 random(6);
  std::normal_distribution<float> noise;
  std::vector<Volume> volumes(4, Volume({{64, 64, 24}}, {1, 1, 1}));
  const std::size_t resampled = 1, real = 3;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    for (std::int64_t at = 0; at < volumes[i].view().extent.voxels(); ++at) {
      const float signal = std::hypot(static_cast<float>(at % 64) - 32, static_cast<float>(at / 64 % 64) - 32) < 20
                               ? 400.F + 40 * std::sin(0.1F * static_cast<float>(at % 64))
                               : 0.F;
      const float part = signal + 20 * noise(random), other = 20 * noise(random);
      volumes[i].voxels[static_cast<std::size_t>(at)] = i == real ? part : std::hypot(part, other);
    }
  }
  for (std::size_t at = 0; at < 64 * 6; at += 64) volumes[resampled].voxels[at] = -0.5F;
  write_series(folder / "in.nii", volumes);
  const DenoiseReport report =
      denoise({.input = folder / "in.nii", .output = folder / "out.nii", .filters = {filter("nlm")}});
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    EXPECT_EQ(report.volumes[i].stabilised, i == real ? "" : "Rician noise") << i;
  }
  std::ifstream sidecar(folder / "out.json");
  const std::string text{std::istreambuf_iterator<char>(sidecar), {}};
  EXPECT_NE(text.find("\"last\": 2"), std::string::npos) << "the last volume has an entry of its own";
}

/// A cine has hundreds of volumes that tell the same.
TEST(Denoise, VolumesWithTheSameWarningShareIt) {
  const TemporaryFolder folder;
  std::mt19937 random(4);
  std::normal_distribution<float> noise;
  Volume volume({{40, 40, 1}}, {1, 1, 1});
  for (float& voxel : volume.voxels) voxel = 1000 + 10 * noise(random);
  constexpr char mm_alone = 2;
  write_series(folder / "in.nii", std::vector<Volume>(7, volume), mm_alone);
  const DenoiseReport report = denoise({.input = folder / "in.nii", .output = folder / "out.nii", .filters = {}});
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_TRUE(report.warnings.front().text().starts_with("volumes 1 to 7: ")) << report.warnings.front().text();
}

TEST(Denoise, VolumesAreListedInRanges) {
  EXPECT_EQ(describe_volumes({2}), "volume 3");
  EXPECT_EQ(describe_volumes({0, 1}), "volumes 1, 2");
  EXPECT_EQ(describe_volumes({0, 3, 4, 5, 8, 9}), "volumes 1, 4 to 6, 9, 10");
}

/// By the noise of the others it would stay as it is, or lose what it shows where it is their mean.
TEST(Denoise, AVolumeUnlikeTheSeriesIsFilteredByItsOwnNoise) {
  const TemporaryFolder folder;
  std::mt19937 random(6);
  std::normal_distribution<float> noise;
  for (const auto& [axis, unlike, level, are_directions] : {std::tuple(2, std::size_t{5}, 80.F, false),
                                                            {0, 3, 80.F, false},
                                                            {2, 0, 80.F, false},
                                                            {2, 3, 4.F, false},
                                                            {2, 5, 4.F, false},
                                                            {2, 0, 2.5F, false},
                                                            {2, 0, 14.F, true}}) {
    std::filesystem::remove(folder / "in.bval");
    if (are_directions) std::ofstream(folder / "in.bval") << "0 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000";
    std::vector<Volume> volumes(12, Volume({{64, 48, 16}}, {1, 1, 5}));
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      for (float& voxel : volumes[i].voxels) voxel = 1000 + (i == unlike ? level : 10.F) * noise(random);
      if (axis != 2) volumes[i] = turned(volumes[i], axis);
    }
    write_series(folder / "in.nii", volumes);
    DenoiseRequest request{.input = folder / "in.nii", .output = folder / "out.nii", .filters = {}};
    request.out.force = true;
    const DenoiseReport report = denoise(request);
    EXPECT_NE(report.noise_source.find("one noise for the series"), std::string::npos) << report.noise_source;
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      const double sigma = i == unlike ? static_cast<double>(level) : 10;
      EXPECT_NEAR(report.volumes[i].noise.front().sigma, sigma, 0.1 * sigma) << i;
    }
    ASSERT_EQ(report.warnings.size(), 1U);
    EXPECT_NE(report.warnings.front().text().find("volume " + std::to_string(unlike + 1) + ": " +
                                                  (level > 10 ? "noisier" : "quieter") + " than the series, and"),
              std::string::npos);
    for (std::size_t i = 0; i < volumes.size(); ++i) EXPECT_EQ(report.volumes[i].is_by_series, i != unlike) << i;
  }
}

/// A filter that asks sees what others before it left.
TEST(Denoise, AQuietVolumeIsFilteredByItsOwnNoiseInAChainToo) {
  const TemporaryFolder folder;
  std::mt19937 random(6);
  std::normal_distribution<float> noise;
  std::vector<Volume> volumes(9, Volume({{64, 48, 16}}, {1, 1, 5}));
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    for (float& voxel : volumes[i].voxels) voxel = 1000 + (i == 0 ? 2.5F : 10.F) * noise(random);
  }
  write_series(folder / "in.nii", volumes);
  DenoiseRequest request{.input = folder / "in.nii", .output = folder / "out.nii", .filters = {}};
  request.filters.emplace_back(find_filter("gaussian")).set("sigma", "0.7");
  request.filters.emplace_back(find_filter("nlm"));
  const DenoiseReport report = denoise(request);
  EXPECT_TRUE(std::ranges::any_of(report.warnings, [](const Message& warning) {
    return warning.text().find("volume 1: quieter than the series") != std::string::npos;
  }));
  const double of_series = report.volumes[1].noise.front().sigma;
  EXPECT_NEAR(report.volumes[0].noise.front().sigma, of_series / 4, 0.1 * of_series / 4);
  for (std::size_t i = 1; i < volumes.size(); ++i) EXPECT_EQ(report.volumes[i].noise.front().sigma, of_series);
}

/// Of a series whose background was cut out, the darkest tissue was taken for air, and became black.
TEST(Denoise, DirectionsWithoutAirKeepTheirDarkTissue) {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 40);
  const auto signal_at = [](std::int64_t i) { return i % 64 < 26 ? 40.F : i % 64 < 42 ? 80.F : 120.F; };
  std::vector<Volume> volumes(4, Volume(Extent{{64, 64, 24}}));
  for (Volume& volume : volumes) {
    for (std::int64_t i = 0; i < volume.extent.voxels(); ++i) {
      const auto x = static_cast<float>(i % 64) - 32, y = static_cast<float>(i / 64 % 64) - 32;
      const float real = signal_at(i) + noise(random), imaginary = noise(random);
      volume.voxels[static_cast<std::size_t>(i)] = std::hypot(x, y) < 28 ? std::hypot(real, imaginary) : 0;
    }
  }
  write_series(folder / "in.nii", volumes);
  std::ofstream(folder / "in.bval") << "2500 2500 2500 2500";
  const DenoiseReport report = denoise({.input = folder / "in.nii", .output = folder / "out.nii", .filters = {}});
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    EXPECT_EQ(report.volumes[i].noise.front().distribution, NoiseDistribution::rician) << i;
    EXPECT_NEAR(report.volumes[i].noise.front().sigma, 40, 5) << i;
    const auto result = io::open_image(folder / "out.nii", {})->volume(i, io::VoxelDomain::real);
    Volume filtered(Extent{{64, 64, 24}});
    result->read(filtered.view());
    double dark = 0, count = 0;
    for (std::int64_t j = 0; j < filtered.extent.voxels(); ++j) {
      if (volumes[i].voxels[static_cast<std::size_t>(j)] == 0 || signal_at(j) > 40) continue;
      dark += static_cast<double>(filtered.voxels[static_cast<std::size_t>(j)]);
      ++count;
    }
    EXPECT_NEAR(dark / count, 40, 15) << i;
  }
}

/// The noise grows along the first axis.
TEST(Denoise, OneNoiseForASeriesWhoseSlicesLieAlongAnyAxis) {
  const TemporaryFolder folder;
  std::mt19937 random(5);
  std::normal_distribution<float> noise;
  std::vector<Volume> volumes(3, Volume({{64, 48, 16}}, {1, 1, 5}));
  for (Volume& volume : volumes) {
    for (std::int64_t z = 0; z < 16; ++z) {
      for (std::int64_t y = 0; y < 48; ++y) {
        for (std::int64_t x = 0; x < 64; ++x) {
          const float local = 10 + 0.5F * static_cast<float>(x);
          volume.view().at(x, y, z) = (x > 12 && x < 52 && y > 10 && y < 38 ? 800.F : 300.F) + local * noise(random);
        }
      }
    }
  }
  for (const auto& chain : std::vector<std::vector<FilterConfig>>{
           {}, {filter("median", {{"radius", "1x1x0"}}), filter("bm4d")}, {filter("dct"), filter("bm4d")}}) {
    std::vector<float> first;
    for (const int axis : {2, 0, 1}) {
      std::vector<Volume> along_axis;
      for (const Volume& volume : volumes) along_axis.push_back(axis == 2 ? volume : turned(volume, axis));
      write_series(folder / "in.nii", along_axis);
      const AxisSwap swap({.extent = along_axis.front().extent, .spacing = along_axis.front().spacing});
      DenoiseRequest request{.input = folder / "in.nii", .output = folder / "out.nii", .filters = swap(chain)};
      request.out.force = true;
      const DenoiseReport report = denoise(request);
      EXPECT_NE(report.noise_source.find("one noise for the series"), std::string::npos) << report.noise_source;
      const auto image = io::open_image(folder / "out.nii", {});
      std::vector<float> result;
      for (std::size_t i = 0; i < volumes.size(); ++i) {
        Volume read(along_axis[i].extent, along_axis[i].spacing);
        image->volume(i, io::VoxelDomain::real)->read(read.view());
        const Volume back = axis == 2 ? read : turned(read, axis);
        result.insert(result.end(), back.voxels.begin(), back.voxels.end());
      }
      if (axis == 2) first = result;
      EXPECT_TRUE(result == first) << axis << " " << chain.size();
    }
  }
}

/// Root mean square of the differences of voxels that are there in `noisy`.
float apart(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& noisy) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(noisy[i])) continue;
    sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    ++count;
  }
  return static_cast<float>(std::sqrt(sum / count));
}

/// Filters that work in blocks would leave nothing but voxels far from what is missing.
TEST(DenoiseVolume, WhatIsMissingKeepsNothingElseFromBeingFiltered) {
  const std::vector<float> noisy = noisy_box(40), clean = noisy_box(0);
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform;
  const auto slice = static_cast<std::size_t>(extent.slice());
  const auto missing_where = [&](const std::function<bool(std::size_t i)>& is_missing) {
    std::vector<float> voxels = noisy;
    for (std::size_t i = 0; i < voxels.size(); ++i) {
      if (is_missing(i)) voxels[i] = std::numeric_limits<float>::quiet_NaN();
    }
    return voxels;
  };
  const std::pair<const char*, std::vector<float>> cases[] = {
      {"some", missing_where([&](std::size_t) { return uniform(random) < 0.08F; })},
      {"some slices", missing_where([&](std::size_t i) { return i / slice < 2 || i / slice == 6; })},
      {"all but some slices", missing_where([&](std::size_t i) { return i / slice < 9 || i / slice > 11; })},
      {"all but a thin shell", missing_where([&](std::size_t i) {
         const std::size_t x = i % 48, y = i / 48 % 40;
         return x < 9 || x > 38 || y < 7 || y > 32 || (x > 11 && x < 36 && y > 9 && y < 30);
       })}};
  for (const auto& [name, voxels] : cases) {
    for (const auto& chain : std::vector<std::vector<FilterConfig>>{{filter("bm4d", {{"sigma", "40"}})},
                                                                    {filter("dct", {{"sigma", "40"}})},
                                                                    {filter("prinlm", {{"sigma", "40"}})}}) {
      const Result result = denoised(voxels, {.filters = chain});
      EXPECT_LT(apart(result.voxels, clean, voxels), 20) << name << " " << chain.front().filter().name;
      std::size_t kept = 0;
      for (std::size_t i = 0; i < voxels.size(); ++i) {
        ASSERT_EQ(std::isnan(result.voxels[i]), std::isnan(voxels[i]));
        kept += result.voxels[i] == voxels[i];
      }
      EXPECT_LT(kept, voxels.size() / 1000) << name;
    }
  }
  std::vector<float> others = cases[0].second;  // what stands where nothing is
  for (float& voxel : others) {
    if (std::isnan(voxel)) voxel = std::numeric_limits<float>::infinity();
  }
  const Result nan = denoised(cases[0].second), infinite = denoised(others);
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    if (std::isfinite(others[i])) {
      ASSERT_EQ(nan.voxels[i], infinite.voxels[i]);
    }
  }
  const std::vector<float> nothing(noisy.size(), std::numeric_limits<float>::quiet_NaN());
  for (const float voxel : denoised(nothing, {.filters = {filter("dct", {{"sigma", "40"}})}}).voxels)
    ASSERT_TRUE(std::isnan(voxel));
}

TEST(DenoiseVolume, WhatIsMissingIsNoImpulse) {
  std::vector<float> voxels = noisy_box(40);
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform;
  for (float& voxel : voxels) voxel = uniform(random) < 0.1F ? std::numeric_limits<float>::quiet_NaN() : voxel;
  const Result result = denoised(voxels);
  ASSERT_EQ(result.report.volume.noise.size(), 1U);
  EXPECT_EQ(result.report.volume.noise[0].impulses, 0);
  EXPECT_NEAR(result.report.volume.noise[0].sigma, 40, 6);
}

/// Where voxels are in memory already, a limit that lets a filter's own memory out of the count would not be kept.
TEST(DenoiseVolume, AMemoryLimitCountsAllThatAFilterTakes) {
  constexpr Extent large{{160, 160, 64}};
  const std::vector<float> voxels(static_cast<std::size_t>(large.voxels()), 5);
  std::vector<float> result(voxels.size());
  const auto run = [&](int limit) {
    denoise({voxels.data(), large}, {result.data(), large},
            {.filters = {filter("bm4d", {{"sigma", "40"}})}, .execution = {.backend = "cpu", .memory_limit = limit}});
  };
  constexpr int much = 4096;
  run(much);
  long resident = 0, total = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  constexpr long pages_of_mib = 256;
  const auto taken = static_cast<int>(resident / pages_of_mib);
  expect_error(Errc::out_of_memory, "readers, writers and filters", [&] { run(taken + 16); });
}

}  // namespace
}  // namespace quietvox::test
