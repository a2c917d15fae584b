// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/simple_noise_estimators.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "analysis/rician.hpp"
#include "core/swapped_volume.hpp"

namespace quietvox {
namespace {

/// A 2x2 block of voxels (1x2 where slices are a single voxel wide) by its orthonormal Haar coefficients. In Gaussian
/// noise they are independent, so blocks may be chosen by mean and edge without changing what `detail` tells.
struct Block {
  float mean;
  float edge;    ///< larger absolute value of the horizontal and the vertical coefficient
  float detail;  ///< absolute value of the diagonal coefficient; its variance is that of the noise

  bool is_of_one_value() const { return edge <= 0 && detail == 0; }
  bool lies_in_uniform_area() const { return edge == in_uniform_area; }

  static constexpr float in_uniform_area = -1;  ///< as `edge`: what lies around the block is of its value, too
};

/// Of a block of one value: whether voxels around it, up to 4 away, are of that value too.
bool is_of_one_value_around(const VolumeView<const float>& slice, std::int64_t x, std::int64_t y) {
  for (const std::int64_t dy : {-3, 0, 1, 4}) {
    const float* const row = slice.row(std::clamp<std::int64_t>(y + dy, 0, slice.extent.y - 1), 0);
    for (const std::int64_t dx : {-3, 0, 1, 4}) {
      if (row[std::clamp<std::int64_t>(x + dx, 0, slice.extent.x - 1)] != slice.at(x, y, 0)) return false;
    }
  }
  return true;
}

/// Blocks spread evenly over a volume, at most `capacity`: once full, every second one is dropped, and from then on
/// half as many are taken.
class BlockSample {
 public:
  void add(const Block& block) {
    if (!std::isfinite(block.mean) || !std::isfinite(block.detail) || seen_++ % stride_ != 0) return;
    blocks_.push_back(block);
    if (blocks_.size() < capacity) return;
    for (std::size_t i = 0; i < capacity / 2; ++i) blocks_[i] = blocks_[2 * i];
    blocks_.resize(capacity / 2);
    stride_ *= 2;
  }
  std::vector<Block> take() && { return std::move(blocks_); }

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 21;
  std::vector<Block> blocks_;
  std::int64_t seen_ = 0, stride_ = 1;
};

/// Blocks of voxels that all lie between these values, if any are given.
void add_slice(BlockSample& sample, const VolumeView<const float>& slice, const std::optional<Range<float>>& between) {
  const Extent extent = slice.extent;
  const auto lies_between = [&](float value) { return value > between->min && value < between->max; };
  if (extent.x == 1 || extent.y == 1) {
    for (std::int64_t i = 0; i + 1 < extent.slice(); i += 2) {
      const float a = slice.data[i], b = slice.data[i + 1];
      if (between && !(lies_between(a) && lies_between(b))) continue;
      sample.add({0.5F * (a + b), 0, std::abs(a - b) * std::sqrt(0.5F)});
    }
    return;
  }
  for (std::int64_t y = 0; y + 1 < extent.y; y += 2) {
    for (std::int64_t x = 0; x + 1 < extent.x; x += 2) {
      const float* a = slice.row(y, 0) + x;
      const float* b = slice.row(y + 1, 0) + x;
      if (between && !std::ranges::all_of(std::array{a[0], a[1], b[0], b[1]}, lies_between)) continue;
      const float left = a[0] + b[0], right = a[1] + b[1], top = a[0] + a[1], bottom = b[0] + b[1];
      Block block{0.25F * (top + bottom), 0.5F * std::max(std::abs(left - right), std::abs(top - bottom)),
                  0.5F * std::abs((a[0] - a[1]) - (b[0] - b[1]))};
      if (block.is_of_one_value() && is_of_one_value_around(slice, x, y)) {
        block.edge = Block::in_uniform_area;
      }
      sample.add(block);
    }
  }
}

std::vector<Block> sample_blocks(VolumeSource& source, const Execution& execution,
                                 const std::optional<Range<float>>& between = {}) {
  BlockSample sample;
  for_each_slab(source, [&](VolumeView<const float> slab) {
    check_stop(execution.stop);
    for (std::int64_t z = 0; z < slab.extent.z; ++z) add_slice(sample, slab.slices(z, 1), between);
  });
  return std::move(sample).take();
}

/// Median of values that may stand on a lattice (integer voxels): each value stands for the cell about it, and the
/// median lies inside a cell in proportion. 0 where at least half of the values are 0.
double interpolated_median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const float median = *middle;
  if (median == 0) return 0;
  double below = 0, equal = 0;
  float previous = 0, next = std::numeric_limits<float>::infinity();
  for (const float value : values) {
    below += value < median;
    equal += value == median;
    if (value < median) previous = std::max(previous, value);
    if (value > median) next = std::min(next, value);
  }
  if (!std::isfinite(next)) next = median;
  const double low = 0.5 * (static_cast<double>(previous) + median), high = 0.5 * (static_cast<double>(median) + next);
  const double inside = (0.5 * static_cast<double>(values.size()) - below) / equal;
  return low + std::clamp(inside, 0.0, 1.0) * (high - low);
}

struct Flat {
  double sigma = 0, mean = 0;
  std::int64_t blocks = 0;
};

/// Sigma of the noise in blocks with mean in [low, high). Each round but the first leaves out the blocks that
/// hold an edge, by the sigma of the round before.
Flat flat_blocks(const std::vector<Block>& blocks, double low, double high) {
  constexpr double normal_mad = 0.6744897501960817;  // median absolute value of a standard normal number
  Flat flat;
  double largest_edge = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 4; ++round) {
    std::vector<float> details;
    double sum = 0;
    for (const Block& block : blocks) {
      if (!(low <= block.mean && block.mean < high && block.edge <= largest_edge)) continue;
      details.push_back(block.detail);
      sum += block.mean;
    }
    flat.blocks = std::ssize(details);
    flat.mean = details.empty() ? 0 : sum / static_cast<double>(flat.blocks);
    flat.sigma = interpolated_median(std::move(details)) / normal_mad;
    largest_edge = 2 * flat.sigma;
  }
  return flat;
}

/// Leaves out large areas of one value, neither the lowest nor the highest, such as panels beside an image, if enough
/// other blocks are left. An image without noise has few others. Where noise is rounded away, blocks of one value lie
/// scattered.
void leave_uniform_areas_out(std::vector<Block>& blocks) {
  constexpr double many = 0.02, enough = 0.25;  // of the blocks
  constexpr double together = 0.4;              // of the blocks of that value
  struct Count {
    double all = 0, in_area = 0;
  };
  std::map<float, Count> blocks_of_value;
  for (const Block& block : blocks) {
    if (!block.is_of_one_value()) continue;
    Count& count = blocks_of_value[block.mean];
    ++count.all;
    count.in_area += block.lies_in_uniform_area();
  }
  const auto count = static_cast<double>(blocks.size());
  const auto [lowest, highest] = std::ranges::minmax(blocks, {}, &Block::mean);
  double left = count;
  std::erase_if(blocks_of_value, [&](const auto& each) {
    const auto& [value, found] = each;
    const bool stays = found.all < many * count || found.in_area < together * found.all || value == lowest.mean ||
                       value == highest.mean;
    if (!stays) left -= found.all;
    return stays;
  });
  if (left < enough * count) return;
  std::erase_if(blocks,
                [&](const Block& block) { return block.is_of_one_value() && blocks_of_value.contains(block.mean); });
}

constexpr float infinite = std::numeric_limits<float>::infinity();

/// The mean of these blocks. Padding and clipped air would pull it below the air that is noisy.
double middle_of(const std::vector<Block>& blocks) {
  const float lowest = std::ranges::min(blocks, {}, &Block::mean).mean;
  double sum = 0, count = 0;
  for (const Block& block : blocks) {
    if (block.mean == lowest) continue;
    sum += block.mean;
    ++count;
  }
  return count > 0 ? sum / count : lowest;
}

/// Where much of an image is cut off at its highest value: the blocks between its extremes, if most of them are flat,
/// as those of noise are. Without noise, they lie on edges.
Flat flat_below_saturation(VolumeSource& source, const std::vector<Block>& all, const Execution& execution) {
  constexpr double much = 0.02, most = 0.5;
  constexpr std::int64_t fewest = 500;
  const auto [lowest, highest] = std::ranges::minmax(all, {}, &Block::mean);
  const auto saturated = std::ranges::count_if(
      all, [top = highest.mean](const Block& block) { return block.mean == top && block.is_of_one_value(); });
  if (static_cast<double>(saturated) < much * static_cast<double>(all.size())) return {};
  const float low = lowest.is_of_one_value() ? lowest.mean : -infinite;
  std::vector<Block> blocks = sample_blocks(source, execution, Range<float>{low, highest.mean});
  if (blocks.empty()) return {};
  leave_uniform_areas_out(blocks);
  const double middle = middle_of(blocks);
  const Flat bright = flat_blocks(blocks, middle, infinite);
  const auto looked_at =
      std::ranges::count_if(blocks, [&](const Block& block) { return static_cast<double>(block.mean) >= middle; });
  return bright.blocks >= fewest && static_cast<double>(bright.blocks) >= most * static_cast<double>(looked_at)
             ? bright
             : Flat{};
}

Flat flat_foreground(VolumeSource& source, const Execution& execution) {
  std::vector<Block> blocks = sample_blocks(source, execution);
  if (blocks.empty()) return {};
  leave_uniform_areas_out(blocks);
  const double middle = middle_of(blocks);
  const Flat bright = flat_blocks(blocks, middle, infinite);
  if (bright.sigma > 0) return bright;
  // A bright background that is clipped (X-ray images stored inverted) has no noise.
  const Flat dark = flat_blocks(blocks, -infinite, middle);
  if (dark.sigma > 0) return dark;
  const Flat between = flat_below_saturation(source, blocks, execution);
  return between.sigma > 0 ? between : dark;
}

/// Means of the 8x8 blocks of a slice that look like air: noise without a signal has a Rayleigh distribution, whose
/// standard deviation is 0.5227 of its mean. Blocks that vary because of an edge hold little in their diagonal Haar
/// coefficients.
void add_air(std::vector<double>& means, const VolumeView<const float>& slice) {
  constexpr std::int64_t side = 8;
  constexpr double voxels = side * side, coefficients = voxels / 4;
  constexpr double tolerance = 0.12, diagonal_tolerance = 0.2;  // about 2.5 deviations each
  for (std::int64_t y = 0; y + side <= slice.extent.y; y += side) {
    for (std::int64_t x = 0; x + side <= slice.extent.x; x += side) {
      double sum = 0, squares = 0, diagonals = 0, zeros = 0;
      for (std::int64_t j = y; j < y + side; j += 2) {
        for (std::int64_t i = x; i < x + side; i += 2) {
          const double a = slice.row(j, 0)[i], b = slice.row(j, 0)[i + 1];
          const double c = slice.row(j + 1, 0)[i], d = slice.row(j + 1, 0)[i + 1];
          sum += a + b + c + d;
          squares += a * a + b * b + c * c + d * d;
          diagonals += 0.25 * (a - b - c + d) * (a - b - c + d);
          zeros += (a == 0) + (b == 0) + (c == 0) + (d == 0);
        }
      }
      const double mean = sum / voxels, variance = (squares - sum * mean) / (voxels - 1);
      const bool is_cut = zeros > 4;  // at the edge of what is masked
      if (!std::isfinite(variance) || mean <= 0 || is_cut) continue;
      const double ratio = std::sqrt(std::max(variance, 0.0)) / mean;
      const double diagonal_ratio = std::sqrt(diagonals / coefficients) / mean;
      if (std::abs(ratio - rayleigh_ratio) < tolerance &&
          std::abs(diagonal_ratio - rayleigh_ratio) < diagonal_tolerance) {
        means.push_back(mean);
      }
    }
  }
}

NoiseEstimate air_estimate(VolumeSource& source, const Execution& execution) {
  constexpr std::size_t fewest = 32;     // fewer may be tissue by chance
  constexpr double widest_spread = 0.3;  // of what is one thing: air has 0.09
  std::vector<double> means;
  for_each_slab(source, [&](VolumeView<const float> slab) {
    check_stop(execution.stop);
    for (std::int64_t z = 0; z < slab.extent.z; ++z) add_air(means, slab.slices(z, 1));
  });
  const std::int64_t blocks = std::ssize(means);
  if (means.size() < fewest) return {NoiseMethod::air, 0, 0, 0};
  const auto [mean, width] = shortest_half(std::move(means));
  if (width > widest_spread * mean) return {NoiseMethod::air, 0, 0, 0};
  // A Rayleigh mean is sigma sqrt(pi / 2); that of half of the blocks varies by 0.5227 / 8 of it per block.
  const double error = rayleigh_ratio / 8 / std::sqrt(0.5 * static_cast<double>(blocks));
  return {NoiseMethod::air, mean / rayleigh_mean, blocks, error};
}

}  // namespace

double estimate_noise(VolumeSource& source, const Execution& execution) {
  if (const AxisSwap swap(header_facts(source)); swap) {
    SwappedVolume swapped(source, swap, execution);
    return flat_foreground(swapped, execution).sigma;
  }
  return flat_foreground(source, execution).sigma;
}

std::vector<NoiseEstimate> estimate_noise_by_every_method(VolumeSource& source, const Execution& execution) {
  if (const AxisSwap swap(header_facts(source)); swap) {
    SwappedVolume swapped(source, swap, execution);
    return estimate_noise_by_every_method(swapped, execution);
  }
  const Flat flat = flat_foreground(source, execution);
  // The median absolute deviation has 0.37 of the efficiency of the standard deviation.
  const double error = flat.blocks > 0 ? std::sqrt(0.5 / 0.37 / static_cast<double>(flat.blocks)) : 0;
  const bool rician = flat.sigma > 0 && flat.mean > 0;
  return {
      {NoiseMethod::haar, flat.sigma, flat.blocks, error},
      {NoiseMethod::koay, rician ? koay_sigma(flat.mean, flat.sigma) : 0, rician ? flat.blocks : 0, rician ? error : 0},
      air_estimate(source, execution)};
}

}  // namespace quietvox
