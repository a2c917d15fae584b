// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "core/volume_view.hpp"

namespace quietvox {

/// Squared coefficients of an orthonormal discrete cosine transform of type 2: bricks of energies.
class DctEnergies {
 public:
  explicit DctEnergies(const Extent& size) : size_(size) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t n = size[axis];
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < n; ++k) {
          const double angle =
              std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(k) / static_cast<double>(n);
          const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(n));
          basis_[static_cast<std::size_t>(axis)].push_back(static_cast<float>(scale * std::cos(angle)));
        }
      }
    }
  }

  /// In place.
  void energies(float* brick) const {
    std::array<float, 256> other{};
    const std::int64_t slice = size_.slice();
    for (std::int64_t row = 0; row < size_.y * size_.z; ++row) {
      transform(brick + row * size_.x, other.data() + row * size_.x, basis_[0], size_.x, 1);
    }
    for (std::int64_t z = 0; z < size_.z; ++z) {
      transform(other.data() + z * slice, brick + z * slice, basis_[1], size_.y, size_.x);
    }
    transform(brick, other.data(), basis_[2], size_.z, slice);
    for (std::int64_t i = 0; i < size_.voxels(); ++i) {
      const float value = other[static_cast<std::size_t>(i)];
      brick[i] = value * value;
    }
  }

 private:
  /// Transforms along an axis of `count` samples, `width` adjacent lines at a time.
  static void transform(const float* in, float* out, const std::vector<float>& basis, std::int64_t count,
                        std::int64_t width) {
    if (count == 8 && width == 1) return transform<8, 1>(in, out, basis.data());
    if (count == 8 && width == 8) return transform<8, 8>(in, out, basis.data());
    if (count == 4 && width == 64) return transform<4, 64>(in, out, basis.data());
    transform_any(in, out, basis.data(), count, width);
  }
  template <std::int64_t count, std::int64_t width>
  static void transform(const float* in, float* out, const float* basis) {
    transform_any(in, out, basis, count, width);
  }
  [[gnu::always_inline]] static void transform_any(const float* in, float* out, const float* basis, std::int64_t count,
                                                   std::int64_t width) {
    std::fill(out, out + count * width, 0.0F);
    for (std::int64_t i = 0; i < count; ++i) {
      const float* const weights = basis + i * count;
      for (std::int64_t k = 0; k < count; ++k) {
        for (std::int64_t j = 0; j < width; ++j) out[k * width + j] += weights[k] * in[i * width + j];
      }
    }
  }

  Extent size_;
  std::array<std::vector<float>, 3> basis_;
};

}  // namespace quietvox
