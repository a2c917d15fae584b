// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <array>
#include <fstream>

#include "itk_adapters/itk_file.hpp"

namespace quietvox {
namespace {

using Buffer = std::array<char, std::size_t{1} << 16>;

std::size_t read_some(std::ifstream& file, Buffer& buffer) {
  file.read(buffer.data(), buffer.size());
  return static_cast<std::size_t>(file.gcount());
}

/// Bytes that a gzip or zlib stream holds up to its end or `enough`; none where it ends early or its checksum is wrong.
std::optional<std::int64_t> inflated_bytes(std::ifstream& file, std::int64_t enough) {
  z_stream stream{};
  constexpr int any_header = 15 + 32;
  if (inflateInit2(&stream, any_header) != Z_OK) throw Error(Errc::out_of_memory, "no memory to decompress with");
  Buffer in, out;
  std::int64_t total = 0;
  bool ended = false;
  while (!ended || total < enough) {
    if (stream.avail_in == 0) {
      stream.avail_in = static_cast<uInt>(read_some(file, in));
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      if (stream.avail_in == 0) break;
    }
    if (ended) inflateReset(&stream);  // another member follows
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    total += static_cast<std::int64_t>(out.size() - stream.avail_out);
    ended = status == Z_STREAM_END;
    if (status != Z_OK && !ended) break;
  }
  inflateEnd(&stream);
  if (!ended) return std::nullopt;
  return total;
}

std::int64_t words(std::ifstream& file) {
  Buffer buffer;
  std::int64_t count = 0;
  bool within = false;
  while (const std::size_t size = read_some(file, buffer)) {
    for (std::size_t i = 0; i < size; ++i) {
      const bool letter = buffer[i] > ' ';
      count += letter && !within;
      within = letter;
    }
  }
  return count;
}

}  // namespace

void check_voxels_complete(const ItkHeader& header, std::int64_t values, std::int64_t bytes) {
  if (!header.offset) return;
  std::ifstream file(header.data, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(*header.offset));
  bool complete = true;
  if (header.encoding == "gzip") complete = inflated_bytes(file, bytes).value_or(0) >= bytes;
  if (header.encoding == "text") complete = words(file) >= values;
  if (!complete) {
    throw Error(Errc::corrupt, header.header.string() + ": the voxels in " + header.data.filename().string() +
                                   " end early or are damaged");
  }
}

}  // namespace quietvox
