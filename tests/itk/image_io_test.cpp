// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// NRRD and MetaImage files.
#include "itk_adapters/file_io/image_io.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "files.hpp"
#include "filters/registry.hpp"
#include "itk_adapters/file_io/itk_file.hpp"
#include "support/comma_locale.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {
namespace fs = std::filesystem;
using namespace std::string_literals;

const io::Geometry geometry{.extent = {5, 4, 3},
                            .spacing = {0.5, 0.75, 2.5},
                            .origin = {-10.25, 20.5, 1.0 / 3},
                            .direction = {0, 1, 0, -1, 0, 0, 0, 0, 1}};

std::vector<float> made_up_voxels(std::int64_t count, float scale = 1) {
  std::mt19937 random(3);
  std::vector<float> voxels(static_cast<std::size_t>(count));
  for (float& voxel : voxels) voxel = scale * static_cast<float>(static_cast<int>(random() % 2001) - 1000);
  return voxels;
}

Provenance some_provenance() {
  const FilterConfig median(find_filter("median"));
  return {{median}, {median}, "cpu"};
}

io::WriteReport write_volumes(io::ImageWriter& writer, const io::Geometry& place,
                              std::vector<std::vector<float>> volumes) {
  for (std::size_t volume = 0; volume < volumes.size(); ++volume) {
    writer.begin_volume(volume, some_provenance());
    const VolumeView<const float> view{volumes[volume].data(), place.extent, place.spacing};
    for (std::int64_t z = 0; z < place.extent.z; ++z) writer.write(view.slices(z, 1));
  }
  return writer.commit();
}

std::vector<float> read_volume(const io::Image& image, std::size_t volume = 0) {
  const io::Geometry& place = image.geometry(volume);
  std::vector<float> voxels(static_cast<std::size_t>(place.extent.voxels()), -1.5F);
  const VolumeView<float> view{voxels.data(), place.extent, place.spacing};
  const auto source = image.volume(volume, io::VoxelDomain::real);
  for (std::int64_t z = 0; z < place.extent.z; ++z) source->read(view.slices(z, 1));
  return voxels;
}

Errc code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return Errc::internal;
}

Errc code_of_reading(const fs::path& path) {
  return code_of([&] {
    const auto image = open_itk_image(path);
    ASSERT_TRUE(image);
    read_volume(*image);
  });
}

class ItkImageFile : public testing::TestWithParam<const char*> {};

TEST_P(ItkImageFile, ComesBackAsItWasWritten) {
  for (const bool compress : {false, true}) {
    const Folder folder;
    const fs::path path = folder / GetParam();
    const auto voxels = made_up_voxels(geometry.extent.voxels(), 0.1F);
    const auto report = write_volumes(*create_itk_image(path, geometry, 1, {.compress = compress}), geometry, {voxels});
    for (const auto& file : report.files) EXPECT_TRUE(fs::is_regular_file(file)) << file;
    const bool detached = path.extension() == ".nhdr" || path.extension() == ".mhd";
    EXPECT_EQ(report.files.size(), detached ? 3U : 2U);
    EXPECT_NE(folder.read("a.json").find("median"), std::string::npos) << "what was done stands beside the image";
    EXPECT_EQ(folder.names().size(), report.files.size()) << "something was left behind";

    const auto image = open_itk_image(path);
    ASSERT_TRUE(image);
    EXPECT_EQ(read_volume(*image), voxels);
    EXPECT_EQ(image->volume_count(), 1U);
    EXPECT_EQ(image->geometry(0).extent, geometry.extent);
    EXPECT_EQ(image->geometry(0).spacing, geometry.spacing);
    EXPECT_EQ(image->geometry(0).origin, geometry.origin);
    EXPECT_EQ(image->geometry(0).direction, geometry.direction);
    EXPECT_EQ(image->info().type, io::ScalarType::float32);
    EXPECT_EQ(image->info().encoding, compress ? "gzip" : "raw");
  }
}

/// A program around the library may have set a locale: numbers of headers keep their decimal point.
TEST_P(ItkImageFile, KeepsItsGeometryWhereNumbersHaveACommaElsewhere) {
  const Folder folder;
  const auto voxels = made_up_voxels(geometry.extent.voxels());
  write_volumes(*create_itk_image(folder / "point" / GetParam(), geometry, 1, {}), geometry, {voxels});
  const CommaLocale comma;
  if (!comma.is_set()) GTEST_SKIP() << "the package locales is not installed";
  write_volumes(*create_itk_image(folder / "comma" / GetParam(), geometry, 1, {}), geometry, {voxels});
  for (const char* written : {"point", "comma"}) {
    const auto image = open_itk_image(folder / written / GetParam());
    EXPECT_EQ(image->geometry(0).spacing, geometry.spacing) << written;
    EXPECT_EQ(image->geometry(0).origin, geometry.origin) << written;
    EXPECT_EQ(image->geometry(0).direction, geometry.direction) << written;
  }
}

TEST_P(ItkImageFile, IsReadByItkItself) {
  for (const bool compress : {false, true}) {
    const Folder folder;
    const auto voxels = made_up_voxels(2 * geometry.extent.voxels(), 0.1F);
    const auto middle = voxels.begin() + geometry.extent.voxels();
    write_volumes(*create_itk_image(folder / GetParam(), geometry, 2, {.compress = compress}), geometry,
                  {{voxels.begin(), middle}, {middle, voxels.end()}});
    const auto format = itk_format_of_name(GetParam());
    ASSERT_TRUE(format);
    const auto image_io = make_image_io(*format, folder / GetParam());
    image_io->ReadImageInformation();
    ASSERT_EQ(image_io->GetImageSizeInBytes(), static_cast<itk::SizeValueType>(sizeof(float) * voxels.size()));
    itk::ImageIORegion region(4);
    for (unsigned axis = 0; axis < 4; ++axis) region.SetSize(axis, image_io->GetDimensions(axis));
    image_io->SetIORegion(region);
    std::vector<float> found(voxels.size());
    image_io->Read(found.data());
    EXPECT_EQ(found, voxels) << compress;
  }
}

TEST_P(ItkImageFile, HoldsSeveralVolumes) {
  const Folder folder;
  const auto first = made_up_voxels(geometry.extent.voxels()), second = made_up_voxels(geometry.extent.voxels(), 3);
  write_volumes(*create_itk_image(folder / GetParam(), geometry, 2, {}), geometry, {first, second});
  const auto image = open_itk_image(folder / GetParam());
  ASSERT_EQ(image->volume_count(), 2U);
  EXPECT_EQ(read_volume(*image, 1), second);
  EXPECT_EQ(read_volume(*image, 0), first);
  EXPECT_EQ(read_volume(*image, 1), second) << "volumes can be read in any order and again";
  EXPECT_EQ(image->geometry(0).spacing, geometry.spacing);
}

TEST_P(ItkImageFile, KeepsTypeAndEncodingOfItsSource) {
  const Folder folder;
  write_volumes(
      *create_itk_image(folder / GetParam(), geometry, 1, {.compress = true, .output_type = io::ScalarType::uint16}),
      geometry, {std::vector<float>(60, 700)});
  const auto source = open_itk_image(folder / GetParam());
  std::vector<float> voxels(60, 12);
  voxels[0] = 70000;
  voxels[1] = -3;
  voxels[2] = 2.5F;
  const fs::path path = folder / (std::string("out") + fs::path(GetParam()).extension().string());
  const auto report = write_volumes(*source->writer(path, io::VoxelDomain::real, {}), geometry, {voxels});
  EXPECT_EQ(report.clamped, 2);
  const auto image = open_itk_image(path);
  EXPECT_EQ(image->info().type, io::ScalarType::uint16);
  EXPECT_EQ(image->info().encoding, "gzip");
  const auto stored = read_volume(*image);
  EXPECT_EQ(stored[0], 65535);
  EXPECT_EQ(stored[1], 0);
  EXPECT_EQ(stored[2], 3);
  EXPECT_EQ(stored[3], 12);
}

TEST_P(ItkImageFile, AppearsOnlyWithCommit) {
  const Folder folder;
  {
    const auto writer = create_itk_image(folder / GetParam(), geometry, 1, {});
    writer->begin_volume(0, some_provenance());
    EXPECT_EQ(code_of([&] { writer->commit(); }), Errc::internal) << "slices are missing";
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST_P(ItkImageFile, IsNotReplacedUnasked) {
  const Folder folder;
  const fs::path path = folder / GetParam();
  const auto voxels = made_up_voxels(geometry.extent.voxels());
  write_volumes(*create_itk_image(path, geometry, 1, {}), geometry, {voxels});
  EXPECT_EQ(code_of([&] { create_itk_image(path, geometry, 1, {}); }), Errc::exists);
  const auto image = open_itk_image(path);
  EXPECT_EQ(code_of([&] { image->writer(path, io::VoxelDomain::real, {.force = true}); }), Errc::output_path);
  EXPECT_EQ(read_volume(*image), voxels);
  write_volumes(*create_itk_image(path, geometry, 1, {.force = true}), geometry, {std::vector<float>(60, 5)});
  EXPECT_EQ(read_volume(*open_itk_image(path))[7], 5);
}

TEST_P(ItkImageFile, CutShortOrDamagedIsCorrupt) {
  for (const bool compress : {false, true}) {
    const Folder folder;
    const io::Geometry larger{.extent = {40, 30, 20}};
    const auto report = write_volumes(*create_itk_image(folder / GetParam(), larger, 1, {.compress = compress}), larger,
                                      {made_up_voxels(larger.extent.voxels(), 0.1F)});
    const bool detached = report.files.size() == 3;
    const std::string data = report.files[detached ? 1 : 0].filename().string(), whole = folder.read(data);
    for (const std::size_t missing : {1U, 10U, 1000U}) {
      folder.write(data, whole.substr(0, whole.size() - missing));
      EXPECT_EQ(code_of_reading(folder / GetParam()), Errc::corrupt) << missing << (compress ? " compressed" : " raw");
    }
    if (!compress) continue;
    std::string damaged = whole;
    damaged[damaged.size() - 20000] = static_cast<char>(damaged[damaged.size() - 20000] ^ 4);
    folder.write(data, damaged);
    EXPECT_EQ(code_of_reading(folder / GetParam()), Errc::corrupt);
  }
}

INSTANTIATE_TEST_SUITE_P(Endings, ItkImageFile, testing::Values("a.nrrd", "a.nhdr", "a.mha", "a.mhd"),
                         [](const auto& ending) { return fs::path(ending.param).extension().string().substr(1); });

/// What ITK could not read is not there, however often it is asked for.
TEST(ItkText, WordsThatAreNoNumbersAreAnErrorEachTime) {
  const Folder folder;
  const std::string nrrd = "NRRD0004\ntype: short\ndimension: 3\nsizes: 2 2 2\nencoding: text\n\n";
  const std::string meta =
      "ObjectType = Image\nNDims = 3\nBinaryData = False\nDimSize = 2 2 2\nElementType = MET_FLOAT\n"
      "ElementDataFile = LOCAL\n";
  folder.write("a.mha", meta + "0 -1 +2 3.5 .4 5. 6e1 7\n");
  EXPECT_EQ(read_volume(*open_itk_image(folder / "a.mha")), (std::vector<float>{0, -1, 2, 3.5, .4F, 5, 60, 7}));
  for (const std::string& header : {nrrd, meta}) {
    for (const char* word : {"three", "-", "."}) {
      folder.write("a", header + "0 1 2 " + word + " 4 5 6 7\n");
      const auto image = open_itk_image(folder / "a");
      ASSERT_TRUE(image);
      for (int i = 0; i < 2; ++i) EXPECT_EQ(code_of([&] { read_volume(*image); }), Errc::corrupt) << header << word;
    }
  }
}

/// A hand-written NRRD of 2 x 2 x 2 int16 voxels.
std::string nrrd(const std::string& fields, const std::string& voxels, const std::string& type = "short") {
  return "NRRD0004\ntype: " + type + "\ndimension: 3\nsizes: 2 2 2\n" + fields + "\n" + voxels;
}

template <class T>
std::string bytes(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// What stands in the file of that name when it was made of an image without a change.
std::string written_again(const Folder& folder, const io::Image& image, const char* name) {
  write_volumes(*image.writer(folder / name, io::VoxelDomain::real, {}), image.geometry(0), {read_volume(image)});
  return folder.read(name);
}

TEST(Nrrd, IsReadInEitherByteOrderAndAsText) {
  const Folder folder;
  const std::vector<float> expected{0, 1, 2, 3, 4, 5, 6, -7};
  folder.write("little.nrrd", nrrd("endian: little\nencoding: raw\n", bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, -7})));
  folder.write("big.nrrd", nrrd("endian: big\nencoding: raw\n",
                                bytes<std::int16_t>({0, 0x100, 0x200, 0x300, 0x400, 0x500, 0x600, -0x601})));
  folder.write("text.nrrd", nrrd("encoding: text\n", "0 1 2 3\n4 5 6 -7\n"));
  folder.write("hex.nrrd", nrrd("endian: little\nencoding: hex\n", "0000010002000300\n040005000600f9ff\n"));
  for (const auto* name : {"little.nrrd", "big.nrrd", "text.nrrd", "hex.nrrd"}) {
    EXPECT_EQ(read_volume(*open_itk_image(folder / name)), expected) << name;
  }
  EXPECT_FALSE(open_itk_image(folder / "text.nrrd")->geometry(0).is_placed);
}

TEST(Nrrd, RightAnteriorSuperiorBecomesLps) {
  const Folder folder;
  folder.write("a.nrrd", nrrd("space: right-anterior-superior\nspace directions: (2,0,0) (0,3,0) (0,0,4)\n"
                              "space origin: (10,20,30)\nendian: little\nencoding: raw\n",
                              bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7})));
  const io::Geometry place = open_itk_image(folder / "a.nrrd")->geometry(0);
  EXPECT_EQ(place.spacing, (Spacing{2, 3, 4}));
  EXPECT_EQ(place.origin, (std::array<double, 3>{-10, -20, 30}));
  EXPECT_EQ(place.direction, (std::array<double, 9>{-1, 0, 0, 0, -1, 0, 0, 0, 1}));
  EXPECT_TRUE(place.is_placed);
}

/// Of these, what ITK makes differs from version to version.
TEST(Nrrd, SpacesOfAPatientBecomeLps) {
  const Folder folder;
  const std::pair<std::string, PatientPlace::Vector> spaces[] = {{"left-anterior-superior", {1, -1, 1}},
                                                                 {"LAS", {1, -1, 1}},
                                                                 {"RAS", {-1, -1, 1}},
                                                                 {"LPS", {1, 1, 1}},
                                                                 {"left-posterior-superior", {1, 1, 1}}};
  for (const auto& [space, sign] : spaces) {
    folder.write("a.nrrd", nrrd("space: " + space + "\nspace directions: (0.8,0.6,0) (-1.2, 1.6, 0) (0,0,-3)\n" +
                                    "space origin: (10,20,30)\nendian: little\nencoding: raw\n",
                                bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7})));
    const io::Geometry place = open_itk_image(folder / "a.nrrd")->geometry(0);
    EXPECT_EQ(place.spacing, (Spacing{1, 2, 3})) << space;
    EXPECT_EQ(place.origin, (PatientPlace::Vector{sign[0] * 10, sign[1] * 20, sign[2] * 30})) << space;
    const std::array<double, 9> direction{0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, -1};
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(place.direction[i], sign[i / 3] * direction[i], 1e-15) << space;
  }
  for (const std::string space : {"right-anterior-superior-time", "RAST"}) {
    folder.write("a.nrrd", "NRRD0004\ntype: short\ndimension: 4\nsizes: 2 2 1 2\nspace: " + space +
                               "\nspace directions: (2,0,0,0) (0,3,0,0) (0,0,4,0) (0,0,0,1)\n" +
                               "space origin: (10,20,30,0)\nendian: little\nencoding: raw\n\n" +
                               bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
    const io::Geometry place = open_itk_image(folder / "a.nrrd")->geometry(1);
    EXPECT_EQ(place.origin, (PatientPlace::Vector{-10, -20, 30})) << space;
    EXPECT_EQ(place.direction, (std::array<double, 9>{-1, 0, 0, 0, -1, 0, 0, 0, 1})) << space;
  }
}

TEST(Nrrd, UnitsOfSpaceBecomeMillimetres) {
  const Folder folder;
  const auto opened = [&](const std::string& fields) {
    folder.write("a.nrrd",
                 nrrd(fields + "endian: little\nencoding: raw\n", bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7})));
    return open_itk_image(folder / "a.nrrd");
  };
  const std::string place = "space: LPS\nspace directions: (500,0,0) (0,500,0) (0,0,2000)\nspace origin: (1000,0,0)\n";
  for (const std::string unit : {"microns", "um", "\xc2\xb5m", "Micrometers"}) {
    const auto image = opened(place + "space units: \"" + unit + "\" \"" + unit + "\" \"" + unit + "\"\n");
    EXPECT_EQ(image->geometry(0).spacing, (Spacing{0.5, 0.5, 2})) << unit;
    EXPECT_EQ(image->geometry(0).origin, (std::array<double, 3>{1, 0, 0})) << unit;
    EXPECT_EQ(image->warnings(), std::vector<std::string>());
    write_volumes(*image->writer(folder / "b.nrrd", io::VoxelDomain::real, {.force = true}), image->geometry(0),
                  {read_volume(*image)});
    EXPECT_EQ(open_itk_image(folder / "b.nrrd")->geometry(0).spacing, (Spacing{0.5, 0.5, 2})) << unit;
  }
  EXPECT_EQ(opened("spacings: 0.05 0.05 0.2\nunits: \"cm\" \"cm\" \"cm\"\n")->geometry(0).spacing,
            (Spacing{0.5, 0.5, 2}));
  EXPECT_EQ(opened(place + "space units: \"mm\" \"mm\" \"\"\n")->geometry(0).spacing, (Spacing{500, 500, 2000}));
  for (const std::string units : {"\"mm\" \"mm\" \"cm\"", "\"furlong\" \"furlong\" \"furlong\""}) {
    const auto image = opened(place + "space units: " + units + "\n");
    EXPECT_EQ(image->geometry(0).spacing, (Spacing{500, 500, 2000}));
    ASSERT_EQ(image->warnings().size(), 1U);
    EXPECT_NE(image->warnings()[0].find("a.nrrd: space units " + units), std::string::npos) << image->warnings()[0];
  }
}

TEST(Nrrd, LengthsThatAreNowMillimetresAreNotKeptInTheirOldUnit) {
  const Folder folder;
  folder.write("a.nrrd", nrrd("space: LPS\nspace directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (0,0,0)\n"
                              "thicknesses: nan nan 0.25\nspace units: \"cm\" \"cm\" \"cm\"\nendian: little\n"
                              "encoding: raw\n",
                              bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7})));
  const std::string written = written_again(folder, *open_itk_image(folder / "a.nrrd"), "b.nrrd");
  EXPECT_EQ(written.find("0.25"), std::string::npos) << written;
  EXPECT_EQ(written.find("cm"), std::string::npos) << written;
}

/// Headers have cosines of few digits, and NRRD holds their products with the spacing alone.
TEST(Nrrd, TakesAxesThatAreNotQuiteOneLong) {
  const Folder folder;
  const io::Geometry place{.extent = {2, 2, 2},
                           .spacing = {0.9, 0.9, 3},
                           .direction = {0.999848, -0.017452, 0, 0.017452, 0.999848, 0, 0, 0, 1}};
  for (const std::string name : {"a.nrrd", "b.nhdr"}) {
    write_volumes(*create_itk_image(folder / name, place, 1, {}), place, {{0, 1, 2, 3, 4, 5, 6, 7}});
    EXPECT_NEAR(open_itk_image(folder / name)->geometry(0).spacing.x, 0.9, 1e-6) << name;
  }
}

TEST(Nrrd, KeepsItsFields) {
  const Folder folder;
  folder.write("a.nrrd", nrrd("content: a phantom\nspace: left-posterior-superior\n"
                              "space directions: (2,0,0) (0,3,0) (0,0,4)\nspace origin: (1,2,3)\n"
                              "kinds: domain domain domain\nendian: little\nencoding: raw\nscanner:=made up\n",
                              bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7})));
  const auto source = open_itk_image(folder / "a.nrrd");
  const std::string written = written_again(folder, *source, "b.nrrd");
  for (const auto* field : {"type: short", "content: a phantom", "scanner:=made up", "kinds: domain domain domain",
                            "space directions: (2,0,0) (0,3,0) (0,0,4)", "space origin: (1,2,3)", "encoding: raw"}) {
    EXPECT_NE(written.find(field), std::string::npos) << field << " is missing in\n" << written;
  }
  EXPECT_EQ(written.find("ITK_"), std::string::npos) << "a field that the source did not have in\n" << written;
  EXPECT_EQ(read_volume(*open_itk_image(folder / "b.nrrd")), read_volume(*source));
}

TEST(MetaImage, KeepsItsFields) {
  const Folder folder;
  folder.write("a.mha",
               "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nOffset = 1 2 3\n"
               "TransformMatrix = 1 0 0 0 1 0 0 0 1\nElementSpacing = 2 3 4\nDimSize = 2 2 2\nScanner = made up\n"
               "ElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                   bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, -7}));
  const auto source = open_itk_image(folder / "a.mha");
  ASSERT_TRUE(source);
  EXPECT_EQ(read_volume(*source), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, -7}));
  EXPECT_TRUE(source->geometry(0).is_placed);
  const std::string written = written_again(folder, *source, "b.mha");
  for (const auto* field :
       {"Scanner = made up", "ElementType = MET_SHORT", "Offset = 1 2 3", "ElementSpacing = 2 3 4"}) {
    EXPECT_NE(written.find(field), std::string::npos) << field << " is missing in\n" << written;
  }
}

TEST(MetaImage, UnitsOfDistanceBecomeMillimetres) {
  const Folder folder;
  const auto opened = [&](const std::string& unit) {
    folder.write("a.mha",
                 "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nOffset = 1000 0 0\n"
                 "DistanceUnits = " +
                     unit +
                     "\nElementSpacing = 10 10 20\nDimSize = 2 2 2\n"
                     "ElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                     bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
    return open_itk_image(folder / "a.mha");
  };
  const auto image = opened("um");
  EXPECT_EQ(image->geometry(0).spacing, (Spacing{0.01, 0.01, 0.02}));
  EXPECT_EQ(image->geometry(0).origin, (std::array<double, 3>{1, 0, 0}));
  EXPECT_EQ(image->warnings(), std::vector<std::string>());
  write_volumes(*image->writer(folder / "b.mha", io::VoxelDomain::real, {}), image->geometry(0), {read_volume(*image)});
  EXPECT_EQ(open_itk_image(folder / "b.mha")->geometry(0).spacing, (Spacing{0.01, 0.01, 0.02}));
  for (const std::string unit : {"mm", "?"}) {
    EXPECT_EQ(opened(unit)->geometry(0).spacing, (Spacing{10, 10, 20})) << unit;
    EXPECT_EQ(opened(unit)->warnings(), std::vector<std::string>()) << unit;
  }
  EXPECT_EQ(opened("furlong")->warnings().size(), 1U);
}

TEST(MetaImage, SaysThatItsIntensityFunctionIsNotApplied) {
  const Folder folder;
  const auto warnings = [&](const std::string& field) {
    folder.write("a.mha", "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n" + field +
                              "DimSize = 2 2 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                              bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
    return open_itk_image(folder / "a.mha")->warnings();
  };
  EXPECT_TRUE(warnings("").empty());
  EXPECT_TRUE(warnings("ElementToIntensityFunctionSlope = 1\nElementToIntensityFunctionOffset = 0\n").empty());
  ASSERT_EQ(warnings("ElementToIntensityFunctionOffset = -1024\n").size(), 1U);
  EXPECT_NE(warnings("ElementToIntensityFunctionSlope = 2\n")[0].find("is not applied"), std::string::npos);
}

TEST(ItkImage, OfOtherContentIsNone) {
  const Folder folder;
  folder.write("text.nrrd", "no image at all");
  folder.write("empty.mha", "");
  EXPECT_FALSE(open_itk_image(folder / "text.nrrd"));
  EXPECT_FALSE(open_itk_image(folder / "empty.mha"));
  EXPECT_FALSE(open_itk_image(folder.path()));
}

TEST(ItkImage, ThatCannotBeUsedSaysWhy) {
  const Folder folder;
  const std::string eight = bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7});
  const auto expect = [&](Errc code, const std::string& text) {
    folder.write("a.nrrd", text);
    EXPECT_EQ(code_of_reading(folder / "a.nrrd"), code) << text;
  };
  expect(Errc::corrupt,
         "NRRD0004\ntype: short\ndimension: 3\nsizes: 2 2 2000000000\nencoding: raw\nendian: little\n\n" + eight);
  expect(Errc::corrupt,
         "NRRD0004\ntype: short\ndimension: 3\nsizes: 4000000000 4000000000 4000000000\nencoding: gzip\n"
         "endian: little\n\n" +
             eight);
  expect(Errc::corrupt, "NRRD0004\ntype: short\n\n" + eight);
  expect(Errc::corrupt, "NRRD0004\ntype: short\ndimension: 3\nsizes: 2 0 2\nencoding: raw\nendian: little\n\n" + eight);
  expect(Errc::corrupt, nrrd("encoding: text\n", "0 1 2 3 4 5 6"));
  expect(Errc::corrupt, nrrd("encoding: raw\nendian: little\ndata file: nowhere.raw\n", ""));
  expect(Errc::unsupported, nrrd("encoding: raw\nendian: little\ndata file: LIST\n", ""));
  folder.write("elsewhere.raw", eight);
  for (const std::string& name : {(folder / "elsewhere.raw").string(), std::string("../x/elsewhere.raw"),
                                  std::string("./a/../../x/elsewhere.raw"), std::string("..")}) {
    expect(Errc::unsupported, nrrd("encoding: raw\nendian: little\ndata file: " + name + "\n", ""));
  }
  expect(Errc::unsupported,
         "NRRD0004\ntype: short\ndimension: 3\nsizes: 2 2 2\nkinds: vector domain domain\n"
         "encoding: raw\nendian: little\n\n" +
             eight);
  expect(Errc::unsupported,
         "NRRD0004\ntype: short\ndimension: 5\nsizes: 2 2 2 1 1\nencoding: raw\nendian: little\n\n" + eight);
  expect(Errc::unsupported,
         nrrd("encoding: raw\nendian: little\n", bytes<std::int32_t>({0, 1, 2, 3, 4, 5, 6, 16777217}), "int"));
  expect(Errc::unsupported,
         nrrd("encoding: raw\nendian: little\n", bytes<double>({0, 1, 2, 3, 4, 5, 6, 1e300}), "double"));
}

TEST(MetaImage, IsReadInEitherByteOrder) {
  const Folder folder;
  for (const bool big : {false, true}) {
    folder.write("a.mha",
                 std::string("ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = ") +
                     (big ? "True" : "False") +
                     "\nDimSize = 2 2 1\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                     (big ? bytes<std::int16_t>({0, 0x100, 0x200, -0x601}) : bytes<std::int16_t>({0, 1, 2, -7})));
    EXPECT_EQ(read_volume(*open_itk_image(folder / "a.mha")), (std::vector<float>{0, 1, 2, -7})) << big;
  }
}

TEST(MetaImage, MaySkipBytesOfItsData) {
  const Folder folder;
  folder.write("a.mhd",
               "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nHeaderSize = 3\n"
               "DimSize = 2 2 1\nElementType = MET_SHORT\nElementDataFile = a.raw\n");
  folder.write("a.raw", "abc" + bytes<std::int16_t>({0, 1, 2, -7}));
  EXPECT_EQ(read_volume(*open_itk_image(folder / "a.mhd")), (std::vector<float>{0, 1, 2, -7}));
}

/// What ITK cannot read it fills with zeros.
TEST(MetaImage, WithLessThanItSkipsAndHoldsIsCorrupt) {
  const Folder folder;
  const auto write = [&](const std::string& skipped, const std::string& more = "") {
    folder.write("a.mhd", "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n" + more +
                              "HeaderSize = " + skipped +
                              "\nDimSize = 2 2 1\nElementType = MET_SHORT\nElementDataFile = a.raw\n");
  };
  folder.write("a.raw", "abc" + bytes<std::int16_t>({0, 1, 2, -7}));
  for (const char* skipped : {"-1", "3"}) {
    write(skipped);
    EXPECT_EQ(read_volume(*open_itk_image(folder / "a.mhd")), (std::vector<float>{0, 1, 2, -7})) << skipped;
  }
  write("0");
  EXPECT_EQ(read_volume(*open_itk_image(folder / "a.mhd"))[0], 'a' + 256 * 'b');
  for (const char* skipped : {"4", "11", "999999999"}) {
    write(skipped);
    EXPECT_EQ(code_of_reading(folder / "a.mhd"), Errc::corrupt) << skipped;
  }
  write("9", "HeaderSize = 0\n");
  EXPECT_EQ(code_of_reading(folder / "a.mhd"), Errc::corrupt);
  folder.write("a.raw", bytes<std::int16_t>({0, 1, 2}));
  for (const char* skipped : {"-1", "0"}) {
    write(skipped);
    EXPECT_EQ(code_of_reading(folder / "a.mhd"), Errc::corrupt) << skipped;
  }
}

TEST(MetaImage, OfTextIsReadAndCountsItsVoxels) {
  const Folder folder;
  const std::string header =
      "ObjectType = Image\nNDims = 3\nBinaryData = False\nDimSize = 2 2 2\n"
      "ElementType = MET_SHORT\nElementDataFile = LOCAL\n";
  folder.write("a.mha", header + "0 1 2 3 4 5 6 -7\n");
  EXPECT_EQ(read_volume(*open_itk_image(folder / "a.mha")), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, -7}));
  folder.write("a.mha", header + "0 1 2 3 4 5 6\n");
  EXPECT_EQ(code_of_reading(folder / "a.mha"), Errc::corrupt);
}

TEST(ItkImage, OfHeadersThatBreakItkIsRefused) {
  const Folder folder;
  const std::string eight = bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7});
  const std::string fields = "encoding: raw\nendian: little\n", endless(5000, 'A');
  for (const auto& extra : {"space: " + endless + "\n", endless + "\n", "labels: " + endless + "\n"}) {
    folder.write("a.nrrd", nrrd(fields + extra, eight));
    EXPECT_EQ(code_of_reading(folder / "a.nrrd"), Errc::corrupt);
  }
  folder.write("a.nrrd", nrrd(fields + "note:=" + endless + "\n# " + endless + "\n", eight));
  EXPECT_EQ(read_volume(*open_itk_image(folder / "a.nrrd"))[7], 7) << "free text may be long";
  folder.write("a.nrrd", nrrd(fields + "data file: " + endless.substr(0, 350) + "\n", ""));
  EXPECT_EQ(code_of_reading(folder / "a.nrrd"), Errc::corrupt);

  const auto metaimage = [&](const std::string& axes, const std::string& extra) {
    folder.write("a.mha", "ObjectType = Image\nNDims = " + axes + "\n" + extra +
                              "BinaryData = True\nDimSize = 2 2 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                              eight);
    return code_of_reading(folder / "a.mha");
  };
  for (const auto* axes : {"4294967297", "2147483648", "-1", "0", "11", "x"}) {
    EXPECT_EQ(metaimage(axes, ""), Errc::corrupt) << axes;
  }
  EXPECT_EQ(metaimage("2", ""), Errc::corrupt) << "three sizes for two axes";
  for (const auto* again : {"NDims = -1\n", "NDims: -1\n", " NDims =: -1\n", "DimSize = 2 2\n"}) {
    EXPECT_EQ(metaimage("3", again), Errc::corrupt) << again << "ITK takes the last, and may not return";
  }
  EXPECT_EQ(metaimage("3", endless + " = 1\n"), Errc::corrupt);
  EXPECT_EQ(metaimage("3", "Comment = " + endless + "\n"), Errc::corrupt);
  EXPECT_EQ(metaimage("3", "Comment: " + endless + "\n"), Errc::corrupt);
  EXPECT_EQ(metaimage("3", "Remark: " + endless + "\n"), Errc::corrupt);
  for (const auto& line :
       {endless.substr(0, 300), endless.substr(0, 300) + ": 1", "Modality =\n" + endless.substr(0, 300)}) {
    EXPECT_EQ(metaimage("3", line + "\n"), Errc::corrupt) << line;
  }
}

/// ITK copies each word of the voxels into a buffer, whatever its length.
TEST(ItkImage, OfTextVoxelsHasNoLongWords) {
  const Folder folder;
  for (const char letter : {'A', '1', '\1', '\xff', ','}) {
    folder.write("a.nrrd", "NRRD0004\ntype: short\ndimension: 3\nsizes: 2 2 2\nencoding: text\n\n0 1 2 3 4 5 6 7" +
                               std::string(5000, letter) + " 8 9\n");
    EXPECT_EQ(code_of_reading(folder / "a.nrrd"), Errc::corrupt);
  }
}

/// ITK copies some fields into 255 bytes, whatever their length.
TEST(ItkImage, OfTextThatItkHasNoRoomForIsRefused) {
  using namespace std::string_literals;
  const Folder folder;
  const auto metaimage = [&](const std::string& lines) {
    folder.write("a.mha",
                 "NDims = 3\n" + lines +
                     "\nBinaryData = True\nDimSize = 2 2 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                     bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
    return folder / "a.mha";
  };
  const std::string fits(254, 'A'), too_long(255, 'A'), other = "ObjectType = Image\n";
  for (const auto& field : {"Comment"s, "ObjectType"s, "ObjectSubType"s, "Name"s}) {
    EXPECT_EQ(read_volume(*open_itk_image(metaimage(other + field + " = " + fits)))[7], 7) << field;
    for (const auto& line : {field + " = ", field + "=", field + ": ", " " + field + " == : ", "\v" + field + " =",
                             field + "\0x = "s, field + " =\n", field + " : \n = ", field + "\n", field + "\n= "}) {
      EXPECT_EQ(code_of_reading(metaimage(other + line + too_long)), Errc::corrupt) << line;
    }
    EXPECT_EQ(code_of_reading(metaimage(other + field + " = short\n" + field + " = " + too_long)), Errc::corrupt);
  }
  EXPECT_EQ(read_volume(*open_itk_image(metaimage(other + "Remark = " + std::string(400, 'A'))))[7], 7);
}

TEST(ItkImage, FieldsThatAreTooLongToBeWrittenAreToldOf) {
  const Folder folder;
  folder.write("a.mha", "ObjectType = Image\nNDims = 3\nRemark=" + std::string(3999, 'A') +
                            "\nBinaryData = True\nDimSize = 2 2 2\nElementType = MET_SHORT\nElementDataFile = LOCAL\n" +
                            bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  const auto image = open_itk_image(folder / "a.mha");
  const auto voxels = read_volume(*image);
  expect_error(
      Errc::unsupported, (folder / "b.mha").string() + ": a field in the header of the input is too long", [&] {
        write_volumes(*image->writer(folder / "b.mha", io::VoxelDomain::real, {}), image->geometry(0), {voxels});
      });
  EXPECT_FALSE(fs::exists(folder / "b.mha"));
}

/// Headers with words and lines put in, taken out and swapped are read or refused: nothing ends the program, or never
/// comes back. Set QUIETVOX_MUTATIONS for more than the few of an ordinary run.
TEST(ItkImage, OfADamagedHeaderIsReadOrRefused) {
  const char* const wanted = std::getenv("QUIETVOX_MUTATIONS");
  const int mutations = wanted ? std::atoi(wanted) : 1000;
  const Folder folder;
  const std::string text = "0 1 2 3 4 5 6 7\n", eight = bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7});
  const std::string fields =
      "ObjectType = Image\nNDims = 3\nOffset = 0 0 0\nTransformMatrix = 1 0 0 0 1 0 0 0 1\nElementSpacing = 1 1 1\n"
      "DimSize = 2 2 2\nElementType = MET_SHORT\n";
  const std::vector<std::string> headers{
      fields + "BinaryData = False\nElementDataFile = LOCAL\n" + text,
      fields + "BinaryData = True\nCompressedData = False\nElementDataFile = LOCAL\n" + eight,
      nrrd("encoding: raw\nendian: little\nspacings: 1 1 1\nkinds: domain domain domain\n", eight),
      nrrd("encoding: text\nspace: left-posterior-superior\nspace directions: (1,0,0) (0,1,0) (0,0,1)\n", text)};
  std::vector<std::string> words{"0",
                                 "-1",
                                 "11",
                                 "99999999999999999999",
                                 "nan",
                                 "1e308",
                                 "LIST",
                                 "LOCAL",
                                 "-",
                                 "a%d.raw",
                                 "MET_STRING",
                                 "True",
                                 "gzip",
                                 "hex",
                                 std::string(1, '\0'),
                                 "\xff",
                                 "\r",
                                 "\n",
                                 "=",
                                 ":",
                                 ":=",
                                 "#",
                                 "(1,0,0)",
                                 "none",
                                 "Comment = ",
                                 "Name: ",
                                 "NDims = ",
                                 "dimension: ",
                                 "sizes: ",
                                 "byte skip: ",
                                 "labels: ",
                                 "content: ",
                                 "\""};
  for (const std::size_t length : {180, 254, 300, 480, 1000, 5000}) words.emplace_back(length, 'A');
  for (const int count : {40, 150})
    words.push_back([&] {
      std::string numbers;
      for (int i = 0; i < count; ++i) numbers += "1 ";
      return numbers;
    }());
  std::mt19937 random(16);
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : random() % end; };
  const auto damaged = [&](std::string header) {
    for (std::size_t step = 1 + below(4); step > 0; --step) {
      const std::size_t place = below(header.size()), from = header.rfind('\n', below(header.size())) + 1;
      const std::size_t line = header.find('\n', from) - from, value = header.find_first_of("=:", from);
      const std::string& word = words[below(words.size())];
      switch (below(6)) {
        case 0: header.insert(place, word); break;
        case 1: header.erase(place, 1 + below(20)); break;
        case 2: header.insert(from, word + "\n"); break;
        case 3: header.insert(below(from), header.substr(from, line) + "\n"); break;
        case 4:
          header.replace(std::min(value, from), std::min(line, header.size()), header.substr(from, 8) + " = " + word);
          break;
        default:
          if (value != std::string::npos) header.insert(value + 1, " " + word + " ");
      }
    }
    return header;
  };
  auto* const messages = std::cerr.rdbuf(nullptr);  // ITK's
  int read = 0;
  for (int i = 0; i < mutations; ++i) {
    const std::string name = i % 4 < 2 ? "a.mha" : "a.nrrd";
    folder.write(name, damaged(headers[static_cast<std::size_t>(i % 4)]));
    alarm(20);
    try {
      if (const auto image = open_itk_image(folder / name)) {
        std::vector<std::vector<float>> volumes;
        for (std::size_t volume = 0; volume < image->volume_count(); ++volume)
          volumes.push_back(read_volume(*image, volume));
        write_volumes(*image->writer(folder / ("o" + name), io::VoxelDomain::real, {.force = true}), image->geometry(0),
                      volumes);
        ++read;
      }
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Errc::internal) << error.what() << "\n" << folder.read(name);
      EXPECT_EQ(std::string(error.what()).find("/proc/self"), std::string::npos) << error.what();
    }
    alarm(0);
  }
  std::cerr.rdbuf(messages);
  EXPECT_GT(read, 0);
  EXPECT_LT(read, mutations);
}

/// `key:=value` is no field, whatever the key; ITK goes by the fields alone.
TEST(Nrrd, OnlyFieldsSayWhereTheVoxelsAre) {
  const Folder folder;
  folder.write("a.raw", bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, 7}));
  folder.write("=decoy", bytes<std::int16_t>({9, 9, 9, 9, 9, 9, 9, 9}));
  const std::string raw = "encoding:=x\nencoding: raw\nendian:=big\nendian: little\nbyte skip:=1\n";
  folder.write("a.nhdr", nrrd(raw + "data file:=decoy\ndata file: a.raw\n", ""));
  EXPECT_EQ(read_volume(*open_itk_image(folder / "a.nhdr")), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));

  const Folder elsewhere;
  elsewhere.write("secret", "7 7 7 7 7 7 7 7");
  elsewhere.write("decoy", "1 1 1 1 1 1 1 1");
  const std::string secret = (elsewhere / "secret").string();
  for (const char* name : {"=decoy", "-", "decoy", "x:=decoy"}) folder.write(name, "1 1 1 1 1 1 1 1");
  fs::create_directory(elsewhere / "below");
  fs::create_directory_symlink(elsewhere / "below", folder / "link");
  const auto expect_refused = [&](const std::string& fields) {
    folder.write("a.nhdr", nrrd("encoding: text\n" + fields, ""));
    const Errc code = code_of_reading(folder / "a.nhdr");
    EXPECT_TRUE(code == Errc::unsupported || code == Errc::corrupt) << fields;
  };
  expect_refused("data file:=decoy\ndata file: " + secret + "\n");
  expect_refused("data file:=decoy\ndatafile: " + secret + "\n");
  expect_refused(" data file: x:=decoy\ndata file: " + secret + "\n");
  expect_refused("data file : x:=decoy\ndata file: " + secret + "\n");
  expect_refused("data file:x:=decoy\ndata file: " + secret + "\n");
  expect_refused("data file: -\n");              // what is piped into the program
  expect_refused("data file: link/../decoy\n");  // beside what the link leads to
  expect_refused("data file: no\0/../decoy\n"s);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_refused("data file:=decoy\ndata file: " + (folder / "pipe").string() + "\n");
  expect_refused("data file: pipe\n");
}

TEST(ItkImage, OfTwoAxesHasOneSlice) {
  const Folder folder;
  folder.write(
      "a.nrrd",
      "NRRD0004\ntype: float\ndimension: 2\nsizes: 3 2\nspacings: 0.5 0.25\nencoding: text\n\n1 2 3 4 5 nan\n");
  const auto image = open_itk_image(folder / "a.nrrd");
  EXPECT_EQ(image->geometry(0).extent, (Extent{{3, 2, 1}}));
  EXPECT_EQ(image->geometry(0).spacing, (Spacing{0.5, 0.25, 1}));
  auto voxels = read_volume(*image);
  EXPECT_TRUE(std::isnan(voxels[5]));
  voxels[5] = 6;
  write_volumes(*image->writer(folder / "b.nrrd", io::VoxelDomain::real, {}), image->geometry(0), {voxels});
  EXPECT_NE(folder.read("b.nrrd").find("dimension: 2"), std::string::npos);
  EXPECT_EQ(read_volume(*open_itk_image(folder / "b.nrrd")), voxels);
}

TEST(ItkImage, KeepsTheBytesOfVoxelsThatAreNotChanged) {
  const Folder folder;
  const std::vector<double> stored{1.0 / 3, -0.0, std::nan("1"), 1e-300, -1e38, 5, 16777217, 0.1};
  std::vector<double> swapped = stored;
  for (double& number : swapped) {
    char* const first = reinterpret_cast<char*>(&number);
    std::reverse(first, first + sizeof number);
  }
  folder.write("little.nrrd", nrrd("endian: little\nencoding: raw\n", bytes(stored), "double"));
  folder.write("big.nrrd", nrrd("endian: big\nencoding: raw\n", bytes(swapped), "double"));
  const std::string header =
      "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nDimSize = 2 2 2\n";
  folder.write("a.mha", header + "ElementType = MET_DOUBLE\nElementDataFile = LOCAL\n" + bytes(stored));
  for (const std::string name : {"little.nrrd", "big.nrrd", "a.mha"}) {
    const auto source = open_itk_image(folder / name);
    auto voxels = read_volume(*source);
    voxels[1] = 0;  // the other zero is no change
    voxels[5] = 6;
    const std::string output = "out-" + name;
    write_volumes(*source->writer(folder / output, io::VoxelDomain::real, {}), source->geometry(0), {voxels});
    std::vector<double> expected = stored;
    expected[5] = 6;
    const std::string written = folder.read(output);
    EXPECT_EQ(written.substr(written.size() - 64), bytes(expected)) << name;
  }
}

TEST(ItkImage, OfIntegersKeepsItsVoxelWhereAFilterGivesNone) {
  const Folder folder;
  folder.write("a.nrrd", nrrd("endian: little\nencoding: raw\n", bytes<std::int16_t>({0, 1, 2, 3, 4, 5, 6, -7})));
  const auto source = open_itk_image(folder / "a.nrrd");
  std::vector<float> voxels(8, 9);
  voxels[7] = std::nanf("");
  write_volumes(*source->writer(folder / "b.nrrd", io::VoxelDomain::real, {}), source->geometry(0), {voxels});
  EXPECT_EQ(read_volume(*open_itk_image(folder / "b.nrrd")), (std::vector<float>{9, 9, 9, 9, 9, 9, 9, -7}));
  EXPECT_EQ(code_of([&] {
              write_volumes(
                  *create_itk_image(folder / "c.nrrd", source->geometry(0), 1, {.output_type = io::ScalarType::int16}),
                  source->geometry(0), {voxels});
            }),
            Errc::unsupported)
      << "a new integer image has nothing to put there";
  EXPECT_FALSE(folder.names().contains("c.nrrd"));
}

TEST(ItkImage, NeverOverwritesTheVoxelsOfItsSource) {
  const Folder folder;
  write_volumes(*create_itk_image(folder / "a.mhd", geometry, 1, {}), geometry, {std::vector<float>(60, 5)});
  const auto image = open_itk_image(folder / "a.mhd");
  // a.nhdr would keep its voxels in a.raw, where those of a.mhd are.
  EXPECT_EQ(code_of([&] { image->writer(folder / "a.nhdr", io::VoxelDomain::real, {.force = true}); }),
            Errc::output_path);
  EXPECT_EQ(read_volume(*image)[0], 5);
}

TEST(ItkImage, EveryTypeIsWrittenAndReadBack) {
  const Folder folder;
  using Type = io::ScalarType;
  for (const char* name : {"a.nrrd", "b.mha"}) {
    for (const Type type : {Type::uint8, Type::int8, Type::uint16, Type::int16, Type::uint32, Type::int32, Type::uint64,
                            Type::int64, Type::float32, Type::float64}) {
      SCOPED_TRACE(name + std::string(to_string(type)));
      write_volumes(*create_itk_image(folder / name, geometry, 1, {.force = true, .output_type = type}), geometry,
                    {std::vector<float>(60, 100)});
      EXPECT_EQ(open_itk_image(folder / name)->info().type, type);
    }
  }
}

TEST(ItkImage, RefusesOtherEndings) {
  const Folder folder;
  EXPECT_EQ(code_of([&] { create_itk_image(folder / "a.png", geometry, 1, {}); }), Errc::output_path);
  EXPECT_EQ(code_of([&] { create_itk_image(folder / "a.NHDR", geometry, 1, {}); }), Errc::output_path);
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace quietvox::test
