// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/mask.hpp"

#include <algorithm>

#include "core/sha256.hpp"
#include "io/displacement.hpp"
#include "workflow/scan_files.hpp"

namespace quietvox {

std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image& image, const Execution& execution,
                                     std::vector<Message>& warnings) {
  if (path.empty()) return nullptr;
  auto mask = open_input(path, {}, execution);
  const bool fits = mask->volume_count() == 1 || mask->volume_count() == image.volume_count();
  for (const std::string& warning : mask->warnings()) warnings.push_back(Parameter{"mask", path} + ": " + warning);
  std::string doubt;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const std::size_t mask_volume = mask->volume_count() == 1 || !fits ? 0 : volume;
    const io::Geometry& own = mask->geometry(mask_volume);
    const io::Geometry& other = image.geometry(volume);
    if (!fits || own.extent != other.extent) {
      throw Error(Errc::invalid_argument, Parameter{"mask", path} + ": is " + describe_extent(*mask) +
                                              ", but the input is " + describe_extent(image));
    }
    std::string what = io::displacement(own, other);
    if (what.empty() && mask->format() != io::Format::dicom && !image.why_uneven(volume).empty()) {
      doubt = image.why_uneven(volume);  // no other format can say that slices are uneven
      continue;
    }
    if (what.empty()) what = io::displaced_slice(*mask, mask_volume, image, volume);
    if (what.empty()) continue;
    if (own.is_placed && other.is_placed) {
      throw Error(Errc::invalid_argument, Parameter{"mask", path} + ": is not aligned with the input: " + what,
                  "give a mask made on the grid of the input");
    }
    doubt = what;
  }
  if (!doubt.empty()) {
    warnings.push_back(Parameter{"mask", path} +
                       ": taken to lie where the input lies, though the files do not say so: " + doubt);
  }
  return mask;
}

std::unique_ptr<VolumeSource> mask_of_volume(const io::Image& mask, std::size_t volume) {
  // Where 0 is the padding of a DICOM mask, it is outside all the same.
  return mask.volume(mask.volume_count() == 1 ? 0 : volume, io::VoxelDomain::real_with_padding);
}

std::string identify_mask(const io::Image& mask) {
  Sha256 hash;
  for (std::size_t volume = 0; volume < mask.volume_count(); ++volume) {
    for_each_slab(*mask_of_volume(mask, volume), [&](VolumeView<const float> slab) {
      std::vector<std::byte> inside(static_cast<std::size_t>(slab.extent.voxels()));
      std::transform(slab.data, slab.data + inside.size(), inside.begin(),
                     [](float voxel) { return std::byte{is_inside(voxel)}; });
      hash.update(inside);
    });
  }
  return to_hex(hash.digest()).substr(0, 16);
}

}  // namespace quietvox
