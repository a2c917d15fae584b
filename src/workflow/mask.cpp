// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/mask.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/input_limits.hpp"
#include "core/sha256.hpp"
#include "io/axis_map.hpp"
#include "io/displacement.hpp"
#include "workflow/scan_files.hpp"

namespace quietvox {
namespace {

/// The volume of a mask that belongs to one of the image.
std::size_t own_volume(const io::Image& mask, std::size_t volume) { return mask.volume_count() == 1 ? 0 : volume; }

/// A mask along other axes.
class TurnedMask final : public VolumeSource {
 public:
  TurnedMask(std::unique_ptr<VolumeSource> mask, const io::Geometry& turned, const io::AxisMap& map)
      : mask_(std::move(mask)), extent_(turned.extent), spacing_(turned.spacing) {
    const Extent own = mask_->extent();
    const Triple<std::int64_t> strides{1, own.x, own.slice()};
    for (int i = 0; i < 3; ++i) {
      step_[i] = strides[map.from[i]] * (map.is_reversed[i] ? -1 : 1);
      if (map.is_reversed[i]) first_ += strides[map.from[i]] * (extent_[i] - 1);
    }
  }
  Extent extent() const override { return extent_; }
  Spacing spacing() const override { return spacing_; }
  HeaderFacts header() const override { return mask_->header(); }

  void read(VolumeView<float> slices) override {
    if (inside_.empty()) load();
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      for (std::int64_t y = 0; y < slices.extent.y; ++y) {
        const std::int64_t start = first_ + (slices.origin.z + z) * step_.z + y * step_.y;
        float* const row = slices.row(y, z);
        for (std::int64_t x = 0; x < slices.extent.x; ++x) {
          row[x] = inside_[static_cast<std::size_t>(start + x * step_.x)] ? 1.0F : 0.0F;
        }
      }
    }
  }

 private:
  void load() {
    const auto voxels = static_cast<std::uint64_t>(extent_.voxels());
    check_memory("the mask, which is needed whole since its axes differ from those of the input,", voxels, {});
    inside_.reserve(voxels);
    for_each_slab(*mask_, [&](VolumeView<const float> slab) {
      std::transform(slab.data, slab.data + slab.extent.voxels(), std::back_inserter(inside_), is_inside);
    });
  }

  std::unique_ptr<VolumeSource> mask_;
  Extent extent_;
  Spacing spacing_;
  std::int64_t first_ = 0;  ///< where voxel (0, 0, 0) lies in the mask as it came
  Triple<std::int64_t> step_;
  std::vector<std::uint8_t> inside_;  ///< as it came
};

}  // namespace

std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image& image, const Execution& execution,
                                     std::vector<Message>& warnings) {
  if (path.empty()) return nullptr;
  auto mask = open_input(path, {}, execution);
  const bool fits = mask->volume_count() == 1 || mask->volume_count() == image.volume_count();
  for (const std::string& warning : mask->warnings()) warnings.push_back(Parameter{"mask", path} + ": " + warning);
  std::string doubt;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const std::size_t mask_volume = fits ? own_volume(*mask, volume) : 0;
    const io::Geometry& other = image.geometry(volume);
    const io::Geometry& as_it_came = mask->geometry(mask_volume);
    const io::Geometry own = io::turned(as_it_came, map_onto(as_it_came, other));
    if (!fits || own.extent != other.extent) {
      const std::string of_volume = volume == 0
                                        ? describe_extent(image)
                                        : describe_extent(other.extent) + " in volume " + std::to_string(volume + 1);
      throw Error(Errc::invalid_argument,
                  Parameter{"mask", path} + ": is " + describe_extent(*mask) + ", but the input is " + of_volume);
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

std::unique_ptr<VolumeSource> mask_of_volume(const io::Image& mask, const io::Image& image, std::size_t volume) {
  const std::size_t own = own_volume(mask, volume);
  // Where 0 is the padding of a DICOM mask, it is outside all the same.
  auto source = mask.volume(own, io::VoxelDomain::real_with_padding);
  const io::Geometry& geometry = mask.geometry(own);
  const io::AxisMap map = map_onto(geometry, image.geometry(volume));
  if (map == io::AxisMap{}) return source;
  return std::make_unique<TurnedMask>(std::move(source), io::turned(geometry, map), map);
}

std::size_t mask_bytes(const io::Image& mask, const io::Image& image) {
  std::size_t most = 0;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const io::Geometry& geometry = mask.geometry(own_volume(mask, volume));
    const bool is_turned = map_onto(geometry, image.geometry(volume)) != io::AxisMap{};
    if (is_turned) most = std::max(most, static_cast<std::size_t>(geometry.extent.voxels()));
  }
  return most;
}

std::string identify_mask(const io::Image& mask, const io::Image& image) {
  Sha256 hash;
  for (std::size_t volume = 0; volume < mask.volume_count(); ++volume) {
    for_each_slab(*mask_of_volume(mask, image, volume), [&](VolumeView<const float> slab) {
      std::vector<std::byte> inside(static_cast<std::size_t>(slab.extent.voxels()));
      std::transform(slab.data, slab.data + inside.size(), inside.begin(),
                     [](float voxel) { return std::byte{is_inside(voxel)}; });
      hash.update(inside);
    });
  }
  return to_hex(hash.digest()).substr(0, 16);
}

}  // namespace quietvox
