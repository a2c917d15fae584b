// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "phantom/scanner_noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "phantom/voxel_random.hpp"

namespace quietvox {

class NoiseAdder::Kind {
 public:
  virtual ~Kind() = default;
  virtual void add(VolumeView<float> slices) = 0;
};

namespace {

constexpr double pi = std::numbers::pi;

void store(float& voxel, double value) {
  constexpr double limit = std::numeric_limits<float>::max();
  voxel = static_cast<float>(std::clamp(value, -limit, limit));
}

/// Calls `body(row, y, z)`, places counted in the whole volume, for each row, in parallel.
template <class Body>
void for_each_row(const Execution& execution, VolumeView<float> slices, const Body& body) {
  parallel_for(execution, slices.extent.y * slices.extent.z, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t y = i % slices.extent.y, z = i / slices.extent.y;
      body(slices.row(y, z), y, slices.origin.z + z);
    }
  });
}

/// Values above this are object.
double object_threshold(const Range<double>& range) { return range.min + 0.05 * (range.max - range.min); }

class VoxelNoise final : public NoiseAdder::Kind {
 public:
  VoxelNoise(const Range<double>& range, const NoiseParams& params, const Execution& execution)
      : range_(range), params_(params), execution_(execution) {}
  void add(VolumeView<float> slices) override {
    add_noise(slices, params_, static_cast<float>(range_.min), static_cast<float>(range_.max), execution_);
  }

 private:
  Range<double> range_;
  NoiseParams params_;
  Execution execution_;
};

/// A low pass along an axis that is periodic, as the discrete Fourier transform has it.
class LowPass {
 public:
  /// Keeps 2/3 of the frequencies of `count` samples, the upper 0.3 of them tapered by a cosine.
  explicit LowPass(std::int64_t count) : count_(count), radius_(std::min<std::int64_t>((count - 1) / 2, 64)) {
    constexpr double kept = 1.0 / 3, taper = 0.3;  // cycles per sample; share of `kept`
    taps_.resize(static_cast<std::size_t>(2 * radius_ + 1));
    const std::int64_t frequencies = std::max<std::int64_t>(count, 1);
    double sum = 0;
    for (std::int64_t j = -radius_; j <= radius_; ++j) {
      double tap = 0;
      for (std::int64_t k = 0; k < frequencies; ++k) {
        const double f = static_cast<double>(std::min(k, frequencies - k)) / static_cast<double>(frequencies);
        const double weight = 0.5 - 0.5 * std::cos(pi * std::clamp((1 - f / kept) / taper, 0.0, 1.0));
        tap += weight * std::cos(2 * pi * static_cast<double>(k * j % frequencies) / static_cast<double>(frequencies));
      }
      taps_[static_cast<std::size_t>(j + radius_)] = tap;
      sum += tap;
    }
    for (double& tap : taps_) tap /= sum;
  }

  /// The variance that white noise of unit variance is left with.
  double power() const {
    double sum = 0;
    for (const double tap : taps_) sum += tap * tap;
    return sum;
  }

  /// Filters `count` samples that lie `stride` apart. `buffer` is overwritten.
  void filter(double* samples, std::int64_t stride, std::vector<double>& buffer) const {
    buffer.assign(static_cast<std::size_t>(2 * count_ + 2 * radius_), 0);
    double* const line = buffer.data() + count_;
    for (std::int64_t i = -radius_; i < count_ + radius_; ++i) {
      line[i + radius_] = samples[(i + count_) % count_ * stride];
    }
    for (std::int64_t j = 0; j <= 2 * radius_; ++j) {
      const double tap = taps_[static_cast<std::size_t>(j)];
      for (std::int64_t i = 0; i < count_; ++i) buffer[static_cast<std::size_t>(i)] += tap * line[i + j];
    }
    for (std::int64_t i = 0; i < count_; ++i) samples[i * stride] = buffer[static_cast<std::size_t>(i)];
  }

 private:
  std::int64_t count_, radius_;
  std::vector<double> taps_;
};

class ZeroFilled final : public NoiseAdder::Kind {
 public:
  ZeroFilled(const Extent& extent, const Range<double>& range, const NoiseParams& params, const Execution& execution)
      : extent_(extent), darkest_(range.min), params_(params), execution_(execution), x_(extent.x), y_(extent.y) {}

  void add(VolumeView<float> slices) override {
    const double scale = params_.amount / std::sqrt(x_.power() * y_.power());
    const auto voxels = static_cast<std::size_t>(extent_.slice());
    std::vector<double> real(voxels), imaginary(voxels);
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      const VolumeView<float> slice = slices.slices(z, 1);
      for_each_row(execution_.silent(), slice, [&](const float* row, std::int64_t y, std::int64_t place) {
        for (std::int64_t x = 0; x < extent_.x; ++x) {
          const auto [a, b] = VoxelRandom(params_.seed, {x, y, place}).normal();
          const auto i = static_cast<std::size_t>(y * extent_.x + x);
          real[i] = (std::isfinite(row[x]) ? static_cast<double>(row[x]) : darkest_) + scale * a;
          imaginary[i] = scale * b;
        }
      });
      smooth(real.data());
      smooth(imaginary.data());
      for_each_row(execution_.silent(), slice, [&](float* row, std::int64_t y, std::int64_t) {
        for (std::int64_t x = 0; x < extent_.x; ++x) {
          const auto i = static_cast<std::size_t>(y * extent_.x + x);
          if (std::isfinite(row[x])) store(row[x], std::hypot(real[i], imaginary[i]));
        }
      });
    }
  }

 private:
  void smooth(double* slice) const {
    parallel_for(execution_.silent(), extent_.y, 8, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> line;
      for (std::int64_t y = begin; y < end; ++y) x_.filter(slice + y * extent_.x, 1, line);
    });
    parallel_for(execution_.silent(), extent_.x, 8, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> line;
      for (std::int64_t x = begin; x < end; ++x) y_.filter(slice + x, extent_.x, line);
    });
  }

  Extent extent_;
  double darkest_;
  NoiseParams params_;
  Execution execution_;
  LowPass x_, y_;
};

class GFactor final : public NoiseAdder::Kind {
 public:
  GFactor(VolumeSource& clean, const Range<double>& range, const NoiseParams& params, const Execution& execution)
      : extent_(clean.extent()), params_(params), execution_(execution) {
    const double threshold = object_threshold(range);
    double sum = 0, count = 0;
    for_each_slab(clean, [&](VolumeView<float> slices) {
      for (std::int64_t i = 0; i < slices.extent.voxels(); ++i) {
        if (!(static_cast<double>(slices.data[i]) > threshold)) continue;
        const std::int64_t x = i % extent_.x, y = i / extent_.x % extent_.y, z = i / extent_.slice();
        const double g = factor({x, y, slices.origin.z + z});
        sum += g * g;
        ++count;
      }
    });
    scale_ = count > 0 ? params.amount / std::sqrt(sum / count) : params.amount;
  }

  void add(VolumeView<float> slices) override {
    for_each_row(execution_, slices, [&](float* row, std::int64_t y, std::int64_t z) {
      for (std::int64_t x = 0; x < extent_.x; ++x) {
        if (!std::isfinite(row[x])) continue;
        const auto [real, imaginary] = VoxelRandom(params_.seed, {x, y, z}).normal();
        const double sigma = scale_ * factor({x, y, z});
        store(row[x], std::hypot(static_cast<double>(row[x]) + sigma * real, sigma * imaginary));
      }
    });
  }

 private:
  /// 3 in the centre of the volume, near 1 at its corners.
  double factor(const Index3& place) const {
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double middle = 0.5 * static_cast<double>(extent_[axis] - 1);
      const double r = middle > 0 ? static_cast<double>(place[axis]) / middle - 1 : 0;
      square += r * r;
    }
    return 1 + 2 * std::exp(-2.5 * square);
  }

  Extent extent_;
  NoiseParams params_;
  Execution execution_;
  double scale_ = 0;
};

class Interpolated final : public NoiseAdder::Kind {
 public:
  Interpolated(const Extent& extent, const NoiseParams& params, const Execution& execution)
      : extent_(extent), params_(params), execution_(execution) {
    double power = 1;
    for (int axis = 0; axis < 3; ++axis) {
      double sum = 0;
      for (std::int64_t i = 0; i < extent[axis]; ++i) {
        const double f = node(i, axis).second;
        sum += f * f + (1 - f) * (1 - f);
      }
      power *= sum / static_cast<double>(extent[axis]);
    }
    scale_ = params.amount / std::sqrt(power);
  }

  void add(VolumeView<float> slices) override {
    for_each_row(execution_, slices, [&](float* row, std::int64_t y, std::int64_t z) {
      const auto [j, v] = node(y, 1);
      const auto [k, w] = node(z, 2);
      // The noise of the row's grid nodes, interpolated in y and z.
      const std::int64_t nodes = node(extent_.x - 1, 0).first + 2;
      std::vector<double> line(static_cast<std::size_t>(nodes));
      for (std::int64_t i = 0; i < nodes; ++i) {
        const auto at = [&, j = j, k = k](std::int64_t b, std::int64_t c) {  // clang 14 captures no names of pairs
          return VoxelRandom(params_.seed, {i, j + b, k + c}).normal().first;
        };
        line[static_cast<std::size_t>(i)] =
            (1 - w) * ((1 - v) * at(0, 0) + v * at(1, 0)) + w * ((1 - v) * at(0, 1) + v * at(1, 1));
      }
      for (std::int64_t x = 0; x < extent_.x; ++x) {
        const auto [i, u] = node(x, 0);
        const double noise = (1 - u) * line[static_cast<std::size_t>(i)] + u * line[static_cast<std::size_t>(i + 1)];
        if (std::isfinite(row[x])) store(row[x], static_cast<double>(row[x]) + scale_ * noise);
      }
    });
  }

 private:
  /// The coarse node at or before a voxel, and how far the voxel lies towards the next.
  std::pair<std::int64_t, double> node(std::int64_t voxel, int axis) const {
    const std::int64_t count = extent_[axis], coarse = std::max<std::int64_t>(2, (3 * count + 2) / 4);
    if (count == 1) return {0, 0};
    const double place = static_cast<double>(voxel * (coarse - 1)) / static_cast<double>(count - 1);
    const auto first = std::min(static_cast<std::int64_t>(place), coarse - 2);
    return {first, place - static_cast<double>(first)};
  }

  Extent extent_;
  NoiseParams params_;
  Execution execution_;
  double scale_ = 0;
};

/// Samples a line between its samples; 0 beyond them.
double sample(const double* line, std::int64_t count, double place) {
  const double floor = std::floor(place);
  const auto i = static_cast<std::int64_t>(floor);
  const double f = place - floor;
  const double a = i >= 0 && i < count ? line[i] : 0, b = i + 1 >= 0 && i + 1 < count ? line[i + 1] : 0;
  return a + f * (b - a);
}

/// Quantum noise grows with the attenuation along each path: what passes through much is measured by few photons.
class Ct final : public NoiseAdder::Kind {
 public:
  Ct(VolumeSource& clean, const Range<double>& range, const NoiseParams& params, const Execution& execution)
      : clean_(clean), extent_(clean.extent()), range_(range), params_(params), execution_(execution) {
    const std::int64_t side = std::max(extent_.x, extent_.y);
    bin_ = (side + widest_path_image - 1) / widest_path_image;
    detectors_ = static_cast<std::int64_t>(std::ceil(std::numbers::sqrt2 * static_cast<double>(side))) + 2;
    make_kernel();
    calibrate();
  }

  void add(VolumeView<float> slices) override {
    std::vector<double> noise(static_cast<std::size_t>(extent_.slice()));
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      const VolumeView<float> slice = slices.slices(z, 1);
      const std::int64_t place = slice.origin.z;
      if (last_place_ != place - 1) {
        std::vector<float> before(static_cast<std::size_t>(extent_.slice()));
        const std::int64_t there = std::max<std::int64_t>(place - 1, 0);
        VolumeView<float> view{before.data(), extent_, clean_.spacing(), {0, 0, there}};
        view.extent.z = 1;
        clean_.read(view);
        reconstruct(before.data(), place - 1, last_);
      }
      reconstruct(slice.data, place, noise);
      for_each_row(execution_.silent(), slice, [&](float* row, std::int64_t y, std::int64_t) {
        for (std::int64_t x = 0; x < extent_.x; ++x) {
          const auto i = static_cast<std::size_t>(y * extent_.x + x);
          if (std::isfinite(row[x])) store(row[x], static_cast<double>(row[x]) + scale_ * (last_[i] + noise[i]));
        }
      });
      last_.swap(noise);
      last_place_ = place;
    }
  }

 private:
  static constexpr std::int64_t angles = 360, path_angles = 90, widest_path_image = 128;
  static constexpr double attenuation = 3;  // natural logarithm of the largest

  double angle(std::int64_t i) const { return pi * static_cast<double>(i) / static_cast<double>(angles); }

  /// The ramp, sampled, under the window.
  void make_kernel() {
    std::vector<double> ramp(static_cast<std::size_t>(detectors_ + 1));
    ramp[0] = 0.25;
    for (std::int64_t i = 1; i <= detectors_; i += 2) {
      ramp[static_cast<std::size_t>(i)] = -1 / (pi * pi * static_cast<double>(i * i));
    }
    const auto at = [&](std::int64_t i) { return ramp[static_cast<std::size_t>(std::abs(i))]; };
    kernel_.resize(static_cast<std::size_t>(2 * detectors_ - 1));
    for (std::int64_t i = 1 - detectors_; i < detectors_; ++i) {
      kernel_[static_cast<std::size_t>(i + detectors_ - 1)] =
          params_.kernel == CtKernel::soft ? 0.5 * at(i) + 0.25 * (at(i - 1) + at(i + 1)) : at(i);
    }
  }

  /// The scale that gives the noise of the object its root mean square, from slices spread over the volume.
  void calibrate() {
    constexpr std::int64_t most_slices = 12;
    const double threshold = object_threshold(range_);
    const std::int64_t count = std::min(extent_.z, most_slices);
    std::vector<float> clean(static_cast<std::size_t>(extent_.slice()));
    std::vector<double> noise(clean.size());
    double sum = 0, voxels = 0, all = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t z = (2 * i + 1) * extent_.z / (2 * count);
      VolumeView<float> slice{clean.data(), extent_, clean_.spacing(), {0, 0, z}};
      slice.extent.z = 1;
      clean_.read(slice);
      reconstruct(clean.data(), z, noise);
      for (std::size_t j = 0; j < clean.size(); ++j) {
        const double variance = 2 * noise[j] * noise[j];  // two independent slices are added
        all += variance;
        if (!(static_cast<double>(clean[j]) > threshold)) continue;
        sum += variance;
        ++voxels;
      }
    }
    if (voxels == 0) {  // there is no object
      sum = all;
      voxels = static_cast<double>(count) * static_cast<double>(clean.size());
    }
    scale_ = sum > 0 ? params_.amount / std::sqrt(sum / voxels) : 0;
  }

  /// Sums along lines through a slice made coarser, for a few angles; largest 1 (0 where the slice is empty).
  std::vector<double> paths(const float* slice) const {
    const std::int64_t width = (extent_.x + bin_ - 1) / bin_, height = (extent_.y + bin_ - 1) / bin_;
    const std::int64_t length = path_length();
    const double span = std::max(range_.max - range_.min, 1e-9);
    std::vector<double> image(static_cast<std::size_t>(width * height));
    for (std::int64_t y = 0; y < extent_.y; ++y) {
      for (std::int64_t x = 0; x < extent_.x; ++x) {
        const float value = slice[y * extent_.x + x];
        if (!std::isfinite(value)) continue;
        image[static_cast<std::size_t>(y / bin_ * width + x / bin_)] +=
            (static_cast<double>(value) - range_.min) / span;
      }
    }
    std::vector<double> sums(static_cast<std::size_t>(path_angles * length));
    parallel_for(execution_.silent(), path_angles, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double c = std::cos(angle(i * angles / path_angles)), s = std::sin(angle(i * angles / path_angles));
        double* line = &sums[static_cast<std::size_t>(i * length)];
        // Each pixel's value goes to the two detectors that its centre falls between.
        for (std::int64_t y = 0; y < height; ++y) {
          for (std::int64_t x = 0; x < width; ++x) {
            const double place = (static_cast<double>(x) - 0.5 * static_cast<double>(width - 1)) * c +
                                 (static_cast<double>(y) - 0.5 * static_cast<double>(height - 1)) * s +
                                 0.5 * static_cast<double>(length - 1);
            const auto first = static_cast<std::int64_t>(place);
            const double f = place - static_cast<double>(first), value = image[static_cast<std::size_t>(y * width + x)];
            line[first] += (1 - f) * value;
            line[first + 1] += f * value;
          }
        }
      }
    });
    const double largest = *std::max_element(sums.begin(), sums.end());
    for (double& sum : sums) sum /= std::max(largest, 1e-30);
    return sums;
  }
  std::int64_t path_length() const { return detectors_ / bin_ + 3; }

  /// Noise of unknown scale.
  void reconstruct(const float* slice, std::int64_t z, std::vector<double>& noise) const {
    const std::vector<double> coarse = paths(slice);
    const std::int64_t length = path_length();
    std::vector<double> filtered(static_cast<std::size_t>(angles * detectors_));
    parallel_for(execution_.silent(), angles, 4, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> measured(static_cast<std::size_t>(detectors_));
      for (std::int64_t i = begin; i < end; ++i) {
        const double* path = &coarse[static_cast<std::size_t>(i * path_angles / angles * length)];
        for (std::int64_t d = 0; d < detectors_; ++d) {
          const double from_middle = static_cast<double>(d) - 0.5 * static_cast<double>(detectors_ - 1);
          const double place = from_middle / static_cast<double>(bin_) + 0.5 * static_cast<double>(length - 1);
          const double sigma = std::exp(0.5 * attenuation * sample(path, length, place));
          measured[static_cast<std::size_t>(d)] = sigma * VoxelRandom(params_.seed, {d, i, z}).normal().first;
        }
        double* out = &filtered[static_cast<std::size_t>(i * detectors_)];
        for (std::int64_t e = 0; e < detectors_; ++e) {
          const double value = measured[static_cast<std::size_t>(e)];
          const double* weights = &kernel_[static_cast<std::size_t>(detectors_ - 1 - e)];
          for (std::int64_t d = 0; d < detectors_; ++d) out[d] += weights[d] * value;
        }
      }
    });
    noise.assign(static_cast<std::size_t>(extent_.slice()), 0);
    parallel_for(execution_.silent(), extent_.y, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < angles; ++i) {
        const double c = std::cos(angle(i)), s = std::sin(angle(i));
        const double* line = &filtered[static_cast<std::size_t>(i * detectors_)];
        for (std::int64_t y = begin; y < end; ++y) {
          const double start = -0.5 * static_cast<double>(extent_.x - 1) * c +
                               (static_cast<double>(y) - 0.5 * static_cast<double>(extent_.y - 1)) * s +
                               0.5 * static_cast<double>(detectors_ - 1);
          double* row = &noise[static_cast<std::size_t>(y * extent_.x)];
          for (std::int64_t x = 0; x < extent_.x; ++x) {
            const double place = start + static_cast<double>(x) * c;
            const auto d = static_cast<std::int64_t>(place);
            const double f = place - static_cast<double>(d);
            row[x] += line[d] + f * (line[d + 1] - line[d]);
          }
        }
      }
    });
  }

  VolumeSource& clean_;
  Extent extent_;
  Range<double> range_;
  NoiseParams params_;
  Execution execution_;
  std::int64_t bin_ = 1, detectors_ = 0;
  std::vector<double> kernel_;
  double scale_ = 0;
  std::optional<std::int64_t> last_place_;
  std::vector<double> last_;
};

std::unique_ptr<NoiseAdder::Kind> make_kind(VolumeSource& clean, const NoiseParams& params,
                                            const Execution& execution) {
  check_noise(params);
  constexpr std::array by_range = {NoiseKind::salt_and_pepper, NoiseKind::zero_filled, NoiseKind::g_factor,
                                   NoiseKind::ct};
  const bool needs_range = std::ranges::find(by_range, params.kind) != by_range.end();
  const Range<double> range = needs_range ? intensities(clean) : Range<double>{};
  switch (params.kind) {
    case NoiseKind::zero_filled: return std::make_unique<ZeroFilled>(clean.extent(), range, params, execution);
    case NoiseKind::g_factor: return std::make_unique<GFactor>(clean, range, params, execution);
    case NoiseKind::ct: return std::make_unique<Ct>(clean, range, params, execution);
    case NoiseKind::interpolated: return std::make_unique<Interpolated>(clean.extent(), params, execution);
    default: return std::make_unique<VoxelNoise>(range, params, execution);
  }
}

}  // namespace

NoiseAdder::NoiseAdder(VolumeSource& clean, const NoiseParams& params, const Execution& execution)
    : kind_(make_kind(clean, params, execution)) {}
NoiseAdder::~NoiseAdder() = default;
void NoiseAdder::add(VolumeView<float> slices) { kind_->add(slices); }

}  // namespace quietvox
