// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "io/dicom/slice_header.hpp"
#include "io/image.hpp"

/// Groups the images of a series into volumes.
namespace quietvox::io::dicom {

/// Slices of one kind in the order of their positions along the normal.
struct Volume {
  std::vector<SliceHeader> slices;
  double number = 0;  ///< its place among the volumes of one temporal position
  Geometry geometry;
  std::string why_2d_only;    ///< empty where windows may extend across slices
  std::string why_uneven;     ///< empty where the slices lie as the geometry says
  bool is_irregular = false;  ///< slices are missing, repeated, uneven, tilted or of mixed times
};

/// What was opened: a file, or one series of a folder.
struct Series {
  std::filesystem::path input;
  bool is_folder = false;
  std::vector<Volume> volumes;
  std::vector<std::string> warnings;
};

/// The names of a series' files, each once, relative to its folder.
std::vector<std::filesystem::path> files_of(const Series&);

/// The images of one series, copies of them too. `uid` may be empty where there is only one. Throws
/// Error(invalid_argument) listing the series where the choice is open or names none; the images' own problems where
/// they cannot be used; Error(irregular) where they are of several patients or studies.
std::vector<SliceHeader> choose_series(std::vector<SliceHeader> images, const std::string& uid,
                                       const std::filesystem::path&);

/// Parts the images of a series by size, frame of reference, patient position, orientation, contrast and time, then by
/// repeated positions (see tell_apart), and orders each part. Every image is in exactly one volume. The volumes come in
/// the order of their temporal positions, then of their lowest instance numbers, then of what else makes them differ,
/// whatever the names of the files. Throws Error(cancelled).
std::vector<Volume> make_volumes(std::vector<SliceHeader> images, const std::stop_token& stop = {});

/// Which images do not say where they lie, though others do, or all of their modality ought to; else empty. Frames
/// need not.
std::string why_without_position(const std::vector<Volume>&);

/// A line for each image that was written in several objects (PS3.3 C.7.6.16.2.2.4) of which some are not here.
std::vector<std::string> incomplete_concatenations(const std::vector<Volume>&);

/// Throws Error(irregular) where an image of a volume lacks the rescale that others of it have: its values would be
/// stored numbers among real ones.
void check_rescale(const std::vector<Volume>&);

}  // namespace quietvox::io::dicom
