// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"
#include "reader_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const quietvox::fuzz::ScratchFile file("a.dcm", data, size);
  quietvox::fuzz::read_all([&] { return quietvox::io::open_dicom(file.path(), quietvox::fuzz::in_little_memory()); });
  return 0;
}
