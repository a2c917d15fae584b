// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "io/image.hpp"
#include "io/voxel_kind.hpp"

namespace quietvox {

/// Volumes in memory as an image, so that they are filtered as those of a scan are. They have one extent, and lie
/// nowhere in a patient.
class MemoryImage final : public io::Image {
 public:
  struct Volumes {
    std::span<const VolumeView<const float>> input;
    std::span<const VolumeView<float>> output{};  ///< where the writer puts its slices; needed for a writer only
  };

  /// `said`: what the voxels are; without a kind, they are looked at. `are_times`: the volumes are one picture at
  /// several times.
  explicit MemoryImage(const Volumes&, HeaderFacts said = {}, bool are_times = false);

  io::Format format() const override { return io::Format::nifti; }
  std::vector<io::FileStamp> files() const override { return {}; }
  std::size_t volume_count() const override { return volumes_.input.size(); }
  const io::Geometry& geometry(std::size_t) const override { return geometry_; }
  bool can_filter_stored(std::size_t) const override { return false; }
  std::string why_2d_only(std::size_t) const override { return {}; }
  io::ImageInfo info() const override { return {.encoding = "raw", .type = io::ScalarType::float32}; }
  std::vector<std::string> warnings() const override { return {}; }
  bool is_time_series() const override { return are_times_; }
  /// Voxels that are not finite become those of the input.
  std::unique_ptr<io::ImageWriter> writer(const std::filesystem::path&, io::VoxelDomain,
                                          const io::WriteOptions&) const override;

 private:
  std::unique_ptr<VolumeSource> source_of(std::size_t volume, io::VoxelDomain) const override;
  HeaderFacts facts_of(std::size_t volume) const;

  Volumes volumes_;
  io::Geometry geometry_;
  HeaderFacts said_;
  bool are_times_;
  std::unique_ptr<io::KindByVoxels> looks_;
};

}  // namespace quietvox
