// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/stabilisation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace quietvox {
namespace {

constexpr double end = 8;  // of the tables, in sigma
constexpr int nodes = 1024;
constexpr double step = end / nodes;

template <std::size_t count>
double polynomial(const std::array<double, count>& coefficients, double x) {
  double sum = 0;
  for (std::size_t i = count; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

/// Modified Bessel functions of order 0 and 1 times exp(-x), within 4e-7 (Abramowitz and Stegun 9.8.1 to 9.8.4).
double bessel0(double x) {
  const double t = x / 3.75;
  if (t < 1) {
    return std::exp(-x) * polynomial<7>({1, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813}, t * t);
  }
  return polynomial<9>({0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537,
                        -0.01647633, 0.00392377},
                       1 / t) /
         std::sqrt(x);
}
double bessel1(double x) {
  const double t = x / 3.75;
  if (t < 1) {
    return std::exp(-x) * x *
           polynomial<7>({0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411}, t * t);
  }
  return polynomial<9>({0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312,
                        0.01787654, -0.00420059},
                       1 / t) /
         std::sqrt(x);
}

double mean_magnitude(double nu) {
  const double x = nu * nu / 4;
  return std::sqrt(std::numbers::pi / 2) * ((1 + 2 * x) * bessel0(x) + 2 * x * bessel1(x));
}

/// Linear between its nodes.
struct Table {
  std::array<double, nodes + 1> values{};

  double at(double x) const {
    const double place = x / step;
    const auto node = static_cast<std::size_t>(std::min(place, nodes - 1.0));
    return values[node] + (place - static_cast<double>(node)) * (values[node + 1] - values[node]);
  }
  /// Where the table, which rises, has a value that lies within it.
  double where(double value) const {
    const auto above = std::upper_bound(values.begin() + 1, values.end() - 1, value);
    const auto node = static_cast<double>(above - values.begin() - 1);
    return step * (node + (value - above[-1]) / (*above - above[-1]));
  }
};

/// Keeps digits that do not depend on how a processor rounds an exponential function.
double rounded(double value) { return std::nearbyint(std::ldexp(value, 30)) * 0x1p-30; }

struct Tables {
  Table forward;   ///< f of a magnitude
  Table expected;  ///< of f, for a nu
  double beyond;   ///< what f has over sqrt(m^2 - 1/2) above the end

  Tables() {
    Table mean;
    for (int i = 0; i <= nodes; ++i) mean.values[static_cast<std::size_t>(i)] = mean_magnitude(i * step);
    const auto slope = [&](double magnitude) {
      const double nu = magnitude <= mean.values[0] ? 0 : mean.where(std::min(magnitude, mean.values[nodes]));
      const double m = mean_magnitude(nu);
      return 1 / std::sqrt(nu * nu + 2 - m * m);
    };
    double sum = 0;
    for (int i = 1; i <= nodes; ++i) {
      sum += step * slope((i - 0.5) * step);
      forward.values[static_cast<std::size_t>(i)] = rounded(sum);
    }
    beyond = rounded(sum - std::sqrt(end * end - 0.5));
    for (int i = 0; i <= nodes; ++i) expected.values[static_cast<std::size_t>(i)] = rounded(expectation(i * step));
  }

  double f(double magnitude) const {
    return magnitude < end ? forward.at(magnitude) : std::sqrt(magnitude * magnitude - 0.5) + beyond;
  }

 private:
  double expectation(double nu) const {
    constexpr double width = 7, fine = 1.0 / 32;
    double sum = 0, weights = 0;
    for (double m = std::max(nu - width, 0.0) + fine / 2; m < nu + width; m += fine) {
      const double weight = m * std::exp(-(m - nu) * (m - nu) / 2) * bessel0(m * nu);
      sum += weight * f(m);
      weights += weight;
    }
    return sum / weights;
  }
};

const Tables& tables() {
  static const Tables made;
  return made;
}

}  // namespace

double stabilise_rician(double magnitude) { return magnitude < 0 ? -tables().f(-magnitude) : tables().f(magnitude); }

double unstabilise_rician(double filtered) {
  const Tables& table = tables();
  if (filtered <= table.expected.values.front()) return 0;
  if (filtered < table.expected.values.back()) return table.expected.where(filtered);
  const double d = filtered - table.beyond;
  return d * d / std::sqrt(d * d + 0.5);
}

double stabilise_poisson(double value, const SignalVariance& variance) {
  const double gain = variance.gain;
  return 2 / gain * std::sqrt(std::max(variance.at(value) + 0.375 * gain * gain, 0.0));
}

double unstabilise_poisson(double filtered, const SignalVariance& variance) {
  const double root = std::sqrt(1.5), d = std::max(filtered, root), inverse = 1 / d;
  const double counts = 0.25 * d * d + ((0.625 * root * inverse - 1.375) * inverse + 0.25 * root) * inverse - 0.125;
  return variance.gain * std::max(counts, 0.0) - variance.offset / variance.gain;
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
  if (noise.trusted_sigma() == 0 || noise.confidence < Confidence::medium) return false;
  return noise.distribution != NoiseDistribution::gaussian;
}

template <class Change>
void Stabilisation::for_each(VolumeView<float> slices, const Execution& execution, const Change& change) const {
  constexpr std::int64_t grain = 64;
  parallel_for(execution.silent(), slices.extent.y * slices.extent.z, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> local(static_cast<std::size_t>(slices.extent.x));
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t y = line % slices.extent.y, z = line / slices.extent.y;
      noise_.place_map().row({0, y, slices.origin.z + z}, extent_, local);
      float* const row = slices.row(y, z);
      for (std::size_t x = 0; x < local.size(); ++x) {
        if (std::isfinite(row[x])) row[x] = static_cast<float>(change(row[x], static_cast<double>(local[x])));
      }
    }
  });
}

void Stabilisation::apply(VolumeView<float> slices, const Execution& execution) const {
  const SignalVariance* const variance = noise_.signal_variance();
  for_each(slices, execution, [&](double voxel, double local) {
    const double sigma = noise_.sigma * local;
    if (!variance) return sigma * stabilise_rician(voxel / sigma);
    const SignalVariance here = variance->times(local * local);
    return sigma * (here.power == 2 ? stabilise_speckle(voxel, here) : stabilise_poisson(voxel, here));
  });
}

void Stabilisation::undo(VolumeView<float> slices, const Execution& execution) const {
  const SignalVariance* const variance = noise_.signal_variance();
  for_each(slices, execution, [&](double voxel, double local) {
    const double sigma = noise_.sigma * local;
    if (!variance) return sigma * unstabilise_rician(voxel / sigma);
    const SignalVariance here = variance->times(local * local);
    return here.power == 2 ? unstabilise_speckle(voxel / sigma, here) : unstabilise_poisson(voxel / sigma, here);
  });
}

NoiseModel Stabilisation::noise_after() const {
  NoiseModel after = noise_;
  after.map = noise_.place_map();
  after.distribution = NoiseDistribution::gaussian;
  return after;
}

std::string Stabilisation::noise_before() const {
  const SignalVariance* const variance = noise_.signal_variance();
  return !variance ? "Rician noise" : variance->power == 2 ? "speckle" : "Poisson noise";
}

}  // namespace quietvox
