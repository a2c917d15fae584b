// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/white_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "io/image.hpp"
#include "phantom/noise.hpp"
#include "support/test_data.hpp"

namespace quietvox::test {
namespace {

Volume read(const std::filesystem::path& path) {
  const auto image = io::open_nifti(path);
  const auto source = image->volume(0, io::VoxelDomain::real);
  Volume volume(source->extent(), source->spacing());
  source->read(volume.view());
  return volume;
}

}  // namespace

double Truth::psnr(const Volume& result) const {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < volume.voxels.size(); ++i) {
    if (volume.voxels[i] <= floor) continue;
    sum += std::pow(static_cast<double>(result.voxels[i]) - static_cast<double>(volume.voxels[i]), 2);
    ++count;
  }
  return 10 * std::log10(255.0 * 255.0 * count / sum);
}

Truth real_t1() {
  const Volume whole = read(test_data("volumes/chris_t1.nii.gz"));
  return {box_of(whole, {46, 90, 70}, {{96, 96, 64}}), -std::numeric_limits<float>::infinity()};
}

Truth t1_template() { return {read(test_data("quality/t1_template.nii.gz")), 10}; }

Volume with_white_noise(const Volume& volume, double sigma, int seed) {
  Volume noisy = volume;
  add_noise(noisy.view(), {NoiseKind::gaussian, sigma, seed}, 0, 0, {});
  return noisy;
}

Lesions small_lesions(Extent extent, double sigma, double contrast) {
  constexpr float level = 1000;
  constexpr std::int64_t apart = 10;  // no multiple of the step from block to block
  Lesions lesions{with_white_noise(Volume(extent, {1, 1, 1}, level), sigma, 7), {}, {}, {}, {}};
  std::size_t count = 0;
  for (std::int64_t z = 0; z < extent.z; z += apart) {
    for (std::int64_t y = 0; y < extent.y; y += apart) {
      for (std::int64_t x = 0; x < extent.x; x += apart) {
        const bool is_bright = ++count % 2 == 1;
        for (std::int64_t i = 0; i < 64; ++i) {
          const Index3 offset{i % 4 - 1, i / 4 % 4 - 1, i / 16 - 1}, p{x + offset.x, y + offset.y, z + offset.z};
          if (std::min({p.x, p.y, p.z}) < 0 || p.x >= extent.x || p.y >= extent.y || p.z >= extent.z) continue;
          const auto place = static_cast<std::size_t>((p.z * extent.y + p.y) * extent.x + p.x);
          int beyond = 0;
          for (int axis = 0; axis < 3; ++axis) beyond += offset[axis] < 0 || offset[axis] > 1;
          if (beyond == 1) (is_bright ? lesions.beside_bright : lesions.beside_dark).push_back(place);
          if (beyond > 0) continue;
          (is_bright ? lesions.bright : lesions.dark).push_back(place);
          lesions.volume.voxels[place] += static_cast<float>(is_bright ? contrast : -contrast);
        }
      }
    }
  }
  return lesions;
}

}  // namespace quietvox::test
