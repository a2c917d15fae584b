// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution.hpp"
#include "core/fields.hpp"
#include "core/noise_model.hpp"
#include "core/volume_view.hpp"

/// What is known of a whole volume when `auto` becomes numbers: all of it, or what its headers say before a voxel is
/// read.
namespace quietvox {

/// What the numbers of a volume are.
enum class DataKind {
  magnitude,  ///< the size of a complex signal, as MR shows it: never negative
  scalar,     ///< any other quantity: CT numbers, counts, differences, real and imaginary parts
  phase,      ///< angles, which jump from one end of their range to the other
  labels,     ///< names of structures
  vectors,    ///< components of vectors, displacements or tensors, one in each volume
  colours,    ///< channels of coloured pixels, one in each volume
  lists,      ///< numbers whose neighbours in the file are none in space: of the vertices of a surface
};
constexpr std::array<std::string_view, 7> choices(DataKind) {
  return {"magnitude", "scalar", "phase", "labels", "vectors", "colours", "lists"};
}

/// What headers say about the voxels of a volume.
struct HeaderFacts {
  std::optional<DataKind> kind{};  ///< none: the headers do not say
  std::string kind_source{};       ///< for messages, where the kind is from: `the modality is CT`
  bool are_ct_numbers = false;     ///< whose noise does not follow the value
  bool are_of_mr = false;          ///< nor does theirs, whatever is not known of them
  bool min_is_white = false;       ///< small values are shown white (DICOM: MONOCHROME1)
  bool is_radiograph = false;      ///< X-rays were projected; a collimator may have kept them from its borders
  bool object_is_dark = false;     ///< the larger values are those of air, as where X-rays are counted
  bool are_counts = false;         ///< values are linear in what was counted
  double offset = 0;               ///< was subtracted from values so far from 0 that floats would lose digits
  bool slices_are_even = true;     ///< false where windows may not extend along z
};

/// A fact that only the voxels tell.
enum class VoxelFact { noise, intensities };

/// A parameter that waits for a fact which is not known yet.
struct Waiting {
  std::string field;
  VoxelFact fact{};
};

/// A fact that is found when it is asked for first, and remembered.
template <class Find>
auto found_once(Find find) {
  return [find = std::move(find), found = std::optional<decltype(find())>()]() mutable {
    if (!found) found = find();
    return *found;
  };
}

/// Throws Error(invalid_argument) for a volume without voxels, or with a spacing that is no length.
void check_volume(const Extent&, const Spacing&);

/// What is known of a volume that is to be filtered. Parameters that are `auto` are resolved by it.
struct VolumeFacts {
  Extent extent;
  Spacing spacing;
  std::function<NoiseModel()> noise = {};           ///< empty: not known yet
  std::function<Range<double>()> intensities = {};  ///< smallest and largest voxel; empty: not known yet
  HeaderFacts header = {};
  Execution execution{};                    ///< for what a filter tries
  std::vector<Waiting>* waiting = nullptr;  ///< where set, receives the parameters that ask for what is not known yet

  /// A fact that the parameter `field` depends on; none where it is not known yet.
  std::optional<NoiseModel> noise_for(std::string_view field) const;
  /// Its sigma; 0 where it is not to be trusted.
  std::optional<double> noise_sigma_for(std::string_view field) const;
  std::optional<Range<double>> intensities_for(std::string_view field) const;

  /// For filters that need the values themselves: throws Error(unsupported) if an offset was subtracted from them.
  void need_true_values(const Message& filter) const;

  /// The distance of voxels within a slice, whichever axes slices lie along: the median spacing of the axes with more
  /// than one voxel, the smaller one of two.
  double in_plane_spacing() const;
  /// True where voxels lie more than twice as far apart as within a slice.
  bool is_thick(int axis) const;
  /// True where windows extend along an axis by default: it is neither flat nor thick, and its slices are even.
  bool takes_part(int axis) const;
  /// The largest half width of a window that fits into the volume.
  int room(int axis) const;
  /// The half width of a default window that reaches as far as `voxels` of the in-plane spacing along each axis that
  /// takes part; at most `largest`, and no more than there is room for.
  Radius3 default_radius(int voxels, int largest) const;
};

}  // namespace quietvox
