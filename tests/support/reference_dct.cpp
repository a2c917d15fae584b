// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_dct.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace quietvox::test {
namespace {

/// Voxels of a block, or its coefficients, x fastest.
using Values = std::vector<double>;

Radius3 lengths_of(const DctParams& params, const Extent& extent) {
  Radius3 lengths = *params.block == DctBlock::cube ? Radius3{4, 4, 4} : Radius3{8, 8, 1};
  for (int axis = 0; axis < 3; ++axis) {
    while (lengths[axis] > extent[axis]) lengths[axis] /= 2;
  }
  return lengths;
}

/// Coefficient k of a line of `count` voxels counts voxel n so much.
double cosine(int k, int n, int count) {
  const double scale = k == 0 ? std::sqrt(1.0 / count) : std::sqrt(2.0 / count);
  return scale * std::cos(std::numbers::pi * (n + 0.5) * k / count);
}

/// Transforms along all axes, or back.
Values transformed(Values values, Radius3 lengths, bool back) {
  std::size_t stride = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const int count = lengths[axis];
    std::array<std::array<double, 8>, 8> matrix{};
    for (int k = 0; k < count; ++k) {
      for (int n = 0; n < count; ++n) (back ? matrix[n][k] : matrix[k][n]) = cosine(k, n, count);
    }
    Values result(values.size(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t place = i / stride % count, line = i - place * stride;
      for (int n = 0; n < count; ++n) result[i] += matrix[place][n] * values[line + stride * n];
    }
    values = result;
    stride *= count;
  }
  return values;
}

double gain(double coefficient, double threshold, int order) {
  const double power = std::pow(std::abs(coefficient) / threshold, order);
  return std::isinf(power) ? 1 : power / (1 + power);
}

/// One pass; `oracle` holds what the gains come from.
std::vector<double> pass(const Volume& in, const std::vector<double>& oracle, Radius3 lengths, double threshold,
                         int order) {
  const Extent e = in.extent;
  std::vector<double> sums(in.voxels.size(), 0), weights(in.voxels.size(), 0);
  for (std::int64_t z = 0; z + lengths.z <= e.z; ++z) {
    for (std::int64_t y = 0; y + lengths.y <= e.y; ++y) {
      for (std::int64_t x = 0; x + lengths.x <= e.x; ++x) {
        std::vector<std::size_t> places;
        for (int k = 0; k < lengths.z; ++k) {
          for (int j = 0; j < lengths.y; ++j) {
            for (int i = 0; i < lengths.x; ++i) {
              places.push_back(static_cast<std::size_t>(((z + k) * e.y + y + j) * e.x + x + i));
            }
          }
        }
        Values voxels, signal;
        for (const std::size_t place : places) {
          voxels.push_back(in.voxels[place]);
          signal.push_back(oracle[place]);
        }
        if (!std::all_of(voxels.begin(), voxels.end(), [](double value) { return std::isfinite(value); })) continue;
        Values coefficients = transformed(voxels, lengths, false);
        signal = transformed(signal, lengths, false);
        double squares = 1;
        for (std::size_t k = 1; k < coefficients.size(); ++k) {
          const double g = gain(signal[k], threshold, order);
          coefficients[k] *= g;
          squares += g * g;
        }
        const Values result = transformed(coefficients, lengths, true);
        for (std::size_t i = 0; i < places.size(); ++i) {
          sums[places[i]] += result[i] / (1 + squares);
          weights[places[i]] += 1 / (1 + squares);
        }
      }
    }
  }
  std::vector<double> result(in.voxels.begin(), in.voxels.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (weights[i] > 0) result[i] = sums[i] / weights[i];
  }
  return result;
}

}  // namespace

Volume reference_dct(const Volume& in, const DctParams& params) {
  Volume out = in;
  const double h = params.strength * *params.sigma;
  if (h > 0) {
    const Radius3 lengths = lengths_of(params, in.extent);
    const std::vector<double> noisy(in.voxels.begin(), in.voxels.end());
    const std::vector<double> basic = pass(in, noisy, lengths, 2.8 * h, 8);
    const std::vector<double> result = pass(in, basic, lengths, h, 4);
    std::transform(result.begin(), result.end(), out.voxels.begin(), [](double v) { return static_cast<float>(v); });
  }
  for (float& voxel : out.voxels) voxel += 0.0F;
  return out;
}

double dct_tolerance(const Volume& in) {
  float largest = 0;
  for (const float voxel : in.voxels) {
    if (std::isfinite(voxel)) largest = std::max(largest, std::abs(voxel));
  }
  return 1e-5 * static_cast<double>(largest);
}

}  // namespace quietvox::test
