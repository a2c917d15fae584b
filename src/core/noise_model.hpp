// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/volume_view.hpp"

namespace quietvox {

enum class NoiseDistribution {
  gaussian,  ///< symmetric about the signal
  rician,    ///< magnitude of complex Gaussian noise: positive on average where there is no signal
  poisson,   ///< of counts, with Gaussian noise besides: its variance grows with the signal
  speckle,   ///< a share of the signal, with Gaussian noise besides: its variance grows with the square of the signal
};
constexpr std::array<std::string_view, 4> choices(NoiseDistribution) {
  return {"gaussian", "rician", "poisson", "speckle"};
}

enum class Confidence { none, low, medium, high };
constexpr std::array<std::string_view, 4> choices(Confidence) { return {"none", "low", "medium", "high"}; }

/// How noise is spread over spatial frequencies: power in the plane of a slice, times power across slices, each with
/// mean 1. Index k of an axis of n entries stands for k / (2 n) cycles per voxel. White noise has 1 everywhere.
/// Where slices do not lie along z, x, y and z of `size` are those of the volume with that axis and z exchanged.
struct NoiseSpectrum {
  Extent size{{1, 1, 1}};
  std::vector<float> in_plane{1};  ///< size.x * size.y entries, x fastest
  std::vector<float> across{1};    ///< size.z entries
  int across_axis = 2;             ///< the axis across slices

  /// Correlation of the noise of two voxels that lie so many voxels apart along each axis.
  double correlation(const Triple<double>& distance) const;
  /// Correlation length per axis, in voxels: as many neighbours carry the same information as one voxel alone would.
  /// The sum of the squared correlations along the axis; 1 for white noise.
  Triple<double> length() const;
};

/// A positive field that varies slowly over a volume: values at the nodes of a coarse grid that spans it, linear
/// between them, and nowhere below 1e-3.
struct CoarseField {
  Extent size{{1, 1, 1}};
  std::vector<float> values{1};

  bool varies() const { return values.size() > 1; }
  double largest() const;
  /// At a voxel of a volume of `extent`.
  double at(const Index3& voxel, const Extent& extent) const;
  /// At voxels of a row, from `first` on.
  void row(const Index3& first, const Extent& extent, std::span<float> to) const;
};

/// A variance that grows with the signal: gain * signal^power + offset. For counts with Gaussian noise (power 1), the
/// gain is what one count adds to a voxel, and the offset is the variance of the Gaussian noise, less the gain times
/// any level that was added to all voxels; exactly 0 for counts alone. For speckle (power 2), the root of the gain is
/// its share of the signal.
struct SignalVariance {
  double gain = 0;  ///< 0: not known
  double offset = 0;
  int power = 1;  ///< 1 or 2, of the signal

  double at(double signal) const { return gain * (power == 2 ? signal * signal : signal) + offset; }
  /// The variance of voxels that are multiplied by `factor`.
  SignalVariance of_scaled(double factor) const {
    return {gain * (power == 2 ? 1 : factor), offset * factor * factor, power};
  }
  SignalVariance times(double factor) const { return {gain * factor, offset * factor, power}; }
};

/// A part of a volume.
struct VolumePiece {
  Index3 origin{};  ///< of its first voxel in the volume
  Extent extent;
  std::vector<float> voxels{};  ///< x fastest
};

/// The noise of a volume as measured from its voxels.
struct NoiseModel {
  double sigma = 0;  ///< standard deviation of the noise of a voxel, root mean square over the object; 0: none found
  NoiseDistribution distribution = NoiseDistribution::gaussian;
  /// How the variance follows the signal if the noise is Poisson or speckle; its mean is `sigma` squared. For other
  /// noise, the best fit of either kind, if there is one.
  SignalVariance poisson{}, speckle{0, 0, 2};
  NoiseSpectrum spectrum{};
  CoarseField map{};         ///< standard deviation over `sigma`; a single 1 where it does not vary
  CoarseField signal_map{};  ///< of noise that follows the signal: standard deviation over the one expected from it
  double contrast = 0;       ///< standard deviation within 8x8x4 voxels of what is no noise, median over the object
  double step = 0;           ///< voxels are multiples of this; 0: of no step to speak of
  double impulses = 0;       ///< share of voxels that no smooth distribution explains
  bool masked = false;       ///< part of the background is one value
  float background = 0;      ///< that value
  /// Of other large areas of one value each, such as panels beside an image, or corners that a rotation filled.
  std::vector<float> uniform_values{};
  /// Parts of the object, all of one extent, on which a filter may try its parameters; null: there are none.
  std::shared_ptr<const std::vector<VolumePiece>> pieces{};
  std::int64_t places = 0;  ///< flat parts of the volume that the measure rests on
  Confidence confidence = Confidence::high;
  std::string reason{};  ///< why the confidence is not high; a sentence without its stop

  /// `sigma 3.41, rician, correlated over 1.7 x 1.7 x 1 voxels, confidence high`, and what else there is to say.
  std::string describe() const;
  /// The sigma that a filter may use: 0 if the measure cannot be trusted.
  double trusted_sigma() const { return confidence == Confidence::none ? 0 : sigma; }
  /// Why trusted_sigma() is 0.
  std::string why_untrusted() const {
    return sigma > 0 ? "the noise cannot be measured (" + reason + ")" : "no noise was found";
  }
  /// The sigma for filters that work on blocks of this size: that of white noise which is as strong as this noise at
  /// low frequencies, where correlated noise is strongest. 0 where the measure is not to be trusted.
  double coarse_sigma(const Radius3& block) const;
  /// How the variance follows the signal; null where it does not.
  const SignalVariance* signal_variance() const;
  /// What varies with the place alone.
  const CoarseField& place_map() const { return signal_variance() ? signal_map : map; }
  /// At a voxel of a volume of `extent`, which has this value.
  double sigma_at(const Index3& voxel, const Extent& extent, double value) const;
};

}  // namespace quietvox
