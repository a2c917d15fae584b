// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/dicom/slice_header.hpp"

/// Splits images at the same positions into volumes.
namespace quietvox::io::dicom {

constexpr double same_place_mm = 0.01;  ///< positions this close are one

/// One image per position; or, if images at the same positions cannot be told apart, all of them.
struct VolumePart {
  std::vector<SliceHeader> slices;
  bool by_time = false;  ///< told apart by their times or numbers, which may differ a little from slice to slice
  double number = 0;     ///< the lowest of its running numbers, or where times tell, at least that of the time before
};

/// Tells images of one kind apart that lie at the same places, by what differs in the same way at every place: first by
/// contrast (pixel format, b-value of the maker, inversion time, flip angle, tube voltage, sequence or kernel, image
/// type, stack, contrast agent, slice thickness, repetition time, the indices of enhanced objects), values that lie
/// close together being one; then by time; then by number. A time or number can split volumes that were made one after
/// another, or position by position; if two of them disagree, neither is used. Images at different positions stay
/// together, unless two contrasts alternate. `images` are sorted along their normal and stay so. The parts come in the
/// order of their numbers, or of the times that split them.
std::vector<VolumePart> tell_apart(std::vector<SliceHeader> images);

/// Two slices of one volume that were made or computed in different ways, such as with two tube voltages or kernels, so
/// that their noise differs; empty where there are none.
std::string different_exposures(const std::vector<SliceHeader>&);

/// Why sorted slices of different places are no one picture, such as phases of a heart beat or two scans numbered
/// alike; empty where they may be.
std::string mixed_times(const std::vector<SliceHeader>&);

}  // namespace quietvox::io::dicom
