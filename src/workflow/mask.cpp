// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/mask.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include "core/input_limits.hpp"
#include "core/sha256.hpp"
#include "io/axis_map.hpp"
#include "io/geometry_mismatch.hpp"
#include "workflow/input_output.hpp"
#include "workflow/unfiltered_volumes.hpp"

namespace quietvox {
namespace {

/// The volume of a mask that belongs to one of the image.
std::size_t own_volume(const io::Image& mask, std::size_t volume) { return mask.volume_count() == 1 ? 0 : volume; }

/// A mask along other axes.
class ReorderedMask final : public VolumeSource {
 public:
  ReorderedMask(std::unique_ptr<VolumeSource> mask, const io::Geometry& reordered, const io::AxisMap& map)
      : mask_(std::move(mask)), extent_(reordered.extent), spacing_(reordered.spacing), order_(mask_->extent(), map) {}
  Extent extent() const override { return extent_; }
  Spacing spacing() const override { return spacing_; }
  HeaderFacts header() const override { return mask_->header(); }

  void read(VolumeView<float> slices) override {
    if (inside_.empty()) load();
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      for (std::int64_t y = 0; y < slices.extent.y; ++y) {
        const std::int64_t start = order_.first + (slices.origin.z + z) * order_.step.z + y * order_.step.y;
        float* const row = slices.row(y, z);
        for (std::int64_t x = 0; x < slices.extent.x; ++x) {
          row[x] = inside_[static_cast<std::size_t>(start + x * order_.step.x)] ? 1.0F : 0.0F;
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
  io::ReorderedVoxels order_;
  std::vector<std::uint8_t> inside_;  ///< as it came
};

std::unique_ptr<io::Image> open_mask_image(const std::string& path, const Execution& execution) {
  try {
    return open_input(path, {}, execution);
  } catch (const Error& error) {
    const Parameter* const parameter = error.remedy().parameter();
    if (!parameter || parameter->name != "series") throw;  // which chooses one of the input
    throw Error(error.code(), Parameter{"mask"} + ": " + error.problem(), "give a folder that holds the mask alone");
  }
}

/// How a volume of a mask lies on one of the image.
struct Fit {
  io::AxisMap map;
  io::Geometry reordered;  ///< of the mask, along the axes of the image
  std::string problem;     ///< why it does not fit; empty where it does
  std::string doubt;       ///< why that is not sure, or empty
};

/// Compares one of the geometries that the mask's file gives with one of the image's.
Fit fit(const io::Image& mask, const io::Geometry& own, std::size_t own_volume, const io::Image& image,
        const io::Geometry& other, std::size_t volume) {
  Fit result{.map = map_onto(own, other), .reordered = {}, .problem = {}, .doubt = {}};
  result.reordered = reordered(own, result.map);
  if (result.reordered.extent != other.extent) {
    result.problem = "its extent differs";
    return result;
  }
  const std::string elsewhere = io::geometry_mismatch(result.reordered, other);
  const bool is_dicom = mask.format() == io::Format::dicom;
  const std::string why_uneven = is_dicom ? "" : image.why_uneven(volume);  // which other formats cannot say
  if (!own.is_placed || !other.is_placed) {
    result.doubt = elsewhere.empty() ? why_uneven : elsewhere;
    return result;
  }
  const io::SlicePositions wanted = io::slice_positions(image, volume, other);
  const io::SlicePositions places = io::slice_positions(mask, own_volume, own, result.map);
  const auto fits = [&](const io::SlicePositions& slices) {
    return io::farthest(result.reordered, places, other, slices) <= io::same_voxel;
  };
  if (result.map.from.z != 2) result.problem = mask.why_uneven(own_volume);
  if (!result.problem.empty() || fits(wanted)) return result;
  if (!why_uneven.empty() && fits(io::even_positions(other))) {
    result.doubt = why_uneven + "; " + io::mismatched_slice(other, places, wanted);
    return result;
  }
  // Converters take the distance of two slices for that of all, also where scanners have rounded positions.
  constexpr double same_place = 1e-3;
  const std::size_t count = wanted.size();
  const auto is_same = [&](std::size_t first) {
    return count > 2 && io::farthest(result.reordered, places, other, wanted, first, 2) <= same_place;
  };
  if (!is_dicom && (is_same(0) || is_same(count - 2))) {
    result.doubt = "all its slices have the distance of two slices of the input, " + elsewhere;
    return result;
  }
  result.problem = elsewhere.empty() ? io::mismatched_slice(other, places, wanted) : elsewhere;
  return result;
}

/// The same for the geometries by which the mask fits best. A file may give two that differ.
Fit fit(const io::Image& mask, const io::Image& image, std::size_t volume) {
  const std::size_t own = own_volume(mask, volume);
  const auto fits = [](const Fit& found) { return found.problem.empty() && found.doubt.empty(); };
  std::optional<Fit> first;
  for (const io::Geometry& place : image.geometries(volume)) {
    for (const io::Geometry& own_place : mask.geometries(own)) {
      Fit found = fit(mask, own_place, own, image, place, volume);
      if (!first) {
        first = std::move(found);
      } else if (fits(found) && !fits(*first)) {
        found.doubt = "sform and qform of a file disagree, and one of each of the two files agree; by the others, " +
                      (first->problem.empty() ? first->doubt : first->problem);
        return found;
      } else if (fits(found) && found.map != first->map) {
        first->doubt =
            "sform and qform of a file mirror or turn each other, and the mask fits by both; the sform counts";
        return *first;
      }
    }
  }
  return *first;
}

}  // namespace

std::unique_ptr<io::Image> open_mask(const std::string& path, const io::Image& image, const Execution& execution,
                                     std::vector<Message>& warnings) {
  if (path.empty()) return nullptr;
  auto mask = open_mask_image(path, execution);
  const bool is_of_each = mask->volume_count() == 1 || mask->volume_count() == image.volume_count();
  for (const std::string& warning : mask->warnings()) warnings.push_back(Parameter{"mask", path} + ": " + warning);
  std::string doubt;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const io::Geometry& other = image.geometry(volume);
    const Fit found = is_of_each ? fit(*mask, image, volume) : Fit{};
    if (!is_of_each || found.reordered.extent != other.extent) {
      const std::string of_volume = volume == 0
                                        ? describe_extent(image)
                                        : describe_extent(other.extent) + " in volume " + std::to_string(volume + 1);
      throw Error(Errc::invalid_argument,
                  Parameter{"mask", path} + ": is " + describe_extent(*mask) + ", but the input is " + of_volume);
    }
    if (!found.problem.empty()) {
      throw Error(Errc::invalid_argument, Parameter{"mask", path} + ": is not aligned with the input: " + found.problem,
                  "give a mask made on the grid of the input");
    }
    if (!found.doubt.empty()) doubt = found.doubt;
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
  const Fit found = fit(mask, image, volume);
  if (found.map == io::AxisMap{}) return source;
  return std::make_unique<ReorderedMask>(std::move(source), found.reordered, found.map);
}

std::size_t mask_bytes(const io::Image& mask, const io::Image& image) {
  std::size_t most = 0;
  for (std::size_t volume = 0; volume < image.volume_count(); ++volume) {
    const io::Geometry& geometry = mask.geometry(own_volume(mask, volume));
    const bool is_reordered = fit(mask, image, volume).map != io::AxisMap{};
    if (is_reordered) most = std::max(most, static_cast<std::size_t>(geometry.extent.voxels()));
  }
  return most;
}

MaskIdentity identify_mask(const io::Image& mask, const io::Image& image) {
  MaskIdentity identity;
  Sha256 hash;
  for (std::size_t volume = 0; volume < mask.volume_count(); ++volume) {
    bool is_empty = true;
    for_each_slab(*mask_of_volume(mask, image, volume), [&](VolumeView<const float> slab) {
      std::vector<std::byte> inside(static_cast<std::size_t>(slab.extent.voxels()));
      std::transform(slab.data, slab.data + inside.size(), inside.begin(),
                     [](float voxel) { return std::byte{is_inside(voxel)}; });
      hash.update(inside);
      is_empty = is_empty && std::ranges::count(inside, std::byte{1}) == 0;
    });
    if (is_empty) identity.empty.insert(volume);
  }
  identity.hash = to_hex(hash.digest()).substr(0, 16);
  return identity;
}

std::set<std::size_t> empty_volumes(const io::Image& mask, const io::Image& image) {
  std::set<std::size_t> empty;
  for (std::size_t volume = 0; volume < mask.volume_count(); ++volume) {
    bool is_empty = true;
    for_each_slab(*mask_of_volume(mask, image, volume), [&](VolumeView<const float> slab) {
      is_empty = is_empty && std::none_of(slab.data, slab.data + slab.extent.voxels(), is_inside);
    });
    if (is_empty) empty.insert(volume);
  }
  return empty;
}

std::vector<Message> empty_mask_warning(const io::Image& mask, const std::set<std::size_t>& empty,
                                        const std::string& name, const std::string& done) {
  if (empty.empty()) return {};
  const std::string where = empty.size() == mask.volume_count() ? "" : describe_volumes(empty) + ": ";
  return {Parameter{"mask", name} + ": " + where + "no voxel is inside, so nothing was " + done};
}

}  // namespace quietvox
