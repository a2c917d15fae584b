// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/image.hpp"
#include "reader_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool is_gzip = size > 2 && data[0] == 0x1f && data[1] == 0x8b;
  const quietvox::fuzz::ScratchFile file(is_gzip ? "a.nii.gz" : "a.nii", data, size);
  quietvox::fuzz::read_all([&] { return quietvox::io::open_nifti(file.path(), quietvox::fuzz::in_little_memory()); });
  return 0;
}
