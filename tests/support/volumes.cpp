// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/volumes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace quietvox::test {

Volume busy_volume(Extent extent, std::uint32_t seed, bool whole) {
  Volume volume(extent, {0.7, 0.9, 1.6});
  std::mt19937 random(seed);
  const auto noise = [&] { return static_cast<float>(random() % 4096) / 16.0F - 128.0F; };
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        const float step = (x / 7 + y / 5 + z / 3) % 2 == 0 ? -800.0F : 1400.0F;
        const float value = step + static_cast<float>(3 * x - 2 * y + 5 * z) + noise();
        volume.view().at(x, y, z) = whole ? std::round(value) : value;
      }
    }
  }
  return volume;
}

Volume box_of(const Volume& volume, const Index3& origin, const Extent& extent) {
  Volume box(extent, volume.spacing);
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      std::copy_n(volume.view().row(y + origin.y, z + origin.z) + origin.x, extent.x, box.view().row(y, z));
    }
  }
  return box;
}

bool same_bytes(const Volume& a, const Volume& b) {
  return a.extent == b.extent && std::memcmp(a.voxels.data(), b.voxels.data(), a.voxels.size() * sizeof(float)) == 0;
}

void MemorySource::read(VolumeView<float> slices) {
  const auto from = volume_.voxels.begin() + slices.origin.z * volume_.extent.slice();
  std::copy_n(from, slices.extent.voxels(), slices.data);
  for (std::int64_t z = 0; z < slices.extent.z; ++z) ++reads_[static_cast<std::size_t>(slices.origin.z + z)];
}

}  // namespace quietvox::test
