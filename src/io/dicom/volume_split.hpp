// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/dicom/slice_header.hpp"

/// Which images that lie at the same places make a volume.
namespace quietvox::io::dicom {

constexpr double same_place_mm = 0.01;  ///< positions this close are one

/// Images of which no two lie at one place; or all of some that cannot be told apart.
struct VolumePart {
  std::vector<SliceHeader> slices;
  bool by_time = false;  ///< told apart by their times or numbers, which may differ a little from slice to slice
};

/// Tells images of one kind apart that lie at the same places, by what differs in the same way at every place: first by
/// contrast (inversion time, flip angle, tube voltage, sequence, kernel, contrast agent, slice thickness, repetition
/// time, the indices of enhanced objects), values that lie close together being one; then by time; then by number. A
/// time or number tells volumes apart that are made one after the other, or places that are; where two of them say
/// different things, neither tells. Images that lie at different places stay together, but where two contrasts
/// alternate. `images` are sorted along their normal and stay so. The parts come in the order of their numbers, or of
/// the times that tell them apart.
std::vector<VolumePart> tell_apart(std::vector<SliceHeader> images);

/// Why sorted slices of different places are no one picture, such as phases of a heart beat or two scans numbered
/// alike; empty where they may be.
std::string mixed_times(const std::vector<SliceHeader>&);

}  // namespace quietvox::io::dicom
