// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <span>
#include <string>

#include "core/provenance.hpp"
#include "io/dicom/series.hpp"
#include "io/dicom/toolkit.hpp"

/// What marks an image as derived from another one.
namespace quietvox::io::dicom {

/// What was done to a volume.
struct VolumeDerivation {
  std::string text, text_if_unchanged;  ///< for people
  bool smooths = false, enhances = false;
};

/// What became of a frame.
struct FrameDerivation {
  const VolumeDerivation* volume = nullptr;  ///< that it belongs to
  bool is_changed = false;                   ///< any of its voxels
};

/// The same for all files of a series.
struct Derivation {
  std::string inputs;  ///< tells inputs apart, see identity_of()
  std::string chain;   ///< the filters as they were asked for, and the mask
  std::string series_suffix;
  int series_offset = 0;
  bool moves_overlays = false;  ///< out of the pixels' cells
  std::time_t time = 0;
};

/// True for what derive() has made, unless somebody else has worked on it since.
bool is_derived(DcmDataset&);

/// A hash of which images make up volumes, in whatever order: what becomes of one of them rests on all of them, by
/// windows that reach across slices and by what filters estimate on whole volumes. No number that filters have computed
/// goes in, so that every machine and device comes to the same.
std::string identity_of(std::span<const Volume>);

/// What is added to the number of a series by default: a multiple of 1000, below a million, that rests on what was
/// done, so that results of different filters have different numbers.
int series_offset_of(const std::string& chain);

/// Throws Error(invalid_argument) where the suffix cannot stand in every series description.
void check_series_suffix(const std::string&);

/// Turns a copy of the source's data set into the derived object: identifiers, type, dates, description, sources,
/// equipment; what shows the source's pixels goes. `frames`: all of them. Pixels and everything else stay. False where
/// the series description had to stay without its suffix: it is too long, and its character set does not tell where to
/// cut it.
bool derive(DcmDataset&, const SliceHeader& source, std::span<const FrameDerivation> frames, const Derivation&);

}  // namespace quietvox::io::dicom
