// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic/training.hpp"

#include <algorithm>
#include <cmath>

namespace quietvox {
namespace {

constexpr std::int64_t most_samples = 200'000;
constexpr std::size_t share_count = 16;  // summed apart and added up in order, whatever the threads

/// The terms of the polynomial in differences to the centre x0: d_i, then 1 and x0 where flat areas may change, which
/// together are the linear filter; x0 d_i, d_i d_j for i <= j, and x0^2.
class Terms {
 public:
  Terms(int size, bool keep_flat) : size_(size), keep_flat_(keep_flat) {}

  std::size_t neighbours() const { return static_cast<std::size_t>(size_ * size_ - 1); }
  std::size_t linear() const { return neighbours() + (keep_flat_ ? 0 : 2); }
  std::size_t count() const {
    return linear() + neighbours() + neighbours() * (neighbours() + 1) / 2 + (keep_flat_ ? 0 : 1);
  }

  /// `window` holds the scaled voxels row by row.
  void fill(const std::vector<double>& window, double* terms) const {
    const std::size_t centre = window.size() / 2;
    const double x0 = window[centre];
    double* next = terms;
    for (std::size_t i = 0; i < window.size(); ++i) {
      if (i != centre) *next++ = window[i] - x0;
    }
    if (!keep_flat_) {
      *next++ = 1;
      *next++ = x0;
    }
    for (std::size_t i = 0; i < neighbours(); ++i) *next++ = x0 * terms[i];
    for (std::size_t i = 0; i < neighbours(); ++i) {
      for (std::size_t j = i; j < neighbours(); ++j) *next++ = terms[i] * terms[j];
    }
    if (!keep_flat_) *next = x0 * x0;
  }

  /// The coefficients of the voxels themselves: the products of differences multiplied out.
  QuadraticCoefficients in_voxels(const std::vector<double>& factors) const {
    QuadraticCoefficients h;
    h.size = size_;
    const int centre = h.voxels() / 2, n = static_cast<int>(neighbours());
    const auto voxel = [centre](int i) { return i < centre ? i : i + 1; };
    h.h1.assign(static_cast<std::size_t>(h.voxels()), 0);
    h.h2.assign(static_cast<std::size_t>(h.voxels() * (h.voxels() + 1) / 2), 0);
    auto& h1_centre = h.h1[static_cast<std::size_t>(centre)];
    h1_centre = 1;
    const double* next = factors.data();
    for (int i = 0; i < n; ++i, ++next) {
      h.h1[static_cast<std::size_t>(voxel(i))] += *next;
      h1_centre -= *next;
    }
    if (!keep_flat_) {
      h.h0 = *next++;
      h1_centre += *next++;
    }
    for (int i = 0; i < n; ++i, ++next) {
      h.h2_at(voxel(i), centre) += *next;
      h.h2_at(centre, centre) -= *next;
    }
    for (int i = 0; i < n; ++i) {
      for (int j = i; j < n; ++j, ++next) {
        h.h2_at(voxel(i), voxel(j)) += *next;
        h.h2_at(voxel(i), centre) -= *next;
        h.h2_at(voxel(j), centre) -= *next;
        h.h2_at(centre, centre) += *next;
      }
    }
    if (!keep_flat_) h.h2_at(centre, centre) += *next;
    return h;
  }

 private:
  int size_;
  bool keep_flat_;
};

/// Sums of the products of terms with each other and with what is to be explained.
struct NormalEquations {
  std::vector<double> matrix, right_side;
  std::int64_t samples = 0;

  explicit NormalEquations(std::size_t terms) : matrix(terms * terms), right_side(terms) {}
  void add(const double* terms, double target) {
    const std::size_t count = right_side.size();
    for (std::size_t i = 0; i < count; ++i) {
      double* row = matrix.data() + i * count;
      for (std::size_t j = i; j < count; ++j) row[j] += terms[i] * terms[j];
      right_side[i] += terms[i] * target;
    }
    ++samples;
  }
  void add(const NormalEquations& other) {
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] += other.matrix[i];
    for (std::size_t i = 0; i < right_side.size(); ++i) right_side[i] += other.right_side[i];
    samples += other.samples;
  }

  /// The best factors of the first `count` terms (Cholesky). Throws Error(invalid_argument) where there are none.
  std::vector<double> solved(std::size_t count, double ridge) const {
    std::vector<double> lower(count * count),
        x(right_side.begin(), right_side.begin() + static_cast<std::ptrdiff_t>(count));
    const auto l = [&](std::size_t i, std::size_t j) -> double& { return lower[i * count + j]; };
    for (std::size_t j = 0; j < count; ++j) {
      for (std::size_t i = j; i < count; ++i) {
        double sum = matrix[j * right_side.size() + i] * (i == j ? 1 + ridge : 1);
        for (std::size_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
        if (i > j) {
          l(i, j) = sum / l(j, j);
        } else if (sum > 0) {
          l(j, j) = std::sqrt(sum);
        } else {
          throw Error(Errc::invalid_argument, "the noisy volume has too little in it to learn from",
                      "give a larger or busier one, or a larger " + Parameter{"ridge"});
        }
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < i; ++k) x[i] -= l(i, k) * x[k];
      x[i] /= l(i, i);
    }
    for (std::size_t i = count; i-- > 0;) {
      for (std::size_t k = i + 1; k < count; ++k) x[i] -= l(k, i) * x[k];
      x[i] /= l(i, i);
    }
    return x;
  }
};

/// The voxels of two volumes that can be trained on or tested with.
class Samples {
 public:
  Samples(VolumeView<const float> noisy, VolumeView<const float> clean, Range<double> range, int size)
      : noisy_(noisy), clean_(clean), range_(range), radius_(size / 2) {
    const std::int64_t width = noisy.extent.x - 2 * radius_;
    rows_ = (noisy.extent.y - 2 * radius_) * noisy.extent.z;
    step_ = std::max<std::int64_t>(1, width * rows_ / most_samples);
  }

  /// Calls body(window, error) for each voxel of one share: of those held out, or of the others. The error is clean
  /// minus noisy at the centre. Both are scaled to the range.
  template <class Body>
  void for_each(std::size_t share, bool held_out, const Body& body) const {
    const Extent extent = noisy_.extent;
    const double scale = 1 / (range_.max - range_.min);
    const std::int64_t last = rows_ * static_cast<std::int64_t>(share + 1) / static_cast<std::int64_t>(share_count);
    std::vector<double> window(static_cast<std::size_t>((2 * radius_ + 1) * (2 * radius_ + 1)));
    for (std::int64_t row = rows_ * static_cast<std::int64_t>(share) / static_cast<std::int64_t>(share_count);
         row < last; ++row) {
      const std::int64_t rows = extent.y - 2 * radius_, y = row % rows + radius_, z = row / rows;
      if ((y / 8 % 4 == 3) != held_out) continue;
      for (std::int64_t x = radius_ + row % step_; x < extent.x - radius_; x += step_) {
        bool complete = std::isfinite(clean_.at(x, y, z));
        std::size_t next = 0;
        for (std::int64_t j = y - radius_; j <= y + radius_; ++j) {
          for (std::int64_t i = x - radius_; i <= x + radius_; ++i) {
            complete = complete && std::isfinite(noisy_.at(i, j, z));
            window[next++] = (noisy_.at(i, j, z) - range_.min) * scale;
          }
        }
        if (complete) body(window, (clean_.at(x, y, z) - range_.min) * scale - window[window.size() / 2]);
      }
    }
  }

 private:
  VolumeView<const float> noisy_, clean_;
  Range<double> range_;
  std::int64_t radius_, rows_ = 0, step_ = 1;
};

/// Squared errors of the voxels held out.
struct Errors {
  std::int64_t samples = 0;
  double noisy = 0, linear = 0, quadratic = 0;
};

}  // namespace

TrainedQuadratic train_quadratic(VolumeView<const float> noisy, VolumeView<const float> clean, Range<double> range,
                                 const QuadraticTraining& training, const Execution& execution) {
  if (noisy.extent != clean.extent) {
    throw Error(Errc::invalid_argument, "both volumes must have the same extent");
  }
  if (!(range.min < range.max) || noisy.extent.x < training.size || noisy.extent.y < training.size) {
    throw Error(Errc::invalid_argument, "the volumes are flat, or smaller than the window");
  }
  const Terms terms(training.size, training.keep_flat);
  const Samples samples(noisy, clean, range, training.size);
  std::vector<NormalEquations> shares(share_count, NormalEquations(terms.count()));
  parallel_for(execution.part(0, 0.9), share_count, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values(terms.count());
    for (auto share = static_cast<std::size_t>(begin); share < static_cast<std::size_t>(end); ++share) {
      samples.for_each(share, false, [&](const std::vector<double>& window, double error) {
        terms.fill(window, values.data());
        shares[share].add(values.data(), error);
      });
    }
  });
  NormalEquations equations(terms.count());
  for (const NormalEquations& share : shares) equations.add(share);
  const std::vector<double> linear = equations.solved(terms.linear(), training.ridge);
  const std::vector<double> quadratic = equations.solved(terms.count(), training.ridge);

  std::vector<Errors> errors(share_count);
  parallel_for(execution.part(0.9, 1), share_count, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values(terms.count());
    for (auto share = static_cast<std::size_t>(begin); share < static_cast<std::size_t>(end); ++share) {
      samples.for_each(share, true, [&](const std::vector<double>& window, double error) {
        terms.fill(window, values.data());
        const auto left = [&](const std::vector<double>& factors) {
          double rest = error;
          for (std::size_t i = 0; i < factors.size(); ++i) rest -= factors[i] * values[i];
          return rest * rest;
        };
        Errors& sum = errors[share];
        ++sum.samples;
        sum.noisy += error * error;
        sum.linear += left(linear);
        sum.quadratic += left(quadratic);
      });
    }
  });
  Errors total;
  for (const Errors& share : errors) {
    total.samples += share.samples;
    total.noisy += share.noisy;
    total.linear += share.linear;
    total.quadratic += share.quadratic;
  }
  const auto psnr = [&](double sum) { return 10 * std::log10(static_cast<double>(total.samples) / sum); };
  return {terms.in_voxels(quadratic), equations.samples,  total.samples,
          psnr(total.noisy),          psnr(total.linear), psnr(total.quadratic)};
}

}  // namespace quietvox
