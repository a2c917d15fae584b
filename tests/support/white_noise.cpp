// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/white_noise.hpp"

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

}  // namespace quietvox::test
