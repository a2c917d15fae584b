// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/noise_of_volume.hpp"

#include "analysis/measure_noise.hpp"

namespace quietvox {
namespace {

/// A volume whose voxels are magnitudes, if that is known, unless its header says what they are.
class AsMagnitudes final : public VolumeSource {
 public:
  AsMagnitudes(VolumeSource& source, bool are_magnitudes) : source_(source), are_magnitudes_(are_magnitudes) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override {
    HeaderFacts header = source_.header();
    if (are_magnitudes_ && !header.kind) header.kind = DataKind::magnitude;
    return header;
  }
  void read(VolumeView<float> slices) override { source_.read(slices); }

 private:
  VolumeSource& source_;
  bool are_magnitudes_;
};

/// The volume whose difference from this one shows the noise. Neighbours in time may share some of their data (view
/// sharing, filters along time), and with it their noise; in arterial spin labelling, volumes an even number
/// apart are both label or both control images.
std::size_t neighbour_of(std::size_t volume, const io::Image& image) {
  const std::size_t last = image.volume_count() - 1;
  if (image.is_time_series()) {
    for (const std::size_t apart : {4, 2}) {
      if (volume + apart <= last) return volume + apart;
      if (volume >= apart) return volume - apart;
    }
  }
  return volume < last ? volume + 1 : volume - 1;
}

NoiseModel noise_of_volume(const io::Image& image, std::size_t volume, VolumeSource& source,
                           const Execution& execution) {
  if (image.volume_count() == 1) return measure_noise(source, execution);
  const std::size_t neighbour = neighbour_of(volume, image);
  const auto kind = [&](std::size_t which) { return image.volume(which, io::VoxelDomain::stored)->header().kind; };
  if (!(image.geometry(neighbour).extent == source.extent()) || image.may_share_noise(volume, neighbour) ||
      kind(volume) != kind(neighbour)) {
    return measure_noise(source, execution);
  }
  return measure_noise_with_neighbour(source, *image.volume(neighbour, io::VoxelDomain::real_less_offset), execution);
}

}  // namespace

NoiseModel measure_noise_for(Stabilise stabilise, VolumeSource& source, const Execution& execution) {
  AsMagnitudes volume(source, stabilise == Stabilise::rician);
  return measure_noise(volume, execution);
}

NoiseModel NoiseOfVolumes::measure(std::size_t volume, VolumeSource& source, const Execution& execution) {
  AsMagnitudes known(source, are_magnitudes_);
  NoiseModel model = noise_of_volume(image_, volume, known, execution);
  are_magnitudes_ = are_magnitudes_ || model.distribution == NoiseDistribution::rician;
  return model;
}

NoiseModel of_masked(NoiseModel model, const HeaderFacts& header, const std::function<NoiseModel()>& of_whole) {
  const bool is_known = model.trusted_sigma() > 0;
  const bool may_hide_air = model.distribution == NoiseDistribution::gaussian &&
                            header.kind.value_or(DataKind::magnitude) == DataKind::magnitude && !header.are_ct_numbers;
  if (is_known && !may_hide_air) return model;
  NoiseModel whole = of_whole();
  if (whole.trusted_sigma() == 0) return model;
  if (is_known) {
    if (whole.distribution != NoiseDistribution::rician) return model;
    whole.contrast = model.contrast;
    return whole;
  }
  if (whole.confidence > Confidence::medium) {
    whole.confidence = Confidence::medium;
    whole.reason = "the mask leaves too little to measure it in, so the whole volume was measured";
  }
  return whole;
}

void map_noise(const NoiseModel& model, VolumeSource& source,
               const std::function<void(VolumeView<const float> slices)>& consume) {
  const Extent extent = source.extent();
  for_each_slab(source, [&](VolumeView<float> slices) {
    for (std::int64_t i = 0; i < slices.extent.voxels(); ++i) {
      const Index3 voxel{i % extent.x, i / extent.x % extent.y, slices.origin.z + i / extent.slice()};
      slices.data[i] = static_cast<float>(model.sigma_at(voxel, extent, slices.data[i]));
    }
    consume(slices);
  });
}

}  // namespace quietvox
