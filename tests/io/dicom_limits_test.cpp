// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Files made to make a reader run out of stack, memory or time.
#include <gtest/gtest.h>
#include <pthread.h>

#include <fstream>

#include "io/dicom_result.hpp"
#include "io/image.hpp"
#include "support/expect_error.hpp"
#include "support/make_dicom.hpp"
#include "support/raw_dicom.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

/// Runs `body` on a thread with half a MiB of stack.
void on_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{512} << 10);
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
                   [&] { io::open_dicom(file_, {.execution = {.threads = 1, .memory_limit = {}}}); });
      EXPECT_FALSE(io::is_dicom_result(file_));
    });
  }
}

}  // namespace
}  // namespace quietvox::test
