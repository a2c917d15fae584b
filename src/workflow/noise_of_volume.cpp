// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/noise_of_volume.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/measure_noise.hpp"
#include "analysis/simple_noise_estimators.hpp"

namespace quietvox {
namespace {

/// Whether the noise was found, and with more than low confidence.
bool tells_enough(const NoiseModel& model) {
  return model.trusted_sigma() > 0 && model.confidence >= Confidence::medium;
}

/// A volume of which something besides its header says what its voxels are. The header counts more.
class KnownKind final : public VolumeSource {
 public:
  KnownKind(VolumeSource& source, DataKind kind) : source_(source), kind_(kind) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override {
    HeaderFacts header = source_.header();
    if (!header.kind) header.kind = kind_;
    return header;
  }
  void read(VolumeView<float> slices) override { source_.read(slices); }

 private:
  VolumeSource& source_;
  DataKind kind_;
};

/// Who asks for noise that follows the value says that voxels are no magnitudes. That is heeded only where none is
/// found without it, so that asking for what is found anyway changes nothing.
template <class Measure>
NoiseModel measured_for(Stabilise stabilise, VolumeSource& source, const Measure& measure) {
  if (stabilise == Stabilise::rician) {
    KnownKind magnitudes(source, DataKind::magnitude);
    return measure(magnitudes);
  }
  NoiseModel model = measure(source);
  const bool is_found = !(stabilise == Stabilise::poisson && model.poisson.gain == 0) &&
                        !(stabilise == Stabilise::speckle && model.speckle.gain == 0);
  if (is_found || source.header().kind) return model;
  KnownKind scalars(source, DataKind::scalar);
  return measure(scalars);
}

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
  return measured_for(stabilise, source, [&](VolumeSource& known) { return measure_noise(known, execution); });
}

NoiseModel NoiseOfVolumes::measured(std::size_t volume, VolumeSource& source, const Execution& execution) const {
  NoiseModel model = measured_for(
      stabilise_, source, [&](VolumeSource& known) { return noise_of_volume(image_, volume, known, execution); });
  if (image_.volume_count() > 1) model.pieces = nullptr;  // volumes of a series are to be filtered alike
  return model;
}

NoiseModel NoiseOfVolumes::believed(NoiseModel model) {
  if (model.distribution == NoiseDistribution::rician) stabilise_ = Stabilise::rician;
  return model;
}

NoiseModel NoiseOfVolumes::measure(std::size_t volume, VolumeSource& source, const Execution& execution) {
  return believed(measured(volume, source, execution));
}

NoiseModel NoiseOfVolumes::measure_masked(std::size_t volume, VolumeSource& masked, const Execution& execution,
                                          const std::function<std::unique_ptr<VolumeSource>()>& open_whole) {
  NoiseModel model = measured(volume, masked, execution);
  const HeaderFacts header = masked.header();
  const bool tells = tells_enough(model), is_known = model.trusted_sigma() > 0;
  const auto is_rician = [](const NoiseModel& one) { return one.distribution == NoiseDistribution::rician; };
  const bool may_be_magnitudes =
      header.kind.value_or(DataKind::magnitude) == DataKind::magnitude && !header.are_ct_numbers;
  const bool may_hide_air = (may_be_magnitudes && !model.signal_variance()) || header.object_is_dark;
  if (tells && (!may_hide_air || (masks_hide_no_air_ && !is_rician(model)))) return believed(std::move(model));
  const auto source = open_whole();
  NoiseModel whole = measured(volume, *source, execution);
  whole.pieces = model.pieces;  // none that lies outside
  masks_hide_no_air_ = !is_rician(whole) && !(header.object_is_dark && whole.signal_variance());
  if (whole.trusted_sigma() == 0) return believed(std::move(model));
  // Weak magnitudes within a mask may look like air; then sigma lies further from what neighbours there show.
  const auto is_real_air = [&] {
    const double shown = estimate_noise(masked, execution);
    const auto distance = [&](const NoiseModel& one) { return std::abs(std::log(one.sigma / shown)); };
    return tells && is_rician(model) && shown > 0 && distance(model) <= distance(whole);
  };
  if (is_known && may_hide_air && !masks_hide_no_air_) {
    if (is_real_air()) return believed(std::move(model));
    whole.contrast = model.contrast;
    return believed(std::move(whole));
  }
  const bool is_doubtful = !tells || is_rician(model);
  if (is_known && (!is_doubtful || !tells_enough(whole))) return believed(std::move(model));
  // Correlation and structure make differences of neighbours as much too small or too large here as there.
  constexpr double much = 3;
  if (is_known && estimate_noise(*source, execution) > much * estimate_noise(masked, execution)) {
    return believed(std::move(model));
  }
  whole.confidence = std::min(whole.confidence, Confidence::medium);
  whole.reason = "within the mask alone the noise is not told for sure, so the whole volume was measured" +
                 (whole.reason.empty() ? "" : "; " + whole.reason);
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
