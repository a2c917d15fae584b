// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "io/dicom_folder.hpp"
#include "io/files/file_stamp.hpp"
#include "io/image.hpp"

/// What the header of a DICOM file says of an image.
namespace quietvox::io::dicom {

using Vector3 = std::array<double, 3>;

inline double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

inline Vector3 minus(const Vector3& a, const Vector3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

inline Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// How a stored number sits in its 8- or 16-bit cell.
struct PixelFormat {
  int bits_allocated = 16, bits_stored = 16, high_bit = 15;
  bool is_signed = false;

  int shift() const { return high_bit + 1 - bits_stored; }
  std::uint32_t mask() const { return ((1u << bits_stored) - 1) << shift(); }
  int min() const { return is_signed ? -(1 << (bits_stored - 1)) : 0; }
  int max() const { return (1 << (is_signed ? bits_stored - 1 : bits_stored)) - 1; }

  /// The stored number in a cell; other bits of the cell are ignored.
  int stored(std::uint16_t cell) const {
    const std::uint32_t top = static_cast<std::uint32_t>(cell)
                              << (31 - high_bit);  // nothing above, and the sign on top
    return (static_cast<std::int32_t>(top) >> (32 - bits_stored)) & (is_signed ? -1 : max());
  }
  /// The cell with another stored number; its other bits stay.
  std::uint16_t with_stored(std::uint16_t cell, int value) const {
    return static_cast<std::uint16_t>((cell & ~mask()) | ((static_cast<std::uint32_t>(value) << shift()) & mask()));
  }

  /// The same numbers with the bits above them taken in, which repeat the sign; the format itself where it is unsigned
  /// or has other bits below.
  PixelFormat sign_extended() const {
    if (!is_signed || shift() != 0) return *this;
    return {bits_allocated, bits_allocated, bits_allocated - 1, true};
  }

  // clang-tidy 14 takes the 0 that it is compared with for a pointer.
  friend auto operator<=>(const PixelFormat&, const PixelFormat&) = default;  // NOLINT(modernize-use-nullptr)
};

/// A table of real values, for stored numbers from `first` on; those before and behind have the values of its ends.
struct ModalityLut {
  int first = 0;
  std::vector<std::uint16_t> values;

  bool empty() const { return values.empty(); }
  bool rises() const { return std::is_sorted(values.begin(), values.end()); }
  /// Values lead back to stored numbers.
  bool is_monotone() const { return rises() || std::is_sorted(values.rbegin(), values.rend()); }
  int value(int stored) const {
    return values[static_cast<std::size_t>(std::clamp(stored - first, 0, static_cast<int>(values.size()) - 1))];
  }
  /// The stored number whose table value is nearest to `value`; the table must be monotone.
  int stored(double value) const;

  // As above.
  friend auto operator<=>(const ModalityLut&, const ModalityLut&) = default;  // NOLINT(modernize-use-nullptr)
};

/// One image as its file's header describes it: all of a file, one of its frames, or one tile of a frame.
struct SliceHeader {
  std::filesystem::path path;  ///< where it lies
  std::filesystem::path name;  ///< relative to the folder that was opened
  FileStamp file;              ///< before it was read

  std::string sop_class, sop_instance, series, study, modality, description, series_number;
  std::string view;                                  ///< side and projection, as `R CC`; empty: unknown
  SeriesKind series_kind = SeriesKind::images;       ///< by what this image says
  std::string patient_id, patient_name;              ///< in UTF-8; for comparison only, not for display
  std::string patient_birth_date, patient_sex;       ///< eight digits, F or M; empty: unknown
  std::string frame_of_reference, patient_position;  ///< empty: unknown
  std::string photometric;                           ///< MONOCHROME1 or MONOCHROME2
  bool is_colour = false;                            ///< which is its `problem`
  std::optional<DataKind> kind;                      ///< what the numbers are, if that is said
  std::string kind_source;                           ///< the element that says so, for messages
  std::string intent;                                ///< FOR PROCESSING, FOR PRESENTATION, or empty

  std::string syntax_uid, syntax_name;
  bool is_compressed = false;          ///< the top-level pixel data is encapsulated
  bool keeps_syntax = true;            ///< uncompressed and not deflated: written in the same transfer syntax
  bool is_lossy = false;               ///< by its transfer syntax; its header may know better
  bool ends_with_cells = false;        ///< the data set ends with its pixels, uncompressed, as in memory
  bool has_overlays_in_cells = false;  ///< overlays lie in unused bits of the pixel cells
  bool burned_in = false;              ///< the header says that text is burned into the pixels

  std::int64_t columns = 0, rows = 0;
  std::int64_t frame_columns = 0, frame_rows = 0;  ///< of the whole frame, where the image is a tile of it
  std::int64_t left = 0, top = 0;                  ///< where the tile begins
  std::int64_t frame = 0, frames = 1;              ///< which one of how many frames
  std::string concatenation;                       ///< of the objects that its object is one part of; empty: none
  std::optional<double> part, parts;               ///< which one of how many, from 1
  bool is_enhanced = false;                        ///< the header says frame by frame what differs (functional groups)
  /// Of a MOSAIC that does not give the direction in which its slices follow each other.
  bool is_slice_direction_assumed = false;
  /// Of a tomogram that says how its slices follow each other, but not where they lie.
  bool is_place_assumed = false;
  bool object_is_dark = false;  ///< of radiographs: where X-rays were weakened most, values are lowest
  bool is_linear = false;       ///< of radiographs: in the intensity of the X-rays
  PixelFormat format;
  double slope = 1, intercept = 0;  ///< real value = slope * stored + intercept
  bool says_slope = false, says_intercept = false;
  ModalityLut modality_lut;                    ///< takes the place of the rescale where it is not empty
  std::optional<std::pair<int, int>> padding;  ///< stored numbers, first and last, that mean "no value here"
  bool has_spacing = false;                    ///< the header says it

  std::optional<Vector3> position;                  ///< centre of the first pixel, LPS, mm
  std::optional<std::pair<Vector3, Vector3>> axes;  ///< unit vectors along a row and down a column
  std::array<double, 2> spacing{1, 1};              ///< mm between columns, between rows
  double thickness = 1;                             ///< mm between slices where positions do not tell

  // What is imaged: slices that differ in it never share a volume.
  std::string contrast, directionality;  ///< directionality: of diffusion
  std::optional<double> echo_time, b_value, temporal_position;
  std::optional<double> repetition_time;  ///< ms
  std::optional<double> time_step;        ///< ms to the next image of the same place
  std::vector<double> gradient;

  // What may tell images of one place apart, see volume_split.hpp.
  std::string sequence;    ///< pulse sequence, reconstruction kernel
  std::string image_type;  ///< original or derived, scan options
  std::string contrast_agent;
  std::optional<double> stack;                      ///< its number, in enhanced objects
  std::vector<double> dimension_indices;            ///< in enhanced objects
  std::optional<double> makers_b_value;             ///< where the standard's is missing
  std::optional<double> inversion_time;             ///< ms
  std::optional<double> flip_angle;                 ///< degrees
  std::optional<double> tube_voltage;               ///< kV
  std::optional<double> slice_thickness;            ///< mm
  std::optional<double> trigger_time;               ///< ms
  std::optional<double> cardiac_phase_percent;      ///< percent of a heart beat
  std::optional<double> reference_time;             ///< ms
  std::optional<double> acquired_at, content_time;  ///< s, from one moment on for all images
  std::optional<double> acquisition, instance_number;

  std::optional<Error> problem;  ///< why the image cannot be used
};

/// The name of an image for messages: that of its file, and which of several frames it is.
inline std::string display_name(const SliceHeader& slice) {
  return slice.name.string() + (slice.frames > 1 ? " (frame " + std::to_string(slice.frame + 1) + ")" : "");
}

/// Its instance number, which goes on from frame to frame of a file.
inline std::optional<double> running_number(const SliceHeader& slice) {
  const double frame = static_cast<double>(slice.frame) / static_cast<double>(slice.frames);
  return slice.instance_number.value_or(0) + frame;
}

/// Whether an image is all of its frame, not a tile.
inline bool fills_frame(const SliceHeader& slice) {
  return slice.columns == slice.frame_columns && slice.rows == slice.frame_rows;
}

/// Whether its file holds no other.
inline bool is_only_image(const SliceHeader& slice) { return slice.frames == 1 && fills_frame(slice); }

/// How many cells a frame has.
inline std::size_t frame_cells(const SliceHeader& slice) {
  return static_cast<std::size_t>(slice.frame_columns * slice.frame_rows);
}

}  // namespace quietvox::io::dicom
