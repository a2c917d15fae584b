// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/stabilisation.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "rician_tables.hpp"

namespace quietvox {
namespace {

/// Beyond its table a magnitude changes as if its noise were Gaussian.
double forward(double magnitude) {
  return magnitude < RisingTable::end ? rician_forward.at(magnitude)
                                      : std::sqrt(magnitude * magnitude - 0.5) + rician_beyond;
}

/// Takes off what noise that a filter leaves makes of a weak signal, which cannot be less than none.
double without_rest(double nu) {
  constexpr double rest = 0.08;  // of the square: filters leave some 0.08 of the noise in air
  constexpr double end = 1.5;    // no more from here on
  if (nu >= end) return nu;
  const double share = 1 - nu * nu / (end * end);
  return std::sqrt(std::max(nu * nu - rest * share * share, 0.0));
}

}  // namespace

double stabilise_rician(double magnitude) { return magnitude < 0 ? magnitude : forward(magnitude); }

double unstabilise_rician(double filtered) {
  if (filtered < 0) return filtered;
  if (filtered <= rician_expected.values.front()) return 0;
  if (filtered < rician_expected.values.back()) return rician_expected.where(filtered);
  const double d = filtered - rician_beyond;
  return d * d / std::sqrt(d * d + 0.5);
}

double stabilise_poisson(double value, const SignalVariance& variance) {
  constexpr double beyond = -3;  // which noise hardly reaches from where the variance is above 0
  const double counts = variance.at(value) / (variance.gain * variance.gain);
  if (counts < beyond && variance.offset != 0) return counts - beyond;
  return 2 * std::sqrt(std::max(counts + 0.375, 0.0));
}

double unstabilise_poisson(double filtered, const SignalVariance& variance) {
  const double root = std::sqrt(1.5), d = std::max(filtered, root), inverse = 1 / d;
  const double counts = 0.25 * d * d + ((0.625 * root * inverse - 1.375) * inverse + 0.25 * root) * inverse - 0.125;
  const double below = variance.offset == 0 ? 0 : std::min(filtered, 0.0);
  return variance.gain * (std::max(counts, 0.0) + below) - variance.offset / variance.gain;
}

double stabilise_speckle(double value, const SignalVariance& variance) {
  const double g = std::sqrt(variance.gain);
  return std::asinh(g * value / std::sqrt(variance.offset)) / g;
}

double unstabilise_speckle(double filtered, const SignalVariance& variance) {
  const double g = std::sqrt(variance.gain);
  return std::sqrt(variance.offset) / g * std::sinh(g * (filtered + 0.5 * g * std::tanh(g * filtered)));
}

bool Stabilisation::helps(const NoiseModel& noise) {
  if (noise.trusted_sigma() == 0) return false;
  switch (noise.distribution) {
    case NoiseDistribution::gaussian: return false;
    case NoiseDistribution::rician: return true;  // seen in air, whatever the structure of tissue
    default: return noise.confidence >= Confidence::medium;
  }
}

template <class Change>
void Stabilisation::for_each(VolumeView<float> part, const Execution& execution, const Change& change) const {
  constexpr std::int64_t grain = 64;
  parallel_for(execution.silent(), part.extent.y * part.extent.z, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> local(static_cast<std::size_t>(part.extent.x));
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t y = line % part.extent.y, z = line / part.extent.y;
      noise_.place_map().row({part.origin.x, part.origin.y + y, part.origin.z + z}, extent_, local);
      float* const row = part.row(y, z);
      for (std::size_t x = 0; x < local.size(); ++x) {
        if (std::isfinite(row[x])) row[x] = static_cast<float>(change(row[x], static_cast<double>(local[x])));
      }
    }
  });
}

void Stabilisation::apply(VolumeView<float> part, const Execution& execution) const {
  const SignalVariance* const variance = noise_.signal_variance();
  for_each(part, execution, [&](double voxel, double local) {
    const double sigma = noise_.sigma * local;
    if (!variance) return sigma * stabilise_rician(voxel / sigma);
    const SignalVariance here = variance->times(local * local);
    return sigma * (here.power == 2 ? stabilise_speckle(voxel, here) : stabilise_poisson(voxel, here));
  });
}

void Stabilisation::undo(VolumeView<float> part, const Execution& execution) const {
  const SignalVariance* const variance = noise_.signal_variance();
  for_each(part, execution, [&](double voxel, double local) {
    const double sigma = noise_.sigma * local;
    if (!variance) {
      const double nu = unstabilise_rician(voxel / sigma);
      return sigma * (nu < 0 ? nu : without_rest(nu));
    }
    const SignalVariance here = variance->times(local * local);
    return here.power == 2 ? unstabilise_speckle(voxel / sigma, here) : unstabilise_poisson(voxel / sigma, here);
  });
}

NoiseModel Stabilisation::noise_after() const {
  NoiseModel after = noise_;
  after.map = noise_.place_map();
  after.distribution = NoiseDistribution::gaussian;
  if (noise_.pieces) {
    std::vector<VolumePiece> pieces = *noise_.pieces;
    for (VolumePiece& piece : pieces) apply({piece.voxels.data(), piece.extent, {1, 1, 1}, piece.origin}, {});
    after.pieces = std::make_shared<const std::vector<VolumePiece>>(std::move(pieces));
  }
  return after;
}

std::string Stabilisation::noise_before() const {
  const SignalVariance* const variance = noise_.signal_variance();
  return !variance ? "Rician noise" : variance->power == 2 ? "speckle" : "Poisson noise";
}

}  // namespace quietvox
