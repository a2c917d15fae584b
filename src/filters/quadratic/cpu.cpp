// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "filters/common/unfiltered_voxels.hpp"
#include "filters/quadratic/coefficients.hpp"
#include "filters/quadratic/kernel.hpp"

namespace quietvox {
namespace {

using quadratic_kernel::slack;

/// What a thread works in: the rows of a window, padded, and a row of results.
struct Rows {
  std::vector<float> window, results;
};

class QuadraticRun {
 public:
  QuadraticRun(VolumeView<const float> in, VolumeView<float> out, const QuadraticParams& params)
      : in_(in), out_(out), params_(params), radius_(params.form.radius()), pitch_(out.extent.x + 2 * radius_ + slack) {
    for (int axis = 0; axis < 3; ++axis) shift_[axis] = out.origin[axis] - in.origin[axis];
    const double unscale = params.unscale();
    scale_ = {static_cast<float>(params.origin()), static_cast<float>(1 / unscale), static_cast<float>(unscale)};
  }

  Rows make_rows() const {
    const float missing = std::numeric_limits<float>::quiet_NaN();
    return {std::vector<float>(static_cast<std::size_t>(pitch_ * (2 * radius_ + 1)), missing),
            std::vector<float>(static_cast<std::size_t>(pitch_))};
  }

  void filter_row(Rows& rows, std::int64_t y, std::int64_t z) const {
    const Index3 first{shift_.x, y + shift_.y, z + shift_.z};
    std::array<const float*, 5> window{};
    for (int row = 0; row <= 2 * radius_; ++row) {
      float* packed = rows.window.data() + row * pitch_ + radius_;
      const float* voxels = in_.row(border_index(params_.border, first.y + row - radius_, in_.extent.y), first.z);
      const std::int64_t begin = std::max<std::int64_t>(first.x - radius_, 0);
      const std::int64_t end = std::min(first.x + out_.extent.x + radius_, in_.extent.x);
      std::copy(voxels + begin, voxels + end, packed + (begin - first.x));
      for (std::int64_t x = first.x - radius_; x < begin; ++x) packed[x - first.x] = at_border(voxels, x);
      for (std::int64_t x = end; x < first.x + out_.extent.x + radius_; ++x) packed[x - first.x] = at_border(voxels, x);
      window[static_cast<std::size_t>(row)] = packed;
    }
    quadratic_kernel::filter_row(window, out_.extent.x, params_.form, scale_, rows.results.data());
    std::copy_n(rows.results.data(), out_.extent.x, out_.row(y, z));
    if (params_.border == Border::copy) keep_edges(y, z);
  }

  /// Gives voxels whose window leaves the volume their input back.
  void keep_edges(std::int64_t y, std::int64_t z) const {
    const Radius3 r = params_.reach;
    const std::int64_t at_y = y + shift_.y;
    const bool inside = at_y >= r.y && at_y + r.y < in_.extent.y;
    for (std::int64_t x = 0; x < out_.extent.x; ++x) {
      const std::int64_t at_x = x + shift_.x;
      if (inside && at_x >= r.x && at_x + r.x < in_.extent.x) continue;
      out_.at(x, y, z) = canonical_zero<float>(in_.at(at_x, at_y, z + shift_.z));
    }
  }

  void copy_row(std::int64_t y, std::int64_t z) const {
    const float* voxels = in_.row(y + shift_.y, z + shift_.z) + shift_.x;
    std::transform(voxels, voxels + out_.extent.x, out_.row(y, z), canonical_zero<float>);
  }

 private:
  float at_border(const float* voxels, std::int64_t x) const {
    return voxels[border_index(params_.border, x, in_.extent.x)];
  }

  VolumeView<const float> in_;
  VolumeView<float> out_;
  const QuadraticParams& params_;
  int radius_;
  std::int64_t pitch_;
  Index3 shift_;
  quadratic_kernel::Scale scale_{};
};

}  // namespace

QuadraticParams QuadraticParams::with_content_hashes() const {
  QuadraticParams params = *this;
  params.coefficients = quadratic_coefficients(coefficients).identity;
  return params;
}

QuadraticParams QuadraticParams::resolved(const VolumeFacts& facts) const {
  facts.need_true_values(std::string(name));
  QuadraticParams params = *this;
  const QuadraticCoefficients h = quadratic_coefficients(coefficients);
  std::optional<Range<double>> range = h.range;
  if (!lowest && !range) range = facts.intensities_for("lowest");
  if (!highest && !range) range = facts.intensities_for("highest");
  if (range) {
    params.lowest = lowest.value_or(range->min);
    params.highest = highest.value_or(range->max);
  }
  if (params.lowest && params.highest && *params.lowest > *params.highest) {
    throw Error(Errc::invalid_argument,
                "quadratic: " + Parameter{"lowest"} + " = " + FieldType<double>::format(*params.lowest) + " is above " +
                    Parameter{"highest"} + " = " + FieldType<double>::format(*params.highest),
                "give a lowest value below the highest");
  }
  params.coefficients = h.identity;
  params.white = white.value_or(facts.header.min_is_white ? White::low : White::high);
  params.form = quadratic_form(h, gain);
  params.reach = flattened({params.form.radius(), params.form.radius(), 0}, facts.extent);
  return params;
}

void quadratic_cpu(VolumeView<const float> in, VolumeView<float> out, const QuadraticParams& params,
                   const Execution& execution) {
  const QuadraticRun run(in, out, params);
  const bool flat = !std::isfinite(static_cast<float>(1 / params.unscale()));
  parallel_for_with_scratch(
      execution, (out.extent.y * out.extent.z + 15) / 16, [&] { return run.make_rows(); },
      [&](Rows& rows, std::int64_t group) {
        const std::int64_t last = std::min(16 * group + 16, out.extent.y * out.extent.z);
        for (std::int64_t row = 16 * group; row < last; ++row) {
          if (flat) {
            run.copy_row(row % out.extent.y, row / out.extent.y);
          } else {
            run.filter_row(rows, row % out.extent.y, row / out.extent.y);
          }
        }
      });
}

}  // namespace quietvox
