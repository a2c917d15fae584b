// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Files made to make a reader run out of stack, memory or time.
#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dcpixseq.h>
#include <dcmtk/dcmdata/dcpxitem.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>

#include "io/dicom/result_series_key.hpp"
#include "io/dicom/toolkit.hpp"
#include "io/dicom_folder.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/raw_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr std::size_t small_stack = std::size_t{8} << 20;  // frames are larger
#else
constexpr std::size_t small_stack = std::size_t{512} << 10;
#endif

/// Runs `body` on a thread with a small stack.
void on_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, small_stack);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)), 0);
  pthread_join(thread, nullptr);
}

class DicomLimits : public ::testing::Test {
 protected:
  void write(const RawDicom& file) const { std::ofstream(file_, std::ios::binary) << file.bytes(); }
  std::unique_ptr<io::Image> open() const { return io::open_dicom(file_, {}); }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "image.dcm";
};

TEST_F(DicomLimits, SequencesMayBeNested64Deep) {
  write({.before_series = nested_sequences(0x0008, 0x1140, 64), .before_pixels = nested_sequences(0x0040, 0x0275, 64)});
  EXPECT_EQ(read_volume(*open()).extent, (Extent{{4, 4, 1}}));
  write({.before_series = nested_sequences(0x0008, 0x1140, 65)});
  expect_error(Errc::corrupt, "nested more than 64 deep", [&] { open(); });
}

/// Each pair of zeros begins a tag behind the pixels; the zeros are read once. By the square of their number it would
/// take minutes.
TEST_F(DicomLimits, ZerosBeforeOtherBytesAreReadOnce) {
  write({});
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) + (std::uintmax_t{64} << 20));
  std::ofstream(file_, std::ios::app) << 'x';
  expect_error(Errc::corrupt, "image.dcm", [&] { open(); });
}

TEST_F(DicomLimits, DeepSequencesAreRefusedWhereverTheyStand) {
  constexpr int deep = 10000;
  const std::string creator = raw_element(0x0009, 0x0010, "LO", "MAKER");
  const std::string half = nested_sequences(0x0008, 0x1140, deep);
  RawDicom deflated{.before_series = half};
  deflated.is_deflated = true;
  const RawDicom files[] = {
      {.before_series = half},
      {.before_series = half.substr(0, half.size() / 2)},
      {.before_series = nested_sequences_of_length(0x0008, 0x1140, deep)},
      {.before_series = creator + nested_sequences(0x0009, 0x1010, deep)},
      {.before_series = creator + nested_untyped_sequences(0x0009, 0x1010, deep)},
      {.before_series = nested_sequences(0x0009, 0x1010, 3, nested_untyped_sequences(0x0009, 0x1010, deep))},
      {.after_pixels = nested_sequences(0xfffa, 0xfffa, deep)},
      {.in_meta = nested_sequences(0x0002, 0x0102, deep)},
      deflated};
  for (const RawDicom& file : files) {
    write(file);
    on_small_stack([&] {
      expect_error(Errc::corrupt, "image.dcm: broken DICOM file: sequences are nested more than 64 deep",
                   [&] { io::open_dicom(file_, {.series_uid = {}, .execution = {.threads = 1, .memory_limit = {}}}); });
      EXPECT_TRUE(io::dicom_result_series_keys(file_, {}).empty());
    });
  }
}

TEST_F(DicomLimits, FramesTakeNoMoreMemoryThanTheirFileMay) {
  write({.columns = 1, .rows = 1, .frames = 60000});
  EXPECT_EQ(open()->volume_count(), 60000U);
  write({.columns = 1, .rows = 1, .frames = 4000000});
  expect_error(Errc::unsupported, "image.dcm: what its header says of 4000000 frames would take", [&] { open(); });
}

TEST_F(DicomLimits, DeflatedFilesUnpackToNoMoreThanTheyMay) {
  RawDicom file{.before_series = raw_element(0x0009, 0x0010, "LO", "MAKER") +
                                 raw_element(0x0009, 0x1010, "OB", std::string(std::size_t{200} << 20, '\0'))};
  file.is_deflated = true;
  write(file);
  EXPECT_EQ(read_volume(*open()).extent, (Extent{{4, 4, 1}}));
  file.before_series += raw_element(0x0009, 0x1011, "OB", std::string(std::size_t{56} << 20, '\0'));
  write(file);
  expect_error(Errc::unsupported, "image.dcm: what it holds would take 257 MiB of memory or more",
               [&] { read_volume(*open()); });
}

TEST_F(DicomLimits, ReadingKeepsToTheMemoryLimit) {
  write({.columns = 4096, .rows = 4096});
  Execution execution{.threads = 1, .memory_limit = std::size_t{80} << 20};
  EXPECT_EQ(read_volume(*io::open_dicom(file_, {.series_uid = {}, .execution = execution})).extent,
            (Extent{{4096, 4096, 1}}));
  execution.memory_limit = std::size_t{70} << 20;
  const auto image = io::open_dicom(file_, {.series_uid = {}, .execution = execution});
  execution.memory_limit = std::size_t{60} << 20;
  expect_error(Errc::out_of_memory, "a slice of 4096 x 4096 voxels would take 64 MiB of memory or more; at most 60 MiB",
               [&] { io::open_dicom(file_, {.series_uid = {}, .execution = execution}); });
  // What is parsed whole must fit too.
  write({.columns = 1024, .rows = 1024, .frames = 20});
  execution.memory_limit = std::size_t{12} << 20;
  expect_error(Errc::out_of_memory, "image.dcm: what it holds would take",
               [&] { read_volume(*io::open_dicom(file_, {.series_uid = {}, .execution = execution})); });
}

/// What stands before the pixels is overwritten once the file is open.
TEST_F(DicomLimits, AFileOfSeveralImagesIsParsedOnce) {
  for (const E_TransferSyntax syntax : {EXS_LittleEndianExplicit, EXS_RLELossless}) {
    DicomSpec spec{.columns = 64, .rows = 64, .frames = 3, .syntax = syntax};
    for (int i = 0; i < 3 * 64 * 64; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i * 40503U >> 4 & 0xfffU));
    write_dicom(file_, spec);
    for (const std::filesystem::path& input : {file_, folder_.path()}) {
      const Volume before = read_volume(*open(), 2);
      const auto image = io::open_dicom(input, {});
      std::fstream(file_, std::ios::binary | std::ios::in | std::ios::out) << std::string(400, 'x');
      EXPECT_EQ(read_volume(*image, 2).voxels, before.voxels);
      write_dicom(file_, spec);
    }
  }
}

TEST_F(DicomLimits, DecodingKeepsToTheMemoryLimit) {
  Execution execution{.threads = 1, .memory_limit = std::size_t{30} << 20};
  write_dicom(
      file_,
      {.columns = 2048, .rows = 2048, .cells = std::vector<std::uint16_t>(2048 * 2048, 7), .syntax = EXS_RLELossless});
  expect_error(Errc::out_of_memory, "image.dcm: decoding a frame would take 40 MiB",
               [&] { read_volume(*io::open_dicom(file_, {.series_uid = {}, .execution = execution})); });
  write_dicom(file_, {.columns = 512,
                      .rows = 512,
                      .frames = 20,
                      .cells = std::vector<std::uint16_t>(20 * 512 * 512, 7),
                      .syntax = EXS_RLELossless});
  execution.memory_limit = std::size_t{8} << 20;
  expect_error(Errc::out_of_memory, "image.dcm: the pixels of 20 frames would take 10 MiB",
               [&] { write_image(*open(), folder_ / "out.dcm", io::VoxelDomain::real, {}, {.execution = execution}); });
}

/// Before it is parsed, and while it is.
TEST_F(DicomLimits, ParsingEndsOnAStopRequest) {
  write({});
  std::stop_source stop;
  Execution execution{.threads = 1, .memory_limit = {}, .stop = stop.get_token()};
  const auto image = io::open_dicom(file_, {.series_uid = {}, .execution = execution});
  stop.request_stop();
  expect_error(Errc::cancelled, "stopped", [&] { io::open_dicom(file_, {.series_uid = {}, .execution = execution}); });
  expect_error(Errc::cancelled, "stopped", [&] { read_volume(*image); });
}

/// Seconds of processor time.
double time_of(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

/// Expects that `body` takes less than `most` times as long as `other`. Both are run in turn, twice or up to five
/// times, and the shortest time of each counts: other programs may hold up either.
void expect_ratio_of_times(double most, const std::function<void()>& body, const std::function<void()>& other) {
  constexpr int fewest_turns = 2, most_turns = 5;
  double of_body = std::numeric_limits<double>::infinity(), of_other = of_body;
  for (int turn = 0; turn < fewest_turns || (turn < most_turns && of_body >= most * of_other); ++turn) {
    of_other = std::min(of_other, time_of(other));
    of_body = std::min(of_body, time_of(body));
  }
  EXPECT_LT(of_body, most * of_other) << of_body << " s, " << of_other << " s";
}

TEST_F(DicomLimits, TimeIsInProportionToTheFrames) {
  const auto opening_takes = [&](int frames) {
    const std::string shared =
        raw_item(raw_element(0x0020, 0x9116, "SQ", raw_item(raw_element(0x0020, 0x0037, "DS", "1\\0\\0\\0\\1\\0"))) +
                 raw_element(0x0028, 0x9110, "SQ", raw_item(raw_element(0x0028, 0x0030, "DS", "1\\1"))));
    std::string items;
    for (int i = 0; i < frames; ++i) {
      items += raw_item(
          raw_element(0x0020, 0x9113, "SQ", raw_item(raw_element(0x0020, 0x0032, "DS", "0\\0\\" + std::to_string(i)))));
    }
    write({.columns = 2,
           .rows = 2,
           .frames = frames,
           .sop_class = "1.2.840.10008.5.1.4.1.1.2.1",
           .before_pixels = raw_element(0x5200, 0x9229, "SQ", shared) + raw_element(0x5200, 0x9230, "SQ", items)});
    return time_of([&] { EXPECT_EQ(open()->geometry(0).extent.z, frames); });
  };
  // In proportion would be 6 times, quadratic 36 times.
  opening_takes(1000);
  const double few = opening_takes(10000), many = opening_takes(60000);
  EXPECT_LT(many, 24 * few) << few << " s, " << many << " s";
}

TEST_F(DicomLimits, TimeIsInProportionToTheElements) {
  std::string elements;
  for (int group = 0x0029; group < 0x0039; group += 2) {
    for (int element = 0x1000; element <= 0xffff; ++element) elements += raw_number(group, element, 7);
  }
  write({.before_pixels = elements});
  open();
  const auto parse = [&] { DcmFileFormat().loadFile(file_.c_str()); };
  const auto open_it = [&] { open(); };
  int written = 0;
  const auto write_new = [&] { write_image(*open(), folder_ / (std::to_string(written++) + ".dcm")); };
  expect_ratio_of_times(3, open_it, parse);
  expect_ratio_of_times(7, write_new, parse);
}

/// So many private elements without values.
std::string empty_elements(int count, bool descending) {
  std::string elements;
  for (int i = 0; i < count; ++i) {
    const int place = descending ? count - 1 - i : i, each = 0xe000;
    elements += raw_element(0x0029 + 2 * (place / each), 0x1000 + place % each, "LO", "");
  }
  return elements;
}

TEST_F(DicomLimits, DisorderTakesNoTimeWithoutEnd) {
  const char* const refusal =
      "image.dcm: broken DICOM file: too many private creators, or duplicate or out-of-order elements";
  const std::string descending = empty_elements(200000, true);
  std::string twice;
  for (int i = 0; i < 500000; ++i) twice += raw_element(0x7fe1, 0x1010, "LO", "");
  std::string creators;
  for (int group = 0x0029; group < 0x0029 + 2 * 200; group += 2) {
    for (int element = 0x10; element < 0x100; ++element) creators += raw_element(group, element, "LO", "MAKER");
    for (int element = 0x1000; element < 0x1400; ++element) creators += raw_element(group, element, "LO", "");
  }
  RawDicom deflated{.before_pixels = descending};
  deflated.is_deflated = true;
  for (const RawDicom& file :
       {RawDicom{.before_pixels = descending},
        {.before_series = raw_element(0x0008, 0x1140, "SQ", raw_item("") + raw_item(descending))},
        {.after_pixels = twice},
        {.before_pixels = creators},
        deflated}) {
    write(file);
    expect_error(Errc::corrupt, refusal, [&] { open(); });
    EXPECT_TRUE(io::dicom_result_series_keys(file_, {}).empty());
  }

  // Zeros without end, which take no place on the disk.
  write({});
  std::filesystem::resize_file(file_, std::uintmax_t{1} << 40);
  expect_error(Errc::corrupt, refusal, [&] { open(); });
  const std::string start = RawDicom().bytes().substr(0, 132);
  for (const std::string& open_item : {std::string(), std::string("\x08\0\x40\x11SQ\0\0\xff\xff\xff\xff"
                                                                  "\xfe\xff\x00\xe0\xff\xff\xff\xff",
                                                                  20)}) {
    std::ofstream(file_, std::ios::binary) << start << open_item;
    std::filesystem::resize_file(file_, std::uintmax_t{1} << 40);
    expect_error(Errc::corrupt, refusal, [&] { open(); });
  }
}

/// As old writers leave it, and padding to whole blocks.
TEST_F(DicomLimits, SomeDisorderIsRead) {
  write({.before_pixels = empty_elements(1000, true), .after_pixels = std::string(1 << 16, '\0')});
  EXPECT_EQ(read_volume(*open()).extent, (Extent{{4, 4, 1}}));
  write({.before_pixels = empty_elements(200000, false)});
  EXPECT_EQ(read_volume(*open()).extent, (Extent{{4, 4, 1}}));
  // What is in order in one byte order is not in the other.
  write_dicom(file_, {.change =
                          [](DcmDataset& data) {
                            data.putAndInsertString({0x0029, 0x0010}, "MAKER");
                            for (Uint16 i = 0; i < 30000; ++i) {
                              const DcmTag tag(0x0029, static_cast<Uint16>(0x1000 + i), EVR_LO);
                              data.insert(new DcmLongString(tag));
                            }
                          },
                      .syntax = EXS_BigEndianExplicit});
  EXPECT_EQ(read_volume(*open()).extent, open()->geometry(0).extent);
}

TEST_F(DicomLimits, ImagesOfTooManyKindsAreRefused) {
  const auto write_frames = [&](int count) {
    std::string items;
    for (int i = 0; i < count; ++i) {
      const double echo_time = std::pow(1.002, i);
      const std::string time(reinterpret_cast<const char*>(&echo_time), sizeof echo_time);
      items +=
          raw_item(raw_element(0x0018, 0x9114, "SQ", raw_item(raw_element(0x0018, 0x9082, "FD", time))) +
                   raw_element(0x0020, 0x9113, "SQ", raw_item(raw_element(0x0020, 0x0032, "DS", "0\\0\\0"))) +
                   raw_element(0x0020, 0x9116, "SQ", raw_item(raw_element(0x0020, 0x0037, "DS", "1\\0\\0\\0\\1\\0"))));
    }
    write({.columns = 1,
           .rows = 1,
           .frames = count,
           .sop_class = "1.2.840.10008.5.1.4.1.1.4.1",
           .before_pixels = raw_element(0x5200, 0x9230, "SQ", items)});
  };
  write_frames(900);
  EXPECT_EQ(open()->volume_count(), 900U);
  write_frames(50000);
  expect_error(Errc::unsupported, "image.dcm: the images of its series differ in too many ways", [&] { open(); });
}

TEST_F(DicomLimits, ParsingEndsOnAStopRequestThatComesMeanwhile) {
  write({.before_pixels = empty_elements(400000, false)});
  std::stop_source stop;
  const Execution execution{.threads = 1, .memory_limit = {}, .stop = stop.get_token()};
  const double whole = time_of([&] { io::DicomFolder(file_, execution); });
  io::ScanGuard guard;
  guard.before = [&](const std::filesystem::path&) { stop.request_stop(); };
  const double stopped =
      time_of([&] { expect_error(Errc::cancelled, "stopped", [&] { io::DicomFolder(file_, execution, guard); }); });
  EXPECT_LT(stopped, whole / 4) << stopped << " s, " << whole << " s";
}

TEST_F(DicomLimits, StreamsAreNoLargerThanTheirHeadersSay) {
  write_dicom(file_, {.columns = 40, .rows = 30, .syntax = EXS_JPEGProcess14SV1});
  std::ifstream in(file_, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  const std::size_t frame_header = bytes.find("\xff\xc3");
  ASSERT_NE(frame_header, std::string::npos);
  bytes.replace(frame_header + 5, 4, "\xff\xff\xff\xff");
  std::ofstream(file_, std::ios::binary) << bytes;
  expect_error(Errc::corrupt, "its JPEG pixels are 65535 x 65535, the header says 40 x 30",
               [&] { read_volume(*open()); });
}

/// Marker bytes of JPEG in front of the frame header, or instead of it.
TEST_F(DicomLimits, MarkersHideNoFrameHeader) {
  write_dicom(file_, {.columns = 40, .rows = 30, .syntax = EXS_JPEGProcess14SV1});
  const auto file = parse_dicom(file_);
  DcmPixelItem* item = nullptr;
  ASSERT_TRUE(fragments_of(*file, EXS_JPEGProcess14SV1).getItem(item, 1).good());
  Uint8* bytes = nullptr;
  ASSERT_TRUE(item->getUint8Array(bytes).good());
  const std::string stream(reinterpret_cast<const char*>(bytes), item->getLength());
  const std::size_t at = stream.find("\xff\xc3");
  ASSERT_NE(at, std::string::npos);
  const auto put_stream = [&](std::string changed) {
    changed.resize(changed.size() + changed.size() % 2);
    const auto* const begin = reinterpret_cast<const Uint8*>(changed.data());
    ASSERT_TRUE(item->putUint8Array(begin, changed.size()).good());
    ASSERT_TRUE(file->saveFile(file_.c_str(), EXS_JPEGProcess14SV1).good());
  };
  const auto with = [&](const std::string& before, bool is_large) {
    std::string changed = stream;
    if (is_large) changed.replace(at + 5, 4, "\xff\xff\xff\xff");
    return changed.insert(at, before);
  };
  using namespace std::string_literals;
  for (const std::string& before : {""s, "\xff\xd0"s, "\xff\xd7"s, "\xff\xff"s}) {
    put_stream(with(before, true));
    expect_error(Errc::corrupt, "its JPEG pixels are 65535 x 65535", [&] { read_volume(*open()); });
    put_stream(with(before, false));
    EXPECT_EQ(read_volume(*open()).extent, (Extent{{40, 30, 1}}));
  }
  put_stream(with("\xff\x01", false));  // DCMTK does not come back from one
  expect_error(Errc::corrupt, "its JPEG pixels", [&] { read_volume(*open()); });
  put_stream(with("\xff\xd9", false));
  expect_error(Errc::corrupt, "its JPEG pixels", [&] { read_volume(*open()); });
  put_stream(stream.substr(0, at));
  expect_error(Errc::corrupt, "its JPEG pixels", [&] { read_volume(*open()); });
  put_stream(stream.substr(0, at + 6));
  expect_error(Errc::corrupt, "its JPEG pixels", [&] { read_volume(*open()); });

  const std::size_t scan = stream.find("\xff\xda");
  ASSERT_NE(scan, std::string::npos);
  std::string scans = stream.substr(0, scan);
  for (int i = 0; i < 65; ++i) scans += stream.substr(scan, 10) + "data";
  put_stream(scans);
  expect_error(Errc::corrupt, "its JPEG pixels come in more than 64 scans", [&] { read_volume(*open()); });
}

/// A pipe may take the place of a file once it has been looked at.
TEST_F(DicomLimits, PipesAreNotWaitedFor) {
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  alarm(10);
  expect_error(Errc::input_path, "image.dcm: is not a regular file", [&] { io::dicom::looks_like_dicom(file_); });
  EXPECT_THROW(io::dicom::load_file(file_), Error);
  EXPECT_THROW(io::dicom::load_header(file_), Error);
  EXPECT_TRUE(io::dicom_result_series_keys(file_, {}).empty());
  alarm(0);
}

/// JPEG-LS has no markers below 0x80: such bytes behind 0xff are data.
TEST_F(DicomLimits, DataOfJpegLsHoldNoMarkers) {
  DicomSpec spec{.columns = 64, .rows = 64, .bits_stored = 16};
  for (int i = 0; i < 64 * 64; ++i) spec.cells.push_back(static_cast<std::uint16_t>(i * 40503U >> 3 ^ i * 2654435761U));
  spec.syntax = EXS_JPEGLSLossless;
  write_dicom(file_, spec);
  EXPECT_EQ(read_volume(*open()).extent, (Extent{{64, 64, 1}}));
}

/// DCMTK looks through a text from its beginning for each of its components.
TEST_F(DicomLimits, TimeIsInProportionToTheComponents) {
  const std::string type = raw_element(0x0008, 0x0008, "CS", "ORIGINAL\\PRIMARY\\AXIAL"),
                    spacing = raw_element(0x0028, 0x0030, "DS", "1\\1");
  for (const std::string& element : {type, spacing}) {
    for (const std::string vr : {"UC", "UN", "CS", "DS"}) {
      const auto opening_takes = [&](int components) {
        std::string text;
        for (int i = 0; i < components; ++i) text += vr == "CS" ? "A\\" : "1\\";
        std::string bytes = RawDicom().bytes();
        const auto word = [&](std::size_t at) { return (element[at + 1] & 0xff) << 8 | (element[at] & 0xff); };
        bytes.replace(bytes.find(element), element.size(), raw_element(word(0), word(2), vr, text));
        std::ofstream(file_, std::ios::binary) << bytes;
        return time_of([&] {
          try {
            open();
          } catch (const Error&) {  // so many numbers are no spacing
          }
        });
      };
      // In proportion would be 8 times, quadratic 64 times.
      const int most = vr[0] == 'U' ? 100000 : 30000;
      opening_takes(1000);
      const double few = opening_takes(most / 8), many = opening_takes(most);
      EXPECT_LT(many, 24 * few) << vr << ": " << few << " s, " << many << " s";
    }
  }
}

TEST_F(DicomLimits, NestedImagesAreNotDecodedWhereTheyAreTooLarge) {
  const auto nested_image = [](DcmDataset& data) {
    DcmItem* item = nullptr;
    data.findOrCreateSequenceItem(DCM_ContentSequence, item, 0);
    return item;
  };
  DicomSpec spec{.columns = 40, .rows = 30, .syntax = EXS_JPEGProcess14SV1};
  spec.change = [&](DcmDataset& data) {
    DcmItem& image = *nested_image(data);
    for (const auto& [key, number] : {std::pair(DCM_Rows, 8),
                                      {DCM_Columns, 8},
                                      {DCM_SamplesPerPixel, 1},
                                      {DCM_BitsAllocated, 8},
                                      {DCM_BitsStored, 8},
                                      {DCM_HighBit, 7},
                                      {DCM_PixelRepresentation, 0}}) {
      image.putAndInsertUint16(key, static_cast<Uint16>(number));
    }
    image.putAndInsertString(DCM_PhotometricInterpretation, "MONOCHROME2");
    const std::vector<Uint8> pixels(64, 7);
    image.putAndInsertUint8Array(DCM_PixelData, pixels.data(), pixels.size());
  };
  write_dicom(file_, spec);
  write_image(*open(), folder_ / "out.dcm");
  const auto file = parse_dicom(file_);
  for (const DcmTagKey& key : {DCM_Rows, DCM_Columns}) {
    nested_image(*file->getDataset())->putAndInsertUint16(key, 60000);
  }
  ASSERT_TRUE(file->saveFile(file_.c_str(), EXS_JPEGProcess14SV1).good());
  expect_error(Errc::unsupported, "image.dcm: decoding the images nested in it would take 3434 MiB of memory",
               [&] { write_image(*open(), folder_ / "other.dcm"); });
  for (const DcmTagKey& key : {DCM_Rows, DCM_Columns}) {
    nested_image(*file->getDataset())->putAndInsertUint16(key, 9);  // its stream says 8
  }
  ASSERT_TRUE(file->saveFile(file_.c_str(), EXS_JPEGProcess14SV1).good());
  expect_error(Errc::corrupt, "an image nested in it: its JPEG pixels are 8 x 8, the header says 9 x 9",
               [&] { write_image(*open(), folder_ / "other.dcm"); });
}

}  // namespace
}  // namespace quietvox::test
