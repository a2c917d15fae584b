// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "quality/noise_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quietvox {
namespace {

/// A 2x2 block of voxels (1x2 where slices are a single voxel wide) by its orthonormal Haar coefficients. In Gaussian
/// noise they are independent, so blocks may be chosen by mean and edge without changing what `detail` tells.
struct Block {
  float mean;
  float edge;    ///< larger absolute value of the horizontal and the vertical coefficient
  float detail;  ///< absolute value of the diagonal coefficient; its variance is that of the noise
};

/// Blocks spread evenly over a volume, at most `capacity`: once full, every second one goes and half as many are taken.
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
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  static constexpr std::size_t capacity = std::size_t{1} << 21;
  std::vector<Block> blocks_;
  std::int64_t seen_ = 0, stride_ = 1;
};

void add_slice(BlockSample& sample, const VolumeView<const float>& slice) {
  const Extent extent = slice.extent;
  if (extent.x == 1 || extent.y == 1) {
    for (std::int64_t i = 0; i + 1 < extent.slice(); i += 2) {
      const float a = slice.data[i], b = slice.data[i + 1];
      sample.add({0.5F * (a + b), 0, std::abs(a - b) * std::sqrt(0.5F)});
    }
    return;
  }
  for (std::int64_t y = 0; y + 1 < extent.y; y += 2) {
    for (std::int64_t x = 0; x + 1 < extent.x; x += 2) {
      const float* a = slice.row(y, 0) + x;
      const float* b = slice.row(y + 1, 0) + x;
      const float left = a[0] + b[0], right = a[1] + b[1], top = a[0] + a[1], bottom = b[0] + b[1];
      sample.add({0.25F * (top + bottom), 0.5F * std::max(std::abs(left - right), std::abs(top - bottom)),
                  0.5F * std::abs((a[0] - a[1]) - (b[0] - b[1]))});
    }
  }
}

BlockSample sample_blocks(VolumeSource& source) {
  BlockSample sample;
  for_each_slab(source, [&](VolumeView<const float> slab) {
    for (std::int64_t z = 0; z < slab.extent.z; ++z) add_slice(sample, slab.slices(z, 1));
  });
  return sample;
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

/// Sigma of the noise in blocks with mean in [low, high). Each round but the first leaves out the blocks that
/// hold an edge, by the sigma of the round before.
double sigma_between(const std::vector<Block>& blocks, double low, double high) {
  constexpr double normal_mad = 0.6744897501960817;  // median absolute value of a standard normal number
  double sigma = 0, largest_edge = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 4; ++round) {
    std::vector<float> details;
    for (const Block& block : blocks) {
      if (low <= block.mean && block.mean < high && block.edge <= largest_edge) details.push_back(block.detail);
    }
    sigma = interpolated_median(std::move(details)) / normal_mad;
    largest_edge = 2 * sigma;
  }
  return sigma;
}

}  // namespace

double estimate_noise(VolumeSource& source) {
  const BlockSample sample = sample_blocks(source);
  const auto& blocks = sample.blocks();
  if (blocks.empty()) return 0;
  const auto darker = [](const Block& a, const Block& b) { return a.mean < b.mean; };
  const float lowest = std::min_element(blocks.begin(), blocks.end(), darker)->mean;
  // Padding and clipped air would pull the mean below the air that is noisy.
  double sum = 0, count = 0;
  for (const Block& block : blocks) {
    if (block.mean == lowest) continue;
    sum += block.mean;
    ++count;
  }
  const double middle = count > 0 ? sum / count : lowest;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double sigma = sigma_between(blocks, middle, infinity);
  // A bright background that is clipped (X-ray images stored inverted) has no noise.
  return sigma > 0 ? sigma : sigma_between(blocks, -infinity, middle);
}

}  // namespace quietvox
