// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/image.hpp"

/// NIfTI files made byte by byte from the standard, without the code under test.
namespace quietvox::test {

using Bytes = std::vector<std::uint8_t>;

inline Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

inline void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::remove(path);  // some file systems wait for the disk when a file is overwritten
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

inline Bytes gzip(const Bytes& bytes, int level = 6) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
  Bytes packed(deflateBound(&stream, bytes.size()) + 64);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// The bytes of a file, unpacked if it is compressed, read by zlib's own file functions.
inline Bytes unpacked(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  Bytes bytes, piece(1 << 16);
  for (int got; (got = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;) {
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
  }
  gzclose(file);
  return bytes;
}

/// A NIfTI image to be made. Offsets of fields are those of the standard (nifti1.h, nifti2.h).
struct NiftiRecipe {
  int version = 1;
  bool big_endian = false;
  bool single_file = true;
  int datatype = 4, bitpix = 16;
  std::vector<std::int64_t> dim = {3, 5, 4, 3, 1, 1, 1, 1};
  double slope = 1, inter = 0;
  Bytes extension;  ///< what stands between the four bytes after the header and the voxels
  Bytes voxels;     ///< little-endian; swapped by bitpix where big_endian
  Bytes after_voxels;

  template <class T>
  void put(Bytes& bytes, std::size_t at, T value) const {
    Bytes raw(sizeof(T));
    std::memcpy(raw.data(), &value, sizeof(T));
    if (big_endian) std::reverse(raw.begin(), raw.end());
    std::copy(raw.begin(), raw.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Bytes header() const {
    Bytes h(version == 1 ? 348 : 540);
    const auto offset = single_file ? static_cast<std::int64_t>(h.size() + 4 + extension.size()) : 0;
    put<std::int32_t>(h, 0, static_cast<std::int32_t>(h.size()));
    if (version == 1) {
      for (int i = 0; i < 8; ++i) put<std::int16_t>(h, 40 + 2 * i, static_cast<std::int16_t>(dim[i]));
      put<std::int16_t>(h, 70, static_cast<std::int16_t>(datatype));
      put<std::int16_t>(h, 72, static_cast<std::int16_t>(bitpix));
      for (int i = 0; i < 8; ++i) put<float>(h, 76 + 4 * i, static_cast<float>(i + 1));  // voxels of 2 x 3 x 4
      put<float>(h, 108, static_cast<float>(offset));
      put<float>(h, 112, static_cast<float>(slope));
      put<float>(h, 116, static_cast<float>(inter));
      h[123] = 2 + 8;
      put<float>(h, 124, 99.0f);                       // cal_max
      std::memcpy(h.data() + 148, "description", 11);  // descrip
      std::memcpy(h.data() + 344, single_file ? "n+1" : "ni1", 4);
    } else {
      std::memcpy(h.data() + 4, single_file ? "n+2\0\r\n\x1a\n" : "ni2\0\r\n\x1a\n", 8);
      put<std::int16_t>(h, 12, static_cast<std::int16_t>(datatype));
      put<std::int16_t>(h, 14, static_cast<std::int16_t>(bitpix));
      for (int i = 0; i < 8; ++i) put<std::int64_t>(h, 16 + 8 * i, dim[i]);
      for (int i = 0; i < 8; ++i) put<double>(h, 104 + 8 * i, i + 1);
      put<std::int64_t>(h, 168, offset);
      put<double>(h, 176, slope);
      put<double>(h, 184, inter);
      put<double>(h, 192, 99);
      std::memcpy(h.data() + 240, "description", 11);
      put<std::int32_t>(h, 500, 2 + 8);
    }
    return h;
  }

  Bytes stored_voxels() const {
    Bytes bytes = voxels;
    const std::size_t size = static_cast<std::size_t>(bitpix) / 8;
    for (std::size_t i = 0; big_endian && i + size <= bytes.size(); i += size) {
      std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                   bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
    }
    bytes.insert(bytes.end(), after_voxels.begin(), after_voxels.end());
    return bytes;
  }

  /// The header file, or all of a single file.
  Bytes file() const {
    Bytes bytes = header();
    bytes.insert(bytes.end(), {static_cast<std::uint8_t>(extension.empty() ? 0 : 1), 0, 0, 0});
    bytes.insert(bytes.end(), extension.begin(), extension.end());
    if (single_file) {
      const Bytes data = stored_voxels();
      bytes.insert(bytes.end(), data.begin(), data.end());
    }
    return bytes;
  }

  std::int64_t voxel_count() const {
    std::int64_t count = 1;
    for (int axis = 1; axis <= dim[0]; ++axis) count *= dim[axis];
    return count;
  }

  /// Fills the voxels with numbers of one type.
  template <class T, class Value>
  NiftiRecipe with(int type_code, Value&& value_of_index) const {
    NiftiRecipe recipe = *this;
    recipe.datatype = type_code;
    recipe.bitpix = 8 * sizeof(T);
    recipe.voxels.resize(sizeof(T) * static_cast<std::size_t>(voxel_count()));
    for (std::int64_t i = 0; i < voxel_count(); ++i) {
      const T value = value_of_index(i);
      std::memcpy(recipe.voxels.data() + sizeof(T) * static_cast<std::size_t>(i), &value, sizeof(T));
    }
    return recipe;
  }
};

/// All voxels of a volume.
inline std::vector<float> voxels_of(const io::Image& image, std::size_t volume, io::VoxelDomain domain) {
  const auto source = image.volume(volume, domain);
  std::vector<float> voxels(static_cast<std::size_t>(source->extent().voxels()));
  source->read({voxels.data(), source->extent(), source->spacing()});
  return voxels;
}

/// What a writer told of the voxels of all volumes is what a reader sees.
inline void expect_held(const std::filesystem::path& output, const std::vector<float>& reported) {
  const auto image = io::open_nifti(output);
  std::size_t at = 0;
  for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
    for (const float held : voxels_of(*image, volume, io::VoxelDomain::real)) {
      ASSERT_TRUE(reported[at] == held || (std::isnan(reported[at]) && std::isnan(held))) << at << ": " << reported[at];
      ++at;
    }
  }
}

/// Sends every volume through a writer, `slices` at a time, changed by `change`.
template <class Change>
io::WriteReport rewrite(const io::Image& image, const std::filesystem::path& output, io::VoxelDomain domain,
                        const io::WriteOptions& options, std::int64_t slices, const Provenance& provenance,
                        Change&& change) {
  const auto writer = image.writer(output, domain, options);
  std::vector<float> reported;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const auto source = image.volume(volume, domain);
    const Extent extent = source->extent();
    writer->begin_volume(volume, provenance);
    std::vector<float> buffer;
    for (std::int64_t z = 0; z < extent.z; z += slices) {
      const std::int64_t count = std::min(slices, extent.z - z);
      buffer.resize(static_cast<std::size_t>(count * extent.slice()));
      const VolumeView<float> slab{buffer.data(), {{extent.x, extent.y, count}}, source->spacing(), {0, 0, z}};
      source->read(slab);
      for (float& voxel : buffer) voxel = change(voxel);
      reported.resize(reported.size() + buffer.size());
      writer->write(slab, &reported[reported.size() - buffer.size()]);
    }
  }
  io::WriteReport report = writer->commit();
  if (domain == io::VoxelDomain::real) expect_held(output, reported);
  return report;
}

inline io::WriteReport copy_image(const io::Image& image, const std::filesystem::path& output,
                                  io::VoxelDomain domain = io::VoxelDomain::real,
                                  const io::WriteOptions& options = {}) {
  return rewrite(image, output, domain, options, 2, {}, [](float voxel) { return voxel; });
}

}  // namespace quietvox::test
