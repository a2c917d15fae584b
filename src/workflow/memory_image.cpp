// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/memory_image.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/memory_volume.hpp"

namespace quietvox {
namespace {

class MemoryWriter final : public io::ImageWriter {
 public:
  explicit MemoryWriter(const MemoryImage::Volumes& volumes) : volumes_(volumes) {}

  void begin_volume(std::size_t volume, const Provenance&) override { volume_ = volume; }
  void write(VolumeView<const float> slices, float* stored) override {
    const float* const before = volumes_.input[volume_].row(0, slices.origin.z);
    float* const after = volumes_.output[volume_].row(0, slices.origin.z);
    const std::int64_t count = slices.extent.voxels();
    for (std::int64_t i = 0; i < count; ++i) after[i] = std::isfinite(slices.data[i]) ? slices.data[i] : before[i];
    if (stored) std::copy_n(after, count, stored);
  }
  io::WriteReport finish(std::vector<io::AtomicOutput*>&) override { return {}; }
  std::size_t packing_bytes(const Execution&) const override { return 0; }

 private:
  MemoryImage::Volumes volumes_;
  std::size_t volume_ = 0;
};

}  // namespace

MemoryImage::MemoryImage(const Volumes& volumes, HeaderFacts said, bool are_times)
    : volumes_(volumes),
      geometry_{.extent = volumes.input.front().extent, .spacing = volumes.input.front().spacing, .is_placed = false},
      said_(std::move(said)),
      are_times_(are_times),
      looks_(std::make_unique<io::KindByVoxels>(volumes.input.size())) {
  if (said_.kind && said_.kind_source.empty()) {
    said_.kind_source = io::facts_given({.series_uid = {}, .kind = said_.kind}).kind_source;
  }
}

/// What is said, or what the voxels look like. Less an offset, all look like phases, whose range is even about 0.
HeaderFacts MemoryImage::facts_of(std::size_t volume) const {
  if (said_.kind) return said_;
  const auto as_source = [&](std::size_t which) { return std::make_unique<MemoryVolume>(volumes_.input[which]); };
  HeaderFacts looks = looks_->get(volume, said_, {}, as_source);
  return said_.offset != 0 && looks.kind == DataKind::phase ? said_ : looks;
}

std::unique_ptr<VolumeSource> MemoryImage::source_of(std::size_t volume, io::VoxelDomain) const {
  return std::make_unique<MemoryVolume>(volumes_.input[volume], facts_of(volume));
}

std::unique_ptr<io::ImageWriter> MemoryImage::writer(const std::filesystem::path&, io::VoxelDomain,
                                                     const io::WriteOptions&) const {
  return std::make_unique<MemoryWriter>(volumes_);
}

}  // namespace quietvox
