// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "core/noise_model.hpp"
#include "io/image.hpp"
#include "workflow/stabilisation_choice.hpp"

namespace quietvox {

/// Measures the noise of a volume. `rician` says that its voxels are magnitudes, `poisson` and `speckle` that they are
/// none, where that noise is not found without that; a header that says what they are counts more.
NoiseModel measure_noise_for(Stabilise, VolumeSource&, const Execution&);

/// Measures the noise of the volumes of an image, one after another. A volume of a series is also compared with another
/// one. Once a volume shows Rician noise, later ones count as magnitudes unless a header says what they are: weak ones,
/// such as those with strong diffusion weighting, do not show it by themselves.
class NoiseOfVolumes {
 public:
  explicit NoiseOfVolumes(const io::Image& image, Stabilise stabilise = Stabilise::automatic)
      : image_(image), stabilise_(stabilise) {}

  /// `source` delivers the volume.
  NoiseModel measure(std::size_t volume, VolumeSource& source, const Execution&);
  /// `masked` delivers what lies inside a mask, and `open_whole` all of the volume, which is measured too where the
  /// mask leaves too little to go by, may hide the air that tells Rician noise, or that of counted rays, or where weak
  /// magnitudes inside it may look like air. What is far louder outside does not count.
  NoiseModel measure_masked(std::size_t volume, VolumeSource& masked, const Execution&,
                            const std::function<std::unique_ptr<VolumeSource>()>& open_whole);

 private:
  NoiseModel measured(std::size_t volume, VolumeSource& source, const Execution&) const;
  /// The same model, which later volumes are measured by.
  NoiseModel believed(NoiseModel);

  const io::Image& image_;
  Stabilise stabilise_;
  bool masks_hide_no_air_ = false;  ///< that tells Rician noise, as far as is known
};

/// Reads a volume whose noise was measured and hands on the standard deviation of the noise at each of its voxels, in
/// ascending order of the slices.
void map_noise(const NoiseModel&, VolumeSource&, const std::function<void(VolumeView<const float> slices)>& consume);

}  // namespace quietvox
