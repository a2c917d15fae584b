// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/image.hpp"
#include "io/rescale.hpp"
#include "io/scalar_type.hpp"

namespace quietvox::io {

/// The 348 bytes of a NIfTI-1 or 540 bytes of a NIfTI-2 header, kept as they are; in the byte order of the file.
class NiftiHeader {
 public:
  static constexpr std::size_t largest_size = 540;

  /// Null where `start`, the first bytes of a file, is no NIfTI header. `name` is for the messages of the Errors
  /// (corrupt, unsupported) thrown where it is one and cannot be used.
  static std::optional<NiftiHeader> parse(std::span<const std::byte> start, const std::string& name);
  /// A new NIfTI-1 header of a single file. Throws Error(unsupported) where an axis is too long for one.
  /// `volume_seconds`: from one volume to the next, where that is known.
  static NiftiHeader create(const Geometry&, std::size_t volumes, ScalarType,
                            std::optional<double> volume_seconds = std::nullopt);

  std::span<const std::byte> bytes() const { return bytes_; }
  int version() const { return version_; }
  bool byte_swapped() const { return swapped_; }  ///< not in the byte order of this machine
  bool single_file() const { return single_file_; }
  const Extent& extent() const { return extent_; }
  std::int64_t volumes() const { return volumes_; }  ///< of the axes 4 to 7
  ScalarType type() const { return type_; }
  Rescale rescale() const { return rescale_; }
  /// Why only the stored numbers can be filtered, not the real values; empty where both can.
  const std::string& why_stored_only() const { return why_stored_only_; }
  /// True where the volumes are points in time: the fourth axis has a unit of time, and there is no fifth.
  bool has_times() const;
  /// From one point in time to the next; none where there is none, or the header does not say it.
  std::optional<double> volume_seconds() const;
  /// True where real values may lie so far from 0 that 32-bit floats lose their digits: a voxel must be looked at.
  bool may_lose_digits() const;
  std::int64_t voxel_offset() const { return voxel_offset_; }
  std::int64_t voxel_bytes() const { return extent_.voxels() * volumes_ * bytes_per_voxel(type_); }
  const Geometry& geometry() const { return geometry_; }
  /// What the qform says where geometry() is what the sform says; none where there is no other.
  const std::optional<Geometry>& qform_geometry() const { return qform_geometry_; }
  /// What the intent code says of the voxels.
  HeaderFacts facts() const;
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Other voxels, not rescaled.
  void set_type(ScalarType);
  /// Differences between voxels, as 32-bit floats: without the window in which viewers show the voxels.
  void set_differences();
  /// One file (`n+1`) or two (`ni1`).
  void set_container(bool single_file, std::int64_t voxel_offset);

 private:
  struct Field;
  struct Fields;

  double real(const Field&, int index = 0) const;
  std::int64_t integer(const Field&, int index = 0) const;
  void set(const Field&, double value, int index = 0);
  std::optional<double> seconds_per_unit() const;  ///< of the fourth axis
  void read_extent(const std::string& name);
  void read_type(const std::string& name);
  void read_rescale(const std::string& name);
  void read_voxel_offset(const std::string& name);
  void read_geometry();
  bool geometry_from_sform(double mm_per_unit);
  void geometry_from_qform(double mm_per_unit);
  void read_qform_beside(double mm_per_unit);
  void set_geometry();

  std::vector<std::byte> bytes_;
  int version_ = 1;
  bool swapped_ = false, single_file_ = true;
  Extent extent_;
  std::int64_t volumes_ = 1;
  ScalarType type_ = ScalarType::float32;
  Rescale rescale_;
  std::string why_stored_only_;
  std::int64_t voxel_offset_ = 0;
  Geometry geometry_;
  std::optional<Geometry> qform_geometry_;
  std::vector<std::string> warnings_;
};

}  // namespace quietvox::io
