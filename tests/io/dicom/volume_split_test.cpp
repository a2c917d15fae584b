// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Images that lie at the same places: which of them make a volume.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "io/dicom/series_fixture.hpp"

namespace quietvox::test {
namespace {

using Elements = std::vector<std::pair<DcmTagKey, std::string>>;

class DicomVolumeSplit : public DicomSeries {
 protected:
  /// Volumes of `places` slices, told what each image says by `says(volume, place)`; their marks are 10 * volume +
  /// place. Files are named against the order of the volumes.
  void add_volumes(int volumes, int places, const std::function<Elements(int, int)>& says) {
    clear();
    for (int volume = 0; volume < volumes; ++volume) {
      for (int z = 0; z < places; ++z) {
        add(std::to_string(9 - volume) + std::to_string(z), z, 10 * volume + z, says(volume, z));
      }
    }
  }
  void clear() {
    for (const auto& file : fs::directory_iterator(folder_.path())) fs::remove_all(file);
  }

  void expect_volumes(int volumes, int places) {
    const auto image = open();
    ASSERT_EQ(image->volume_count(), static_cast<std::size_t>(volumes));
    for (int volume = 0; volume < volumes; ++volume) {
      std::vector<int> expected;
      for (int z = 0; z < places; ++z) expected.push_back(10 * volume + z);
      EXPECT_EQ(marks(*image, volume), expected);
      EXPECT_EQ(image->why_2d_only(volume), "");
    }
    EXPECT_EQ(image->warnings(), std::vector<std::string>());
  }
  /// Nothing is made up: all stay together, for filters that work slice by slice.
  void expect_not_told_apart() {
    const auto image = open();
    EXPECT_EQ(image->volume_count(), 1U);
    EXPECT_NE(image->why_2d_only(0).find("same position"), std::string::npos) << image->why_2d_only(0);
  }
};

/// Now a little more, now a little less, otherwise in each volume.
int jitter(int volume, int z) {
  return (std::array{1, -1, 1, 1, -1, 1}[static_cast<std::size_t>(z)]) * (volume ? -1 : 1);
}

std::string text(double number) { return std::to_string(number); }

struct Contrast {
  DcmTagKey key;
  const char *first, *second;
};

const Contrast contrasts[] = {{DCM_InversionTime, "200", "100"},
                              {DCM_FlipAngle, "15", "5"},
                              {DCM_SequenceName, "*tfl2d1", "*fl2d1"},
                              {DCM_KVP, "80", "140"},
                              {DCM_ConvolutionKernel, "B70s", "B30s"},
                              {DCM_ScanOptions, "FS", ""},
                              {DCM_ImageType, "ORIGINAL\\PRIMARY\\M", "DERIVED\\SECONDARY\\M"},
                              {DCM_EchoTime, "20", "10"},
                              {DCM_DiffusionBValue, "1000", "0"},
                              {DCM_RepetitionTime, "500", "3000"},
                              {DCM_SliceThickness, "2", "5"},
                              {DCM_ContrastBolusAgent, "", "Omnipaque"}};

TEST_F(DicomVolumeSplit, ContrastTellsThemApartWhateverTheTriggerTimesAre) {
  for (const double wobble : {1.0, 5.0}) {
    for (const Contrast& contrast : contrasts) {
      SCOPED_TRACE(std::string(contrast.first) + " and " + contrast.second);
      add_volumes(2, 6, [&](int volume, int z) {
        return Elements{{contrast.key, volume ? contrast.second : contrast.first},
                        {DCM_TriggerTime, text(500 + wobble * jitter(volume, z))},
                        {DCM_InstanceNumber, std::to_string(1 + 6 * volume + z)}};
      });
      expect_volumes(2, 6);
    }
  }
}

TEST_F(DicomVolumeSplit, ContrastTellsThemApartWhereNumbersGoBackAndForth) {
  for (const Contrast& contrast : contrasts) {
    SCOPED_TRACE(std::string(contrast.first) + " and " + contrast.second);
    add_volumes(2, 6, [&](int volume, int z) {
      return Elements{{contrast.key, volume ? contrast.second : contrast.first},
                      {DCM_InstanceNumber, std::to_string(1 + 2 * z + (z % 2 ? 1 - volume : volume))}};
    });
    expect_volumes(2, 6);
  }
}

/// Images of two b-values, whose order changes from place to place; only the maker's own element tells them apart.
TEST_F(DicomVolumeSplit, BValuesOfMakersCount) {
  struct Private {
    const char* creator;
    Uint16 group, element;
    DcmEVR type;
    std::array<const char*, 2> values;
    std::array<double, 2> numbers;
  };
  for (const Private& says :
       {Private{"GEMS_PARM_01", 0x0043, 0x1039, EVR_IS, {"1000000050\\8\\0\\0", "1000000800\\8\\0\\0"}, {}},
        Private{"SIEMENS MR HEADER", 0x0019, 0x110c, EVR_IS, {"50", "800"}, {}},
        Private{"SIEMENS MR HEADER", 0x0019, 0x100c, EVR_UN, {"50", "800 "}, {}},
        Private{"Philips Imaging DD 001", 0x2001, 0x1003, EVR_FL, {}, {50, 800}},
        Private{"Image Private Header", 0x0065, 0x1009, EVR_FD, {}, {50, 800}}}) {
    SCOPED_TRACE(std::string(says.creator) + " " + std::to_string(says.element));
    clear();
    for (int volume = 0; volume < 2; ++volume) {
      for (int z = 0; z < 6; ++z) {
        DicomSpec spec = marked(10 * volume + z);
        spec.position = {0, 0, 1.0 * z};
        spec.instance_number = 1 + 2 * z + (z % 2 ? 1 - volume : volume);
        spec.more = {{DCM_Modality, "MR"}};
        spec.change = [&says, volume](DcmDataset& data) {
          const DcmTagKey creator(says.group, static_cast<Uint16>(says.element >> 8));
          data.putAndInsertString(DcmTag(creator, EVR_LO), says.creator);
          const DcmTag tag(says.group, says.element, DcmVR(says.type));
          const auto at = static_cast<std::size_t>(volume);
          if (says.type == EVR_FL) {
            data.putAndInsertFloat32(tag, static_cast<Float32>(says.numbers[at]));
          } else if (says.type == EVR_FD) {
            data.putAndInsertFloat64(tag, says.numbers[at]);
          } else if (says.type == EVR_UN) {
            const std::string text = says.values[at];
            put_untyped(data, tag, {reinterpret_cast<const Uint8*>(text.data()), text.size()});
          } else {
            data.putAndInsertString(tag, says.values[at]);
          }
        };
        write_dicom(folder_ / (std::to_string(9 - volume) + std::to_string(z) + ".dcm"), spec);
      }
    }
    expect_volumes(2, 6);
    EXPECT_TRUE(open()->has_diffusion());
    EXPECT_TRUE(open()->may_have_one_noise());
    EXPECT_FALSE(open()->is_time_series());
  }
}

/// Others may differ in their noise, too.
TEST_F(DicomVolumeSplit, DirectionsOfOneEchoTimeAloneHaveOneNoise) {
  for (const bool have_one : {true, false}) {
    add_volumes(2, 4, [&](int volume, int) {
      return Elements{{DCM_EchoTime, volume || have_one ? "90" : "70"}, {DCM_DiffusionBValue, volume ? "800" : "50"}};
    });
    EXPECT_EQ(open()->volume_count(), 2U);
    EXPECT_TRUE(open()->has_diffusion());
    EXPECT_EQ(open()->may_have_one_noise(), have_one);
  }
}

TEST_F(DicomVolumeSplit, ABValueThatLostItsTypeCounts) {
  for (int volume = 0; volume < 2; ++volume) {
    for (int z = 0; z < 4; ++z) {
      DicomSpec spec = marked(10 * volume + z);
      spec.position = {0, 0, 1.0 * z};
      spec.instance_number = 1 + 2 * z + (z % 2 ? 1 - volume : volume);
      spec.change = [volume](DcmDataset& data) {
        const double number = volume ? 800 : 50;
        put_untyped(data, DCM_DiffusionBValue, {reinterpret_cast<const Uint8*>(&number), sizeof number});
      };
      write_dicom(folder_ / (std::to_string(9 - volume) + std::to_string(z) + ".dcm"), spec);
    }
  }
  expect_volumes(2, 4);
  EXPECT_TRUE(open()->has_diffusion());
}

/// They follow the heart, and may part the images of all places alike by chance.
TEST_F(DicomVolumeSplit, RepetitionTimesDoNotMixVolumesThatWereMadeInTurn) {
  add_volumes(2, 2, [](int volume, int z) {
    return Elements{{DCM_RepetitionTime, volume == z ? "900" : "1000"},
                    {DCM_AcquisitionNumber, std::to_string(1 + volume)},
                    {DCM_InstanceNumber, std::to_string(1 + 2 * volume + z)}};
  });
  expect_volumes(2, 2);
}

/// Volumes come in the order of their numbers, whatever tells them apart.
TEST_F(DicomVolumeSplit, VolumesOfSeveralContrastsComeInTurn) {
  const char* const b_values[] = {"0", "1000", "0", "1000", "0"};
  for (const bool by_echo : {false, true}) {
    add_volumes(5, 3, [&](int volume, int z) {
      return Elements{{by_echo ? DCM_EchoTime : DCM_DiffusionBValue, b_values[volume]},
                      {DCM_AcquisitionNumber, std::to_string(1 + volume)},
                      {DCM_InstanceNumber, std::to_string(1 + 3 * volume + z)}};
    });
    expect_volumes(5, 3);
  }
}

/// GE writes the element in images without diffusion, too.
TEST_F(DicomVolumeSplit, BValuesOfMakersTellNothingOfOtherPlaces) {
  for (const bool alternate : {true, false}) {
    clear();
    for (int z = 0; z < 6; ++z) {
      DicomSpec spec = marked(z);
      spec.position = {0, 0, 1.0 * z};
      spec.instance_number = 1 + z;
      spec.more = {{DCM_Modality, "MR"}};
      spec.change = [&](DcmDataset& data) {
        data.putAndInsertString(DcmTag(0x0043, 0x0010, EVR_LO), "GEMS_PARM_01");
        const std::string value = std::to_string(alternate ? 1000 + z % 2 * 10 : 1000 + z) + "\\8\\0\\0";
        data.putAndInsertString(DcmTag(0x0043, 0x1039, EVR_IS), value.c_str());
      };
      write_dicom(folder_ / ("9" + std::to_string(z) + ".dcm"), spec);
    }
    expect_volumes(1, 6);
  }
}

TEST_F(DicomVolumeSplit, MagnitudeAndPhaseOfGeAreVolumesOfTheirOwn) {
  for (int volume = 0; volume < 2; ++volume) {
    for (int z = 0; z < 4; ++z) {
      DicomSpec spec = marked(10 * volume + z);
      spec.position = {0, 0, static_cast<double>(z)};
      spec.more = {{DCM_Modality, "MR"}, {DCM_InstanceNumber, std::to_string(2 * z + volume)}};
      spec.change = [&](DcmDataset& data) {
        data.putAndInsertString(DcmTag(0x0043, 0x0010, EVR_LO), "GEMS_PARM_01");
        data.putAndInsertSint16(DcmTag(0x0043, 0x102f, EVR_SS), static_cast<Sint16>(volume));
      };
      write_dicom(folder_ / (std::to_string(10 * volume + z) + ".dcm"), spec);
    }
  }
  expect_volumes(2, 4);
  EXPECT_EQ(open()->volume(1, io::VoxelDomain::real)->header().kind, DataKind::phase);
}

TEST_F(DicomVolumeSplit, ContrastMayVaryALittleWithinAVolume) {
  add_volumes(2, 6, [](int volume, int z) {
    return Elements{{DCM_InversionTime, text((volume ? 100 : 200) + 0.3 * jitter(volume, z))},
                    {DCM_InstanceNumber, std::to_string(1 + 2 * z + (z % 2 ? 1 - volume : volume))}};
  });
  expect_volumes(2, 6);
}

TEST_F(DicomVolumeSplit, ContrastsOfSeveralTimesAreTimesOfEachContrast) {
  add_volumes(6, 4, [](int volume, int z) {
    return Elements{{DCM_InversionTime, volume < 3 ? "100" : "200"},
                    {DCM_AcquisitionTime, "1010" + std::to_string(10 + 2 * volume) + "." + std::to_string(z)},
                    {DCM_InstanceNumber, std::to_string(1 + 4 * volume + z)}};
  });
  expect_volumes(6, 4);
}

TEST_F(DicomVolumeSplit, OfOneContrastASliceMayBeMissing) {
  add_volumes(2, 6, [](int volume, int z) {
    return Elements{{DCM_InversionTime, volume ? "100" : "200"},
                    {DCM_InstanceNumber, std::to_string(1 + 6 * volume + z)}};
  });
  fs::remove(folder_ / "83.dcm");
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 2U);
  EXPECT_EQ(marks(*image, 0), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(image->why_2d_only(0), "");
  EXPECT_EQ(marks(*image, 1), (std::vector<int>{10, 11, 12, 14, 15}));
  EXPECT_NE(image->why_2d_only(1).find("slices are missing"), std::string::npos);
}

TEST_F(DicomVolumeSplit, ContrastsMayOverlapAtAFewPlaces) {
  for (const int overlap : {1, 3}) {
    clear();
    for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{DCM_FlipAngle, "20"}});
    for (int z = 6 - overlap; z < 12; ++z) {
      add(std::to_string(20 + z), z, 100 + z, {{DCM_FlipAngle, "90"}, {DCM_InstanceNumber, "2"}});
    }
    const auto image = open();
    ASSERT_EQ(image->volume_count(), 2U);
    EXPECT_EQ(marks(*image, 0), (std::vector<int>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(marks(*image, 1).size(), 6U + overlap);
    EXPECT_EQ(image->why_2d_only(0) + image->why_2d_only(1), "");
  }
}

TEST_F(DicomVolumeSplit, ASliceThatWasTakenAgainIsNotOfTheVolume) {
  for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{DCM_AcquisitionNumber, "1"}});
  add("again", 3, 99, {{DCM_AcquisitionNumber, "2"}});
  const auto image = open();
  ASSERT_EQ(image->volume_count(), 2U);
  EXPECT_EQ(marks(*image, 0), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(image->why_2d_only(0), "");
  EXPECT_EQ(marks(*image, 1), (std::vector<int>{99}));
}

/// The even slices of one contrast, the odd ones of another.
TEST_F(DicomVolumeSplit, ContrastsThatAlternateAreVolumesOfTheirOwn) {
  for (const auto& key :
       {DCM_InversionTime, DCM_FlipAngle, DCM_KVP, DCM_RepetitionTime, DCM_SliceThickness, DCM_ContrastBolusAgent}) {
    clear();
    for (int z = 0; z < 6; ++z)
      add(std::to_string(z), z, z, {{key, z % 2 ? "100" : "200"}, {DCM_InstanceNumber, std::to_string(z)}});
    const auto image = open();
    ASSERT_EQ(image->volume_count(), 2U);
    EXPECT_EQ(marks(*image, 0), (std::vector<int>{0, 2, 4}));
    EXPECT_EQ(marks(*image, 1), (std::vector<int>{1, 3, 5}));
    EXPECT_EQ(image->why_2d_only(0), "");
  }
}

TEST_F(DicomVolumeSplit, AContrastOfItsOwnInEachSliceOrAlongTheVolumeIsOneVolume) {
  for (int z = 0; z < 6; ++z)
    add(std::to_string(z), z, z, {{DCM_InversionTime, std::to_string(100 + 50 * (z % 3 * 2 + z / 3))}});
  EXPECT_EQ(open()->volume_count(), 1U);
  EXPECT_EQ(open()->why_2d_only(0), "");
  for (int z = 0; z < 6; ++z) add(std::to_string(z), z, z, {{DCM_KVP, z < 3 ? "80" : "120"}});
  EXPECT_EQ(open()->volume_count(), 1U);
}

/// Heart beats that trigger slices are now long, now short.
/// The difference of such volumes is no measure of noise.
TEST_F(DicomVolumeSplit, VolumesOfTheSameDataMayShareNoise) {
  const auto may_share = [&](const DcmTagKey& key, const char* one, const char* other) {
    add_volumes(2, 3, [&](int volume, int) { return Elements{{key, volume == 0 ? one : other}}; });
    const auto image = open();
    EXPECT_EQ(image->volume_count(), 2U);
    return image->may_share_noise(0, 1);
  };
  EXPECT_TRUE(may_share(DCM_ImageType, "ORIGINAL\\PRIMARY\\M", "ORIGINAL\\PRIMARY\\R"));
  EXPECT_TRUE(may_share(DCM_ConvolutionKernel, "B30f", "B70f"));
  EXPECT_FALSE(may_share(DCM_TemporalPositionIdentifier, "1", "2"));
  EXPECT_FALSE(may_share(DCM_DiffusionBValue, "0", "1000"));
  add_volumes(2, 3, [](int volume, int) {  // labelled and not, one after the other
    return Elements{{DCM_ImageType, volume == 0 ? "ORIGINAL\\PRIMARY\\LABEL" : "ORIGINAL\\PRIMARY\\CONTROL"},
                    {DCM_AcquisitionTime, volume == 0 ? "100000" : "100004"}};
  });
  EXPECT_FALSE(open()->may_share_noise(0, 1));
}

/// Energies, weighted means and phases of a heart beat, which are computed from the same projections.
TEST_F(DicomVolumeSplit, VolumesOfCtOfOneTimeMayShareNoise) {
  const std::vector<std::pair<DcmTagKey, std::array<const char*, 3>>> told_apart{
      {DCM_InstanceNumber, {"1", "10", "20"}},
      {DCM_KVP, {"80", "110", "140"}},
      {DCM_NominalPercentageOfCardiacPhase, {"30", "40", "50"}},
      {DCM_AcquisitionNumber, {"1", "2", "3"}}};
  for (const auto& [key, values] : told_apart) {
    for (const bool are_timed : {true, false}) {
      add_volumes(3, 4, [&](int volume, int z) {
        const std::string value = values[static_cast<std::size_t>(volume)];
        Elements elements{{key, key == DCM_InstanceNumber ? std::to_string(std::stoi(value) + z) : value}};
        if (are_timed) elements.emplace_back(DCM_AcquisitionTime, "100000");
        return elements;
      });
      const auto image = open();
      ASSERT_EQ(image->volume_count(), 3U);
      const bool is_one_scan = are_timed && key != DCM_AcquisitionNumber;
      EXPECT_EQ(image->may_share_noise(0, 2), is_one_scan) << key.toString() << are_timed;
      if (key == DCM_InstanceNumber) {
        EXPECT_EQ(image->may_have_one_noise(), !are_timed);
      }
    }
  }
}

TEST_F(DicomVolumeSplit, RepetitionTimesThatComeAndGoAreOneVolume) {
  for (const auto& times : {std::array{800, 900, 900, 800, 900, 800, 800, 900},
                            {800, 900, 800, 900, 900, 800, 900, 800},
                            {800, 810, 805, 812, 803, 808, 801, 811}}) {
    clear();
    for (std::size_t z = 0; z < times.size(); ++z) {
      add(std::to_string(z), static_cast<double>(z), static_cast<int>(z),
          {{DCM_RepetitionTime, std::to_string(times[z])}, {DCM_InstanceNumber, std::to_string(z)}});
    }
    expect_volumes(1, 8);
  }
}

TEST_F(DicomVolumeSplit, WhatAlternatesWithoutOrderKeepsWindowsWithinSlices) {
  const std::tuple<DcmTagKey, const char*, std::array<const char*, 6>> cases[] = {
      {DCM_ContrastBolusAgent, "different contrast agents", {"", "Omnipaque", "", "Omnipaque", "Omnipaque", ""}},
      {DCM_SliceThickness, "different slice thicknesses", {"2", "5", "2", "5", "5", "2"}},
      {DCM_InstanceNumber, "the same instance numbers", {"1", "1", "2", "2", "3", "3"}}};
  for (const auto& [key, name, values] : cases) {
    clear();
    for (std::size_t z = 0; z < values.size(); ++z)
      add(std::to_string(z), static_cast<double>(z), static_cast<int>(z), {{key, values[z]}});
    const auto image = open();
    EXPECT_EQ(image->volume_count(), 1U);
    EXPECT_EQ(image->why_2d_only(0).find(std::string("slices of ") + name + " alternate: "), 0U)
        << image->why_2d_only(0);
    EXPECT_EQ(image->warnings().size(), 1U);
  }
}

TEST_F(DicomVolumeSplit, ASliceThatLacksWhatAllOthersSayIsOneOfThem) {
  for (const auto& [key, value] : {std::pair{DCM_KVP, "120"},
                                   {DCM_ConvolutionKernel, "B30f"},
                                   {DCM_InversionTime, "900"},
                                   {DCM_AcquisitionNumber, "1"},
                                   {DCM_ContrastBolusAgent, "Omnipaque"},
                                   {DCM_SliceThickness, "2"}}) {
    for (const int silent : {0, 3, 7}) {
      clear();
      for (int z = 0; z < 8; ++z) add(std::to_string(z), z, z, {{key, z == silent ? "" : value}});
      expect_volumes(1, 8);
      EXPECT_TRUE(open()->warnings().empty()) << DcmTag(key).getTagName();
    }
  }
}

TEST_F(DicomVolumeSplit, ContrastsThatComeBackAgainAndAgainAreVolumesOfTheirOwnHoweverUnevenly) {
  for (const auto& times :
       {std::array{100, 100, 900, 900, 100, 100, 900, 900}, {100, 900, 100, 100, 900, 900, 100, 900}}) {
    clear();
    for (std::size_t z = 0; z < times.size(); ++z) {
      add(std::to_string(z), static_cast<double>(z), static_cast<int>(z),
          {{DCM_InversionTime, std::to_string(times[z])}});
    }
    EXPECT_EQ(open()->volume_count(), 2U);
  }
}

TEST_F(DicomVolumeSplit, OddSlicesOfAnEvenVolumeStayInItAndAreWarnedOf) {
  const auto expect = [&](const DcmTagKey& key, std::array<const char*, 8> values, const std::string& named) {
    clear();
    for (std::size_t z = 0; z < values.size(); ++z) {
      add(std::to_string(z), static_cast<double>(z), static_cast<int>(z), {{key, values[z]}, {DCM_Modality, "CT"}});
    }
    EXPECT_EQ(open()->volume_count(), 1U);
    EXPECT_EQ(open()->why_2d_only(0), "");
    ASSERT_EQ(open()->warnings().size(), 1U);
    EXPECT_EQ(open()->warnings()[0],
              "slices of one volume have different " + named + ", and so perhaps different noise: 0.dcm and 3.dcm");
  };
  expect(DCM_KVP, {"120", "120", "120", "100", "100", "100", "100", "100"}, "tube voltages");
  expect(DCM_KVP, {"120", "120", "120", "100", "120", "120", "120", "120"}, "tube voltages");
  expect(DCM_ConvolutionKernel, {"B30f", "B30f", "B30f", "B60f", "B60f", "B30f", "B30f", "B30f"},
         "convolution kernels");
}

/// Each station of a table begins with 1.
TEST_F(DicomVolumeSplit, InstanceNumbersThatBeginAgainFurtherAlongAreOneVolume) {
  for (int z = 0; z < 8; ++z) add(std::to_string(z), z, z, {{DCM_InstanceNumber, std::to_string(z % 4)}});
  expect_volumes(1, 8);
}

TEST_F(DicomVolumeSplit, TriggerTimesThatWobbleDoNotRefuseARegularSeries) {
  for (const bool is_weighted : {true, false}) {
    add_volumes(is_weighted ? 2 : 1, 6, [&](int volume, int z) {
      Elements says{{DCM_TriggerTime, text(500 + 5 * jitter(volume, z))}};
      if (is_weighted) says.emplace_back(DCM_DiffusionBValue, volume ? "1000" : "0");
      return says;
    });
    expect_volumes(is_weighted ? 2 : 1, 6);
  }
}

TEST_F(DicomVolumeSplit, DiffusionWeightsMayDifferInTheirLastDigits) {
  add_volumes(2, 6, [](int volume, int z) {
    const std::string digits = std::to_string(z);
    return Elements{{DCM_DiffusionBValue, "1000.00" + digits},
                    {DCM_DiffusionGradientOrientation, (volume ? "1\\0\\0.00000" : "0\\1\\0.00000") + digits}};
  });
  expect_volumes(2, 6);
}

/// Times and numbers that are those of a volume, or that rise from one volume to the next.
TEST_F(DicomVolumeSplit, TimesThatGoOnFromVolumeToVolumeTellThemApart) {
  const auto time = [](int volume, int z) { return 3 * volume + 0.4 * ((z * 2) % 5); };  // interleaved
  const std::pair<const char*, std::function<Elements(int, int)>> cases[] = {
      {"acquisition",
       [&](int v, int z) {
         return Elements{{DCM_AcquisitionTime, "1010" + text(10 + time(v, z)).substr(0, 6)}};
       }},
      {"acquisition, midnight",
       [&](int v, int z) {
         return Elements{{DCM_AcquisitionDateTime,
                          v == 0 ? "20240229235957." + std::to_string(z)
                                 : "2024030100000" + std::to_string(v) + ".5" + std::to_string(z) + "+0100"}};
       }},
      {"midnight",
       [&](int v, int z) {
         return Elements{{DCM_AcquisitionDate, v == 0 ? "20241231" : "20250101"},
                         {DCM_AcquisitionTime, v == 0 ? "235957." + std::to_string(z)
                                                      : "00000" + std::to_string(v) + ".5" + std::to_string(z)}};
       }},
      {"content",
       [&](int v, int z) {
         return Elements{{DCM_ContentTime, "1010" + text(10 + time(v, z)).substr(0, 6)}};
       }},
      {"reference",
       [&](int v, int) {
         return Elements{{DCM_FrameReferenceTime, text(9000 * v)}};
       }},
      {"trigger",
       [&](int v, int z) {
         return Elements{{DCM_TriggerTime, text(40 * v + 3 * jitter(0, z))}};
       }},
      {"acquisition number",
       [&](int v, int) {
         return Elements{{DCM_AcquisitionNumber, std::to_string(v)}};
       }},
      {"instance number",
       [&](int v, int z) {
         return Elements{{DCM_InstanceNumber, std::to_string(6 * v + z * 5 % 6)}};
       }},
  };
  for (const auto& [name, says] : cases) {
    SCOPED_TRACE(name);
    add_volumes(3, 5, says);
    expect_volumes(3, 5);
  }
}

TEST_F(DicomVolumeSplit, NumbersThatGoOnFromPlaceToPlaceTellThemApart) {
  const std::function<int(int, int)> cases[] = {
      [](int v, int z) { return 10 * z + v; },                              // place by place
      [](int v, int z) { return 100 * ((z * 2) % 5) + (v ? 10 * v : 3); },  // in whatever order
      [](int v, int z) { return 100 * (z % 2) + 3 * v + z / 2; },           // first the even places, then the odd ones
  };
  for (const auto& number : cases) {
    add_volumes(3, 5, [&](int v, int z) { return Elements{{DCM_InstanceNumber, std::to_string(number(v, z))}}; });
    expect_volumes(3, 5);
  }
}

/// Breath-holds for each slice, say, however many times there are.
TEST_F(DicomVolumeSplit, WhatDiffersFromSliceToSliceAloneTellsNothingOfVolumes) {
  for (const DcmTagKey& key : {DCM_AcquisitionTime, DCM_ContentTime, DCM_FrameReferenceTime, DCM_AcquisitionNumber,
                               DCM_TriggerTime, DCM_RepetitionTime, DCM_InversionTime, DCM_FlipAngle, DCM_KVP}) {
    for (const int times : {3, 4, 8}) {
      SCOPED_TRACE(DcmTag(key).getTagName() + std::string(", ") + std::to_string(times) + " times");
      add_volumes(times, 4, [&](int v, int z) {
        return Elements{{key, std::to_string(100100 + 12 * z)},
                        {DCM_InstanceNumber, std::to_string(1 + times * z + v)}};
      });
      expect_volumes(times, 4);
    }
  }
}

TEST_F(DicomVolumeSplit, NumbersWithoutAnOrderDoNot) {
  const int numbers[2][4] = {{1, 8, 5, 3}, {6, 2, 7, 4}};
  add_volumes(2, 4, [&](int v, int z) { return Elements{{DCM_InstanceNumber, std::to_string(numbers[v][z])}}; });
  expect_not_told_apart();
}

/// Heart beats differ in length, and phases with them.
TEST_F(DicomVolumeSplit, PhasesOfLongerAndShorterHeartBeatsAreToldApart) {
  for (const bool are_numbered : {true, false}) {
    add_volumes(8, 4, [&](int phase, int z) {
      Elements says{{DCM_TriggerTime, text(phase * (40 + 5 * z))}};
      if (are_numbered) says.emplace_back(DCM_InstanceNumber, std::to_string(1 + 8 * z + phase));
      return says;
    });
    expect_volumes(8, 4);
  }
}

/// Interleaved slices, each at its own time; one is missing, or the scan was broken off.
TEST_F(DicomVolumeSplit, OfATimeSeriesSlicesMayBeMissing) {
  const auto order = [](int z) { return z % 2 ? 3 + z / 2 : z / 2; };  // 0 2 4 1 3
  for (const auto& key : {DCM_InstanceNumber, DCM_AcquisitionTime}) {
    for (int missing = 1; missing < 20; ++missing) {
      SCOPED_TRACE(missing);
      for (const bool is_broken_off : {false, true}) {
        if (is_broken_off && missing < 15) continue;
        clear();
        std::vector<std::vector<int>> expected(4);
        for (int volume = 0; volume < 4; ++volume) {
          for (int z = 0; z < 5; ++z) {
            const int number = 5 * volume + order(z);
            if (number == missing || (is_broken_off && number > missing)) continue;
            Elements says{{DCM_InstanceNumber, std::to_string(1 + number)}};
            if (key == DCM_AcquisitionTime) says = {{key, "1010" + std::to_string(10 + number)}};
            add(std::to_string(9 - volume) + std::to_string(z), z, 10 * volume + z, says);
            expected[static_cast<std::size_t>(volume)].push_back(10 * volume + z);
          }
        }
        const auto image = open();
        std::erase(expected, std::vector<int>());
        ASSERT_EQ(image->volume_count(), expected.size()) << image->why_2d_only(0);
        for (std::size_t volume = 0; volume < expected.size(); ++volume) {
          const std::vector<int>& slices = expected[volume];
          EXPECT_EQ(marks(*image, volume), slices);
          const bool has_gap = slices.back() - slices.front() + 1 > std::ssize(slices) && slices.size() == 4;
          EXPECT_EQ(image->why_2d_only(volume).starts_with("slices are missing"), has_gap);
        }
      }
    }
  }
}

TEST_F(DicomVolumeSplit, WhereNothingTellsWhichSliceIsMissingTheMessageSaysSo) {
  const std::function<int(int, int)> numbers[] = {[](int v, int z) { return 1 + 3 * z + v; },   // all times of a place
                                                  [](int v, int z) { return 2 + 5 * v + z; }};  // the first is missing
  for (const auto& number : numbers) {
    add_volumes(3, 5, [&](int v, int z) { return Elements{{DCM_InstanceNumber, std::to_string(number(v, z))}}; });
    fs::remove(folder_ / (number(0, 0) == 1 ? "82.dcm" : "90.dcm"));
    const auto image = open();
    EXPECT_EQ(image->volume_count(), 1U);
    EXPECT_NE(image->why_2d_only(0).find("there are 2 to 3 images at a place"), std::string::npos)
        << image->why_2d_only(0);
  }
}

TEST_F(DicomVolumeSplit, TimesAndNumbersThatContradictEachOtherDoNotTell) {
  add_volumes(2, 6, [](int volume, int z) {  // no two slices are triggered alike
    return Elements{{DCM_TriggerTime, text(500 + 30 * z + (12 + 5 * z) * jitter(volume, z))},
                    {DCM_InstanceNumber, std::to_string(1 + 2 * z + volume)}};
  });
  expect_not_told_apart();
  add_volumes(2, 6, [](int volume, int z) {  // each volume is made at one go, and triggered now at 480 ms, now at 520
    return Elements{{DCM_TriggerTime, text(500 + 20 * jitter(volume, z))},
                    {DCM_InstanceNumber, std::to_string(1 + 6 * volume + z)}};
  });
  expect_not_told_apart();
}

TEST_F(DicomVolumeSplit, ConsistentNumbersOutweighTimesThatWobble) {
  const std::function<double(int, int)> wobbles[] = {
      [](int volume, int z) { return jitter(volume, z); }, [](int volume, int z) { return 5 * jitter(volume, z); },
      [](int volume, int z) { return 30 * z + (12 + 5 * z) * jitter(volume, z); }};
  for (const auto& wobble : wobbles) {
    add_volumes(2, 6, [&](int volume, int z) {
      return Elements{{DCM_TriggerTime, text(500 + wobble(volume, z))},
                      {DCM_InstanceNumber, std::to_string(1 + 6 * volume + z)}};
    });
    expect_volumes(2, 6);
  }
}

TEST_F(DicomVolumeSplit, FramesOfReferenceAndPatientPositionsNeverMix) {
  const std::pair<DcmTagKey, std::array<const char*, 2>> cases[] = {{DCM_FrameOfReferenceUID, {"1.2.3.9", "1.2.3.10"}},
                                                                    {DCM_PatientPosition, {"HFS", "FFS"}}};
  for (const auto& [key, values] : cases) {
    clear();
    for (int z = 0; z < 6; ++z)
      add(std::to_string(z), z, z % 2 ? 900 : 100,
          {{key, values[static_cast<std::size_t>(z % 2)]}, {DCM_InstanceNumber, std::to_string(z)}});
    const auto image = open();
    ASSERT_EQ(image->volume_count(), 2U);
    EXPECT_EQ(marks(*image, 0), (std::vector<int>{100, 100, 100}));
    EXPECT_EQ(marks(*image, 1), (std::vector<int>{900, 900, 900}));
    EXPECT_EQ(image->why_2d_only(0), "");
  }
}

/// Some exports and anonymizers empty or remove them, in some of the files.
TEST_F(DicomVolumeSplit, AnUnknownFrameOfReferenceIsTheOnlyOneThereIs) {
  for (const auto& key : {DCM_FrameOfReferenceUID, DCM_PatientPosition}) {
    clear();
    for (int z = 0; z < 4; ++z)
      add(std::to_string(z), z, z, {{key, z % 2 ? "" : key == DCM_PatientPosition ? "HFS " : "1.2.3.9"}});
    expect_volumes(1, 4);
    add("4", 4, 4, {{key, key == DCM_PatientPosition ? "FFS" : "1.2.3.8"}});
    EXPECT_EQ(open()->volume_count(), 3U);  // of which it is nobody knows
  }
}

/// Whoever takes dates out of headers leaves the times of day.
TEST_F(DicomVolumeSplit, TimesThatGoOnAfterMidnightFollowTheNumbers) {
  const auto at = [](int volume, int z) {
    const int seconds = 86390 + 5 * volume + z;
    char time[16];
    std::snprintf(time, sizeof time, "%02d%02d%02d", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    return std::string(time);
  };
  const auto instance = [](int volume, int z) {
    return std::pair(DCM_InstanceNumber, std::to_string(1 + 3 * volume + z));
  };
  const auto acquisition = [](int volume) { return std::pair(DCM_AcquisitionNumber, std::to_string(1 + volume)); };
  for (const std::string date : {"", "20200101"}) {
    const auto when = [&](int v, int z) {
      return Elements{{DCM_AcquisitionTime, at(v, z)}, {DCM_ContentTime, at(v, z)}, {DCM_AcquisitionDate, date}};
    };
    const auto with = [&](int v, int z, const auto&... more) {
      Elements says = when(v, z);
      (says.push_back(more), ...);
      return says;
    };
    add_volumes(5, 3, [&](int v, int z) { return with(v, z, instance(v, z), acquisition(v)); });
    expect_volumes(5, 3);
    add_volumes(5, 3, [&](int v, int z) { return with(v, z, instance(v, z)); });
    expect_volumes(5, 3);
    add_volumes(5, 3, [&](int v, int z) { return with(v, z, instance(z, v), acquisition(v)); });
    expect_volumes(5, 3);
  }
  // Two sessions of one day, of which the second has the lower numbers.
  add_volumes(2, 3, [&](int v, int z) {
    return Elements{{DCM_AcquisitionTime, v == 0 ? "0700" + std::to_string(10 + z) : "2300" + std::to_string(10 + z)},
                    {DCM_AcquisitionDate, v == 0 ? "20200102" : "20200103"},
                    {DCM_AcquisitionNumber, std::to_string(2 - v)}};
  });
  expect_volumes(2, 3);
}

}  // namespace
}  // namespace quietvox::test
