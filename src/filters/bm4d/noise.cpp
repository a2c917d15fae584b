// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/bm4d/noise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace quietvox::bm4d_kernel {
namespace {

constexpr int farthest = 8;  ///< correlations of voxels farther apart are not looked at

/// Sums of products of a basis function and itself, moved by as many voxels as the index tells.
std::vector<double> products(Basis basis, int index, int length) {
  const std::vector<double> function = basis_function(basis, index, length);
  std::vector<double> sums(function.size(), 0);
  for (std::size_t lag = 0; lag < sums.size(); ++lag) {
    for (std::size_t n = lag; n < function.size(); ++n) sums[lag] += function[n] * function[n - lag];
  }
  return sums;
}

/// Blocks less far apart than this share noise.
Extent distances(Radius3 lengths, Radius3 search) {
  Extent size;
  for (int axis = 0; axis < 3; ++axis) size[axis] = std::min(2 * search[axis], lengths[axis] - 1 + farthest) + 1;
  return size;
}

/// Correlations of voxels at whole distances.
class Correlations {
 public:
  Correlations(const NoiseSpectrum& spectrum, int x, int y, int z)
      : width_(std::min(x, farthest + 1)),
        in_plane_(static_cast<std::size_t>(width_ * std::min(y, farthest + 1))),
        across_(static_cast<std::size_t>(std::min(z, farthest + 1))) {
    for (std::size_t i = 0; i < in_plane_.size(); ++i) {
      const std::size_t column = i % width(), row = i / width();
      in_plane_[i] = spectrum.correlation({static_cast<double>(column), static_cast<double>(row), 0});
    }
    for (std::size_t i = 0; i < across_.size(); ++i) across_[i] = spectrum.correlation({0, 0, static_cast<double>(i)});
  }

  double in_plane(int x, int y) const {
    const auto i = static_cast<std::size_t>(std::abs(y)) * width() + static_cast<std::size_t>(std::abs(x));
    return std::abs(x) < width_ && i < in_plane_.size() ? in_plane_[i] : 0;
  }
  double across(int z) const {
    const auto i = static_cast<std::size_t>(std::abs(z));
    return i < across_.size() ? across_[i] : 0;
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(width_); }

  int width_;
  std::vector<double> in_plane_, across_;
};

}  // namespace

std::vector<double> basis_function(Basis basis, int index, int length) {
  std::vector<double> values;
  if (basis == Basis::cosines) {
    const double scale = std::sqrt((index == 0 ? 1.0 : 2.0) / length);
    for (int n = 0; n < length; ++n) values.push_back(scale * std::cos(std::numbers::pi * (n + 0.5) * index / length));
    return values;
  }
  // A wavelet that follows `of its length` others; the sum has index 0.
  const int of_its_length = index == 0 ? 1 : static_cast<int>(std::bit_floor(static_cast<unsigned>(index)));
  const int span = length / of_its_length, first = index == 0 ? 0 : (index - of_its_length) * span;
  for (int n = 0; n < length; ++n) {
    const double sign = index == 0 || n < first + span / 2 ? 1 : -1;
    values.push_back(n >= first && n < first + span ? sign / std::sqrt(span) : 0);
  }
  return values;
}

std::size_t covariances_bytes(Radius3 lengths, Radius3 search) {
  return static_cast<std::size_t>(distances(lengths, search).voxels()) * block_room * sizeof(std::int32_t);
}

Covariances covariances_of(const NoiseSpectrum& spectrum, Basis basis, Radius3 lengths, Radius3 search) {
  Covariances result;
  result.size = distances(lengths, search);
  const Extent& size = result.size;
  result.values.assign(static_cast<std::size_t>(size.voxels() * block_room), 0);
  const auto reach = [&](int axis) { return static_cast<int>(size[axis]) + lengths[axis]; };
  const Correlations correlations(spectrum, reach(0), reach(1), reach(2));
  for (int kz = 0; kz < lengths.z; ++kz) {
    const std::vector<double> of_z = products(basis, kz, lengths.z);
    std::vector<double> across;  // for each distance
    for (int dz = 0; dz < size.z; ++dz) {
      double sum = 0;
      for (int z = 1 - lengths.z; z < lengths.z; ++z) {
        sum += of_z[static_cast<std::size_t>(std::abs(z))] * correlations.across(dz + z);
      }
      across.push_back(sum);
    }
    for (int ky = 0; ky < lengths.y; ++ky) {
      const std::vector<double> of_y = products(basis, ky, lengths.y);
      for (int kx = 0; kx < lengths.x; ++kx) {
        const std::vector<double> of_x = products(basis, kx, lengths.x);
        const auto k = static_cast<std::size_t>((std::int64_t{kz} * lengths.y + ky) * lengths.x + kx);
        for (std::int64_t i = 0; i < size.slice(); ++i) {
          const int dx = static_cast<int>(i % size.x), dy = static_cast<int>(i / size.x);
          double sum = 0;
          for (int y = 1 - lengths.y; y < lengths.y; ++y) {
            for (int x = 1 - lengths.x; x < lengths.x; ++x) {
              sum += of_y[static_cast<std::size_t>(std::abs(y))] * of_x[static_cast<std::size_t>(std::abs(x))] *
                     correlations.in_plane(dx + x, dy + y);
            }
          }
          for (std::size_t dz = 0; dz < across.size(); ++dz) {
            const std::size_t place = dz * static_cast<std::size_t>(size.slice()) + static_cast<std::size_t>(i);
            result.values[place * block_room + k] =
                static_cast<std::int32_t>(std::rint(sum * across[dz] / variance_grid));
          }
        }
      }
    }
  }
  return result;
}

}  // namespace quietvox::bm4d_kernel
