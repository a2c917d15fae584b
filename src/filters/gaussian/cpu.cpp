// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/gaussian.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>
#include <vector>

#include "filters/gaussian/axis.hpp"
#include "filters/gaussian/kernel.hpp"

namespace quietvox {
namespace {

using namespace gaussian;

/// What a sampled Gaussian is added up in. Sums of differences to the voxel itself do in floats, but where most of its
/// neighbours are missing they come to almost its value.
enum class Sums { floats, doubles };

/// What a thread works in.
template <class Number>
struct Scratch {
  std::vector<Number> lines, results, row;
};

/// Filters a box along one axis. The output may lie where the input does: lines are read whole before they are written.
class AxisPass {
 public:
  AxisPass(VolumeView<const float> in, VolumeView<float> out, int axis, const GaussianParams& params, Reading reading,
           Sums sums)
      : in_(in),
        out_(out),
        axis_(axis),
        border_(params.border),
        reading_(reading),
        sums_(sums),
        plan_(axis_of(params, in.spacing, axis)),
        begin_(out.origin[axis] - in.origin[axis]),
        end_(begin_ + out.extent[axis]) {
    for (int a = 0; a < 3; ++a) shift_[a] = out.origin[a] - in.origin[a];
    if (plan_.recursive) {
      recursion_ = make_recursion(plan_.sigma);
      first_ = warm_up_from(begin_ - place_in_block(begin_));
      last_ = warm_up_until(block_end(end_ - 1));
    } else {
      weights_ = sampled_weights(plan_);
      float_weights_.assign(weights_.begin(), weights_.end());
      first_ = begin_ - plan_.radius();
      last_ = end_ + plan_.radius();
    }
    constexpr std::int64_t cached = 1 << 16;  // numbers that stay in the L2 cache
    columns_ = axis == 0 ? wide : 4 * wide;
    while (columns_ > wide && (last_ - first_) * columns_ > cached) columns_ /= 2;
  }

  /// False where missing voxels were read.
  bool run(const Execution& execution) const {
    return plan_.recursive || sums_ == Sums::doubles ? run_in<double>(execution) : run_in<float>(execution);
  }

 private:
  template <class Number>
  bool run_in(const Execution& execution) const {
    std::atomic<bool> complete = true;
    const auto scratch = [&] {
      const auto numbers = [](std::int64_t count) { return std::vector<Number>(static_cast<std::size_t>(count)); };
      return Scratch<Number>{numbers((last_ - first_) * columns_ + wide),
                             numbers((plan_.recursive ? restart_every : 1) * columns_),
                             numbers(widened(std::max(last_ - first_, end_ - begin_)))};
    };
    parallel_for_with_scratch(execution, pieces(), scratch, [&](Scratch<Number>& mine, std::int64_t piece) {
      if (!filter(piece, mine)) complete = false;
    });
    return complete;
  }

  std::int64_t place_in_block(std::int64_t n) const { return (n + in_.origin[axis_]) % restart_every; }
  std::int64_t block_end(std::int64_t n) const { return n - place_in_block(n) + restart_every; }
  /// Beyond the edge a border that repeats the outermost voxel has nothing to tell.
  std::int64_t warm_up_from(std::int64_t begin) const {
    const std::int64_t from = begin - warm_up(plan_.sigma);
    return border_ == Border::reflect ? from : std::max<std::int64_t>(from, 0);
  }
  std::int64_t warm_up_until(std::int64_t end) const {
    const std::int64_t until = end + warm_up(plan_.sigma);
    return border_ == Border::reflect ? until : std::min(until, in_.extent[axis_]);
  }

  /// A piece is some columns of a plane along the axis; along x, some rows.
  std::int64_t pieces() const {
    if (axis_ == 0) return pieces_per_slice() * out_.extent.z;
    return (out_.extent.x + columns_ - 1) / columns_ * out_.extent[axis_ == 1 ? 2 : 1];
  }
  std::int64_t pieces_per_slice() const { return (out_.extent.y + columns_ - 1) / columns_; }

  template <class Number>
  bool filter(std::int64_t piece, Scratch<Number>& scratch) const {
    if (axis_ == 0) {
      const std::int64_t z = piece / pieces_per_slice(), y = piece % pieces_per_slice() * columns_;
      const std::int64_t count = std::min(columns_, out_.extent.y - y);
      if constexpr (std::same_as<Number, double>) {
        if (plan_.recursive) return recurse_rows(y, z, count, scratch);
      }
      return convolve_rows(y, z, count, scratch);
    }
    const std::int64_t per_plane = (out_.extent.x + columns_ - 1) / columns_;
    const std::int64_t x = piece % per_plane * columns_, plane = piece / per_plane;
    if constexpr (std::same_as<Number, double>) {
      if (plan_.recursive) return recurse_columns(x, plane, scratch);
    }
    return convolve_columns(x, plane, scratch);
  }

  template <class Number>
  std::span<const Number> weights() const {
    if constexpr (std::same_as<Number, double>) {
      return weights_;
    } else {
      return float_weights_;
    }
  }
  std::int64_t at_border(std::int64_t n) const { return border_index(border_, n, in_.extent[axis_]); }

  // ---- along y or z

  /// The row of columns at place `n` of the axis, `plane` along the other one.
  template <class T>
  T* columns_at(const VolumeView<T>& box, std::int64_t x, std::int64_t n, std::int64_t plane) const {
    return axis_ == 1 ? box.row(n, plane) + x : box.row(plane, n) + x;
  }

  /// Reads the columns [x, x + width) of a plane, rows of columns_ numbers one after another.
  template <class Number>
  bool read_columns(std::int64_t x, std::int64_t width, std::int64_t plane, Number* lines) const {
    const std::int64_t in_plane = plane + (axis_ == 1 ? shift_.z : shift_.y);
    bool complete = true;
    for (std::int64_t n = first_; n < last_; ++n) {
      complete &= read_row(columns_at(in_, x + shift_.x, at_border(n), in_plane), width, reading_,
                           lines + (n - first_) * columns_);
    }
    return complete;
  }

  bool recurse_columns(std::int64_t x, std::int64_t plane, Scratch<double>& scratch) const {
    const std::int64_t width = std::min(columns_, out_.extent.x - x);
    const bool complete = read_columns(x, width, plane, scratch.lines.data());
    const Lines lines{scratch.lines.data() - first_ * columns_, columns_};
    recurse_blocks(lines, scratch, [&](const Lines& results, std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        write_row(results.row(n - begin), width, columns_at(out_, x, n - begin_, plane));
      }
    });
    return complete;
  }

  template <class Number>
  bool convolve_columns(std::int64_t x, std::int64_t plane, Scratch<Number>& scratch) const {
    const std::int64_t width = std::min(columns_, out_.extent.x - x);
    const bool complete = read_columns(x, width, plane, scratch.lines.data());
    for (std::int64_t n = begin_; n < end_; ++n) {
      convolve(scratch.lines.data() + (n - first_) * columns_, columns_, weights<Number>(), width,
               scratch.results.data());
      write_row(scratch.results.data(), width, columns_at(out_, x, n - begin_, plane));
    }
    return complete;
  }

  // ---- along x

  /// The voxels [first_, last_) of a row of the output, those beyond the border too.
  template <class Number>
  bool read_line(std::int64_t y, std::int64_t z, Number* line) const {
    const float* row = in_.row(y + shift_.y, z + shift_.z);
    const std::int64_t begin = std::max<std::int64_t>(first_, 0), end = std::min(last_, in_.extent.x);
    bool complete = read_row(row + begin, end - begin, reading_, line + (begin - first_));
    const auto read_beyond = [&](std::int64_t n) {
      complete &= read_row(row + at_border(n), 1, reading_, line + (n - first_));
    };
    for (std::int64_t n = first_; n < begin; ++n) read_beyond(n);
    for (std::int64_t n = end; n < last_; ++n) read_beyond(n);
    return complete;
  }

  template <class Number>
  bool convolve_rows(std::int64_t y, std::int64_t z, std::int64_t count, Scratch<Number>& scratch) const {
    bool complete = true;
    for (std::int64_t row = y; row < y + count; ++row) {
      complete &= read_line(row, z, scratch.lines.data());
      convolve(scratch.lines.data() + (begin_ - first_), 1, weights<Number>(), end_ - begin_, scratch.row.data());
      write_row(scratch.row.data(), end_ - begin_, out_.row(row, z));
    }
    return complete;
  }

  bool recurse_rows(std::int64_t y, std::int64_t z, std::int64_t count, Scratch<double>& scratch) const {
    const Lines lines{scratch.lines.data() - first_ * columns_, columns_};
    bool complete = true;
    for (std::int64_t row = 0; row < count; ++row) {
      complete &= read_line(y + row, z, scratch.row.data());
      for (std::int64_t n = first_; n < last_; ++n)
        lines.row(n)[row] = scratch.row[static_cast<std::size_t>(n - first_)];
    }
    recurse_blocks(lines, scratch, [&](const Lines& results, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t n = begin; n < end; ++n) {
          scratch.row[static_cast<std::size_t>(n - begin)] = results.row(n - begin)[row];
        }
        write_row(scratch.row.data(), end - begin, out_.row(y + row, z) + (begin - begin_));
      }
    });
    return complete;
  }

  /// Calls write(results, begin, end) for the outputs of one block after another.
  template <class Write>
  void recurse_blocks(const Lines& lines, Scratch<double>& scratch, const Write& write) const {
    const Lines results{scratch.results.data(), columns_};
    for (std::int64_t begin = begin_; begin < end_;) {
      const std::int64_t end = std::min(block_end(begin), end_);
      recurse(lines, warm_up_from(begin - place_in_block(begin)), begin, end, warm_up_until(block_end(begin)),
              recursion_, results);
      write(results, begin, end);
      begin = end;
    }
  }

  VolumeView<const float> in_;
  VolumeView<float> out_;
  int axis_;
  Border border_;
  Reading reading_;
  Sums sums_;
  Axis plan_;
  std::int64_t begin_, end_;           ///< range of the outputs, as input indices
  std::int64_t first_ = 0, last_ = 0;  ///< range that the outputs depend on
  Index3 shift_;
  std::vector<double> weights_;
  std::vector<float> float_weights_;
  Recursion recursion_{};
  std::int64_t columns_ = 0;
};

/// Filters along the axes that have a reach: z, y, x. Slabs have neighbours along z only, so that all but the first
/// pass work in place. False where missing voxels were read.
bool filter_axes(VolumeView<const float> in, VolumeView<float> out, const GaussianParams& params, Reading reading,
                 Sums sums, const Execution& execution) {
  const std::vector<int> axes = filtered_axes(params);
  Radius3 halo = params.reach;
  std::vector<float> between;
  bool complete = true;
  VolumeView<const float> from = in;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    halo[axes[i]] = 0;
    VolumeView<float> to = expanded(out, halo, in);
    std::vector<float> buffer;
    if (to.extent == out.extent) {
      to.data = out.data;
    } else {
      buffer.resize(static_cast<std::size_t>(to.extent.voxels()));
      to.data = buffer.data();
    }
    to.spacing = in.spacing;
    const auto share = [&](std::size_t pass) { return static_cast<double>(pass) / static_cast<double>(axes.size()); };
    complete &= AxisPass(from, to, axes[i], params, i == 0 ? reading : Reading::plain, sums)
                    .run(execution.part(share(i), share(i + 1)));
    between = std::move(buffer);
    from = to;
  }
  return complete;
}

/// Divides the sums by the weights of the voxels present where some are missing, and gives the voxels that are to keep
/// their value that value. Without missing voxels there are neither sums nor weights.
void finish(VolumeView<const float> in, VolumeView<float> out, const std::vector<float>& sums,
            const std::vector<float>& weights, const GaussianParams& params, const Execution& execution) {
  const Index3 shift{out.origin.x - in.origin.x, out.origin.y - in.origin.y, out.origin.z - in.origin.z};
  const Radius3 width = rim(params, in.spacing);
  const auto in_rim = [&](const Index3& place) {
    for (int axis = 0; axis < 3; ++axis) {
      if (place[axis] < width[axis] || place[axis] + width[axis] >= in.extent[axis]) return true;
    }
    return false;
  };
  const bool filters = params.reach != Radius3{};
  const float least = has_recursion(params, in.spacing) ? least_present : 0.0F;
  constexpr float largest = std::numeric_limits<float>::max();
  parallel_for(execution, out.extent.y * out.extent.z, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t y = row % out.extent.y, z = row / out.extent.y;
      const float* centres = in.row(y + shift.y, z + shift.z) + shift.x;
      float* results = out.row(y, z);
      for (std::int64_t x = 0; x < out.extent.x; ++x) {
        const auto place = static_cast<std::size_t>(row * out.extent.x + x);
        const float weight = weights.empty() ? 1.0F : weights[place];
        if (!std::isfinite(centres[x])) {
          results[x] = centres[x];
        } else if (!filters || weight < least ||
                   (params.border == Border::copy && in_rim({x + shift.x, y + shift.y, z + shift.z}))) {
          results[x] = centres[x] + 0.0F;
        } else if (weight != 1) {
          results[x] = std::clamp(sums[place] / weight, -largest, largest) + 0.0F;
        }
      }
    }
  });
}

}  // namespace

void gaussian_cpu(VolumeView<const float> in, VolumeView<float> out, const GaussianParams& params,
                  const Execution& execution) {
  const bool filters = params.reach != Radius3{};
  const bool complete =
      !filters || filter_axes(in, out, params, Reading::present, Sums::floats, execution.part(0, 0.9));
  std::vector<float> sums, weights;
  if (!complete) {
    const auto filter_to = [&](std::vector<float>& numbers, Reading reading, const Execution& part) {
      numbers.resize(static_cast<std::size_t>(out.extent.voxels()));
      VolumeView<float> box = out;
      box.data = numbers.data();
      filter_axes(in, box, params, reading, Sums::doubles, part);
    };
    filter_to(sums, Reading::present, execution.part(0.9, 0.94));
    filter_to(weights, Reading::presence, execution.part(0.94, 0.98));
  }
  if (!complete || !filters || params.border == Border::copy) {
    finish(in, out, sums, weights, params, execution.part(0.98, 1));
  } else if (execution.progress) {
    execution.progress(1);
  }
}

}  // namespace quietvox
