// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/dictionary.hpp"

#include <dcmtk/dcmdata/dcdict.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

// clang-format off
asm(".section .rodata\n"
    "quietvox_dictionaries:\n"
#include "dicom_dictionaries.inc"
    "quietvox_dictionaries_end: .byte 0\n"
    ".previous\n");
// clang-format on
extern "C" const char quietvox_dictionaries[], quietvox_dictionaries_end[];

namespace quietvox::io::dicom {

bool load_dictionaries() {
  const auto size = static_cast<std::size_t>(quietvox_dictionaries_end - quietvox_dictionaries);
  const int file = memfd_create("dicom.dic", MFD_CLOEXEC);  // DCMTK reads dictionaries from files alone
  if (file < 0) return false;
  bool is_loaded = false;
  if (write(file, quietvox_dictionaries, size) == static_cast<ssize_t>(size)) {
    is_loaded = dcmDataDict.wrlock().loadDictionary(("/proc/self/fd/" + std::to_string(file)).c_str());
    dcmDataDict.wrunlock();
  }
  close(file);
  return is_loaded;
}

}  // namespace quietvox::io::dicom
