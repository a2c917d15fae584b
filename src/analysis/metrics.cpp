// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/fields.hpp"

namespace quietvox {
namespace {

std::string text(const Extent& extent) {
  return std::to_string(extent.x) + "x" + std::to_string(extent.y) + "x" + std::to_string(extent.z);
}

/// Sums over the voxels of one slice, or of all.
struct Totals {
  std::int64_t voxels = 0, different = 0, in_one_only = 0;
  double squared_error = 0, reference = 0, squared_reference = 0, max_error = 0;
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;

  void add(double expected, double value) {
    const double error = std::abs(value - expected);
    ++voxels;
    different += error != 0;
    squared_error += error * error;
    reference += expected;
    squared_reference += expected * expected;
    max_error = std::max(max_error, error);
    lowest = std::min(lowest, expected);
    highest = std::max(highest, expected);
  }
  void add(const Totals& other) {
    voxels += other.voxels;
    different += other.different;
    in_one_only += other.in_one_only;
    squared_error += other.squared_error;
    reference += other.reference;
    squared_reference += other.squared_reference;
    max_error = std::max(max_error, other.max_error);
    lowest = std::min(lowest, other.lowest);
    highest = std::max(highest, other.highest);
  }
};

Totals totals(VolumeView<const float> reference, VolumeView<const float> volume, const Execution& execution) {
  const std::int64_t slice = reference.extent.slice();
  std::vector<Totals> per_slice(static_cast<std::size_t>(reference.extent.z));
  parallel_for(execution, reference.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t z = begin; z < end; ++z) {
      const float* a = reference.row(0, z);
      const float* b = volume.row(0, z);
      Totals& sums = per_slice[static_cast<std::size_t>(z)];
      for (std::int64_t i = 0; i < slice; ++i) {
        const bool in_a = std::isfinite(a[i]), in_b = std::isfinite(b[i]);
        if (in_a && in_b) sums.add(a[i], b[i]);
        sums.in_one_only += in_a != in_b;
      }
    }
  });
  Totals sum;
  for (const Totals& part : per_slice) sum.add(part);
  return sum;
}

/// Sums of pairs of numbers, for their correlation.
struct Pairs {
  double count = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;

  void add(double first, double second) {
    ++count;
    a += first;
    b += second;
    aa += first * first;
    bb += second * second;
    ab += first * second;
  }
  void add(const Pairs& other) {
    count += other.count;
    a += other.a;
    b += other.b;
    aa += other.aa;
    bb += other.bb;
    ab += other.ab;
  }
  /// `flat` where neither number varies, 0 where only one does, NaN where there is no pair.
  double correlation(double flat) const {
    if (count == 0) return std::numeric_limits<double>::quiet_NaN();
    const double variance_a = aa - a * a / count, variance_b = bb - b * b / count;
    const double noise_a = 1e-12 * aa, noise_b = 1e-12 * bb;  // what rounding leaves of no variance
    if (variance_a <= noise_a || variance_b <= noise_b)
      return variance_a <= noise_a && variance_b <= noise_b ? flat : 0;
    return (ab - a * b / count) / std::sqrt(variance_a * variance_b);
  }
};

/// What the correlations are made of: Laplacians of both volumes, and neighbours in their difference along each axis.
struct Structure {
  Pairs edges;
  std::array<Pairs, 3> neighbours;
};

/// Along axes of one voxel there is neither a second derivative nor a neighbour. Values that need a voxel that is
/// missing in either volume do not count.
Structure structure_of_slice(VolumeView<const float> reference, VolumeView<const float> volume, std::int64_t z) {
  const Extent extent = reference.extent;
  const Index3 step{1, extent.x, extent.slice()};
  Structure result;
  for (std::int64_t y = 0; y < extent.y; ++y) {
    for (std::int64_t x = 0; x < extent.x; ++x) {
      const std::int64_t at = (z * extent.y + y) * extent.x + x;
      const Index3 place{x, y, z};
      const float* a = reference.data + at;
      const float* b = volume.data + at;
      double laplacian_a = 0, laplacian_b = 0;
      bool inside = extent.voxels() > 1;
      for (int axis = 0; axis < 3; ++axis) {
        if (extent[axis] == 1) continue;
        const std::int64_t s = step[axis];
        if (place[axis] + 1 < extent[axis]) {
          const double here = static_cast<double>(*b) - *a, next = static_cast<double>(b[s]) - a[s];
          if (std::isfinite(here) && std::isfinite(next)) {
            result.neighbours[static_cast<std::size_t>(axis)].add(here, next);
          }
        }
        inside = inside && place[axis] > 0 && place[axis] + 1 < extent[axis];
        if (!inside) continue;
        laplacian_a += static_cast<double>(a[s]) + a[-s] - 2.0 * *a;
        laplacian_b += static_cast<double>(b[s]) + b[-s] - 2.0 * *b;
      }
      if (inside && std::isfinite(laplacian_a) && std::isfinite(laplacian_b)) {
        result.edges.add(laplacian_a, laplacian_b);
      }
    }
  }
  return result;
}

Structure structure(VolumeView<const float> reference, VolumeView<const float> volume, const Execution& execution) {
  std::vector<Structure> slices(static_cast<std::size_t>(reference.extent.z));
  parallel_for(execution, reference.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t z = begin; z < end; ++z) {
      slices[static_cast<std::size_t>(z)] = structure_of_slice(reference, volume, z);
    }
  });
  Structure sum;
  for (const Structure& slice : slices) {
    sum.edges.add(slice.edges);
    for (std::size_t axis = 0; axis < 3; ++axis) sum.neighbours[axis].add(slice.neighbours[axis]);
  }
  return sum;
}

/// Mean of the axes that have neighbours.
double whiteness(const Structure& structure) {
  double sum = 0, axes = 0;
  for (const Pairs& pairs : structure.neighbours) {
    if (pairs.count == 0) continue;
    sum += pairs.correlation(0);
    ++axes;
  }
  return sum / axes;
}

/// What SSIM sums over a window: counts of missing voxels, values, squares and products.
struct Moments {
  double missing = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;

  void add(const Moments& other) {
    missing += other.missing;
    a += other.a;
    b += other.b;
    aa += other.aa;
    bb += other.bb;
    ab += other.ab;
  }
};

/// Structural similarity, averaged over the windows that lie inside the volume and hold no missing voxel. Sample (n-1)
/// variances, K1 = 0.01, K2 = 0.03, which are the defaults of scikit-image.
class Similarity {
 public:
  Similarity(VolumeView<const float> reference, VolumeView<const float> volume, double data_range, double offset)
      : a_(reference),
        b_(volume),
        offset_(offset),
        c1_(std::pow(0.01 * data_range, 2)),
        c2_(std::pow(0.03 * data_range, 2)) {
    for (int axis = 0; axis < 3; ++axis) {
      window_[axis] = std::min<std::int64_t>(7, reference.extent[axis] - 1 + reference.extent[axis] % 2);
    }
    count_ = static_cast<double>(window_.voxels());
  }

  double mean(const Execution& execution) const {
    const std::int64_t rows = a_.extent.y - window_.y + 1;
    std::vector<double> sums(static_cast<std::size_t>(rows)), windows(sums);
    parallel_for(execution, rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t y = begin; y < end; ++y) {
        add_row(y, sums[static_cast<std::size_t>(y)], windows[static_cast<std::size_t>(y)]);
      }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0) / std::accumulate(windows.begin(), windows.end(), 0.0);
  }

 private:
  /// Adds the windows whose first row is `y`. Marches along z with the sums over y of the last slices at hand.
  void add_row(std::int64_t y, double& sum, double& windows) const {
    std::vector<std::vector<Moments>> slices(static_cast<std::size_t>(window_.z),
                                             std::vector<Moments>(static_cast<std::size_t>(a_.extent.x)));
    std::vector<Moments> columns(static_cast<std::size_t>(a_.extent.x));
    for (std::int64_t z = 0; z < a_.extent.z; ++z) {
      sum_rows(y, z, slices[static_cast<std::size_t>(z % window_.z)]);
      if (z + 1 < window_.z) continue;
      std::fill(columns.begin(), columns.end(), Moments{});
      for (const auto& slice : slices) {
        for (std::size_t x = 0; x < columns.size(); ++x) columns[x].add(slice[x]);
      }
      for (std::int64_t x = 0; x + window_.x <= a_.extent.x; ++x) {
        Moments window;
        for (std::int64_t i = x; i < x + window_.x; ++i) window.add(columns[static_cast<std::size_t>(i)]);
        if (window.missing > 0) continue;
        sum += similarity(window);
        ++windows;
      }
    }
  }

  void sum_rows(std::int64_t y, std::int64_t z, std::vector<Moments>& sums) const {
    std::fill(sums.begin(), sums.end(), Moments{});
    for (std::int64_t row = y; row < y + window_.y; ++row) {
      const float* a_row = a_.row(row, z);
      const float* b_row = b_.row(row, z);
      for (std::size_t x = 0; x < sums.size(); ++x) {
        const double a = a_row[x], b = b_row[x];
        const bool present = std::isfinite(a) && std::isfinite(b);
        sums[x].add(present ? Moments{0, a, b, a * a, b * b, a * b} : Moments{1, 0, 0, 0, 0, 0});
      }
    }
  }

  double similarity(const Moments& window) const {
    const double mean_a = window.a / count_, mean_b = window.b / count_;
    const double unbiased = 1 / std::max(count_ - 1, 1.0);
    const double variances = (window.aa - mean_a * window.a + window.bb - mean_b * window.b) * unbiased;
    const double covariance = (window.ab - mean_a * window.b) * unbiased;
    // With a data range of 0 both constants vanish; equal constants are similar then.
    const auto ratio = [](double above, double below) { return below == 0 ? 1.0 : above / below; };
    const double true_a = mean_a + offset_, true_b = mean_b + offset_;
    return ratio(2 * true_a * true_b + c1_, true_a * true_a + true_b * true_b + c1_) *
           ratio(2 * covariance + c2_, variances + c2_);
  }

  VolumeView<const float> a_, b_;
  double offset_, c1_, c2_;
  Extent window_;
  double count_;
};

}  // namespace

Comparison compare(VolumeView<const float> reference, VolumeView<const float> volume, std::optional<double> data_range,
                   const Execution& execution, double offset) {
  if (reference.extent != volume.extent) {
    throw Error(Errc::invalid_argument,
                "volumes of " + text(reference.extent) + " and " + text(volume.extent) + " voxels cannot be compared",
                "give two of the same size");
  }
  if (data_range && !(*data_range > 0 && std::isfinite(*data_range))) {
    throw Error(Errc::invalid_argument,
                Parameter{"data-range"} + " = '" + FieldType<double>::format(*data_range) + "' is not allowed",
                "give a number above 0");
  }
  const Totals sum = totals(reference, volume, execution.part(0, 0.1));
  const Structure shape = structure(reference, volume, execution.part(0.1, 0.2));
  Comparison result;
  result.voxels = sum.voxels;
  result.different = sum.different;
  result.in_one_only = sum.in_one_only;
  result.max_error = sum.max_error;
  result.edge_preservation = shape.edges.correlation(1);
  result.residual_whiteness = whiteness(shape);
  result.data_range = data_range.value_or(sum.voxels > 0 ? sum.highest - sum.lowest : 0);
  result.mse = sum.squared_error / static_cast<double>(sum.voxels);
  const double squared_reference =
      sum.squared_reference + offset * (2 * sum.reference + offset * static_cast<double>(sum.voxels));
  result.nrmse = sum.squared_error == 0 ? result.mse : std::sqrt(sum.squared_error / squared_reference);
  result.psnr = result.mse == 0 ? std::numeric_limits<double>::infinity()
                                : 10 * std::log10(result.data_range * result.data_range / result.mse);
  result.ssim = Similarity(reference, volume, result.data_range, offset).mean(execution.part(0.2, 1));
  return result;
}

}  // namespace quietvox
