// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/noise_of_volume.hpp"

#include "analysis/measure_noise.hpp"

namespace quietvox {

NoiseModel noise_of_volume(const io::Image& image, std::size_t volume, VolumeSource& source,
                           const Execution& execution) {
  const std::size_t neighbour = volume + 1 < image.volume_count() ? volume + 1 : volume - 1;
  if (image.volume_count() == 1 || !(image.geometry(neighbour).extent == source.extent()) ||
      image.may_share_noise(volume, neighbour)) {
    return measure_noise(source, execution);
  }
  return measure_noise_of_series(source, *image.volume(neighbour, io::VoxelDomain::real_less_offset), execution);
}

}  // namespace quietvox
