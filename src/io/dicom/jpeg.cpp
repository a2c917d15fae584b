// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/jpeg.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "io/dicom/toolkit.hpp"

namespace quietvox::io::dicom {

void check_jpeg(std::span<const std::uint8_t> stream, std::int64_t columns, std::int64_t rows,
                const std::string& transfer_syntax_uid) {
  constexpr int most_scans = 64;
  const E_TransferSyntax syntax = DcmXfer(transfer_syntax_uid.c_str()).getXfer();
  if (syntax == EXS_RLELossless || syntax == EXS_JPEG2000LosslessOnly || syntax == EXS_JPEG2000) return;
  const bool is_jpeg_ls = syntax == EXS_JPEGLSLossless || syntax == EXS_JPEGLSLossy;
  const auto corrupt = [](const std::string& what) { throw Error(Errc::corrupt, "its JPEG pixels " + what); };
  const int lowest = is_jpeg_ls ? 0x80 : 1;  // what follows 0xff and is lower belongs to the data
  const auto word = [&](std::size_t at) { return stream[at] << 8 | stream[at + 1]; };
  bool has_size = false;
  int scans = 0;
  for (std::size_t at = 2; at + 2 <= stream.size();) {
    const int marker = stream[at + 1];
    if (stream[at] != 0xff || marker == 0xff || marker < lowest) {
      ++at;
      continue;
    }
    if (marker == 0xd9) break;
    if (marker == 0x01) corrupt("contain a TEM marker, which is not allowed in files");
    const bool is_alone = marker >= 0xd0 && marker <= 0xd8;
    if (is_alone || at + 4 > stream.size()) {
      at += 2;
      continue;
    }
    const bool is_table = marker == 0xc4 || marker == 0xc8 || marker == 0xcc;
    if (((marker & 0xf0) == 0xc0 && !is_table) || marker == 0xf7) {
      if (at + 9 > stream.size()) break;
      if (word(at + 5) != rows || word(at + 7) != columns) {
        corrupt("are " + std::to_string(word(at + 7)) + " x " + std::to_string(word(at + 5)) + ", the header says " +
                std::to_string(columns) + " x " + std::to_string(rows));
      }
      has_size = true;
    }
    if (marker == 0xda && ++scans > most_scans) {
      corrupt("come in more than " + std::to_string(most_scans) + " scans");
    }
    at += 2 + static_cast<std::size_t>(std::max(word(at + 2), 2));
  }
  if (!has_size) corrupt("do not say how many they are; the stream is damaged");
}

}  // namespace quietvox::io::dicom
