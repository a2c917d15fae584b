// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/images.hpp"

#include <array>
#include <cstring>
#include <random>

#include "cli/process.hpp"
#include "io/image.hpp"

namespace quietvox::test {
namespace {

template <class T>
void put(std::string& header, std::size_t offset, T value) {
  std::memcpy(header.data() + offset, &value, sizeof value);
}

template <class T>
void write_voxels(const std::filesystem::path& path, Extent extent, const std::vector<T>& voxels, int volumes,
                  std::int16_t datatype, bool is_placed) {
  std::string header(352, '\0');
  put(header, 0, std::int32_t{348});
  const std::array<std::int16_t, 5> dim{static_cast<std::int16_t>(volumes > 1 ? 4 : 3),
                                        static_cast<std::int16_t>(extent.x), static_cast<std::int16_t>(extent.y),
                                        static_cast<std::int16_t>(extent.z), static_cast<std::int16_t>(volumes)};
  for (std::size_t i = 0; i < 8; ++i) put(header, 40 + 2 * i, i < dim.size() ? dim[i] : std::int16_t{1});
  put(header, 70, datatype);
  put(header, 72, static_cast<std::int16_t>(8 * sizeof(T)));
  for (std::size_t i = 0; i < 4; ++i) put(header, 76 + 4 * i, 1.0F);
  put(header, 108, 352.0F);
  put(header, 123, char{2});                               // mm
  put(header, 254, static_cast<std::int16_t>(is_placed));  // sform
  put(header, 280, 1.0F);
  put(header, 300, 1.0F);
  put(header, 320, 1.0F);
  std::memcpy(header.data() + 344, "n+1", 4);
  write_file(path, header + std::string(reinterpret_cast<const char*>(voxels.data()), voxels.size() * sizeof(T)));
}

}  // namespace

void write_nifti(const std::filesystem::path& path, Extent extent, const std::vector<std::int16_t>& voxels, int volumes,
                 bool is_placed) {
  write_voxels(path, extent, voxels, volumes, 4, is_placed);
}

void write_nifti(const std::filesystem::path& path, Extent extent, const std::vector<float>& voxels, int volumes) {
  write_voxels(path, extent, voxels, volumes, 16, false);
}

std::vector<float> read_voxels(const std::filesystem::path& path, std::size_t volume) {
  const auto image = io::open_image(path, {});
  const auto source = image->volume(volume, io::VoxelDomain::real);
  std::vector<float> voxels(static_cast<std::size_t>(source->extent().voxels()));
  source->read({voxels.data(), source->extent(), source->spacing()});
  return voxels;
}

std::vector<std::int16_t> random_integers(std::size_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<std::int16_t> values(count);
  for (auto& value : values) value = static_cast<std::int16_t>(random() % 2000);
  return values;
}

void make_series(const std::filesystem::path& folder) {
  quietvox_ok({"phantom", folder.string(), "--size", "32x24x5", "--noise", "gaussian:30"});
}

}  // namespace quietvox::test
