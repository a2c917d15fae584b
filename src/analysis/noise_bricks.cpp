// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_bricks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <iterator>
#include <numbers>
#include <numeric>
#include <span>

#include "analysis/median_of.hpp"

namespace quietvox {
namespace {

/// Of voxels that are not missing.
std::pair<float, float> smallest_and_largest(const float* voxels, std::int64_t count) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::array<float, 8> least, most;
  least.fill(infinity);
  most.fill(-infinity);
  const auto take = [&](float value, std::size_t j) {
    least[j] = value < least[j] && value > -infinity ? value : least[j];
    most[j] = value > most[j] && value < infinity ? value : most[j];
  };
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) take(voxels[i + static_cast<std::int64_t>(j)], j);
  }
  for (; i < count; ++i) take(voxels[i], 0);
  return {*std::ranges::min_element(least), *std::ranges::max_element(most)};
}

/// Of voxels that are not missing.
double mean_of_finite(const float* voxels, std::int64_t count) {
  double sum = 0, finite = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(voxels[i])) continue;
    sum += static_cast<double>(voxels[i]);
    ++finite;
  }
  return sum / finite;
}

/// Makes voxels missing that lie farther from the others than anatomy and noise explain, such as failed fits in a map,
/// if the brick has few of them. Returns how many.
std::int64_t leave_out_extremes(float* brick, std::int64_t count) {
  constexpr double most_share = 0.04, spreads = 64;  // beyond the quartiles
  double sum = 0, squares = 0, finite = 0;
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(brick[i])) continue;
    const auto value = static_cast<double>(brick[i]);
    sum += value;
    squares += value * value;
    ++finite;
    low = std::min(low, brick[i]);
    high = std::max(high, brick[i]);
  }
  const double mean = sum / finite, deviation = std::sqrt(std::max(squares / finite - mean * mean, 0.0));
  const double farthest = std::max(static_cast<double>(high) - mean, mean - static_cast<double>(low));
  // So few, however far away, are more deviations away than this.
  if (!(farthest > 0.95 * deviation * std::sqrt((1 - most_share) / most_share))) return 0;
  std::vector<float> sorted;
  std::copy_if(brick, brick + count, std::back_inserter(sorted), [](float value) { return std::isfinite(value); });
  const double first = quantile_of(std::span(sorted), 0.25), third = quantile_of(std::span(sorted), 0.75);
  const double most = spreads * (third - first);
  const auto is_extreme = [&](float value) {
    const auto number = static_cast<double>(value);
    return number > third + most || number < first - most;
  };
  const auto extremes = most > 0 ? std::count_if(sorted.begin(), sorted.end(), is_extreme) : 0;
  if (static_cast<double>(extremes) > most_share * finite) return 0;
  if (extremes > 0) std::replace_if(brick, brick + count, is_extreme, std::numeric_limits<float>::quiet_NaN());
  return extremes;
}

/// Bricks begin at every half brick.
std::int64_t stride_of(std::int64_t size) { return std::max<std::int64_t>(size / 2, 1); }

/// Calls `take(voxel, where it belongs)` for the voxels of bricks that begin at `places`, as far as they lie in `slab`.
template <class Take>
void for_each_voxel(const VolumeView<const float>& slab, std::span<const Index3> places, const Extent& size,
                    std::int64_t apart, float* bricks, const Take& take) {
  for (const Index3& place : places) {
    const std::int64_t first = std::max(place.z, slab.origin.z);
    const std::int64_t last = std::min(place.z + size.z, slab.origin.z + slab.extent.z);
    for (std::int64_t z = first; z < last; ++z) {
      for (std::int64_t y = 0; y < size.y; ++y) {
        const float* const from = slab.row(place.y + y * apart, z - slab.origin.z) + place.x;
        float* const to = bricks + ((z - place.z) * size.y + y) * size.x;
        for (std::int64_t x = 0; x < size.x; ++x) take(from[x * apart], to[x]);
      }
    }
    bricks += size.voxels();
  }
}

constexpr std::size_t most_bricks = std::size_t{1} << 13;

}  // namespace

NoiseBricks::NoiseBricks(VolumeSource& source, VolumeSource* neighbour, std::int64_t apart)
    : extent_(source.extent()), apart_(apart) {
  const bool plane = extent_.x > 1 && extent_.y > 1;
  const Triple<std::int64_t> most = plane ? Triple<std::int64_t>{8, 8, 4} : Triple<std::int64_t>{32, 32, 8};
  constexpr std::uint64_t most_looked_at = 4 * most_bricks;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t between = axis < 2 ? apart : 1;
    size_[axis] = std::min(most[axis], extent_[axis]);
    grid_[axis] = (extent_[axis] - (size_[axis] - 1) * between - 1) / stride_of(size_[axis]) + 1;
  }
  limit_ = (std::min(most_looked_at, static_cast<std::uint64_t>(grid_.voxels())) << 32) /
           static_cast<std::uint64_t>(grid_.voxels());
  std::deque<Layer> layers;  // that are not yet complete
  std::int64_t next = 0;
  const auto take = [&](const VolumeView<const float>& slices) {
    const std::int64_t end = slices.origin.z + slices.extent.z;
    while (next < grid_.z && next * stride_of(size_.z) < end) layers.push_back(make_layer(next++));
    for (Layer& layer : layers) {
      for_each_voxel(slices, layer.places, size_, apart_, layer.voxels.data(),
                     [](float from, float& to) { to = from; });
    }
    while (!layers.empty() && layers.front().z + size_.z <= end) {
      add(layers.front());
      layers.pop_front();
    }
  };
  for_each_slab(source, [&](const VolumeView<const float>& slab) {
    // A few slices at once, so that few layers are held.
    const std::int64_t together = stride_of(size_.z);
    for (std::int64_t z = 0; z < slab.extent.z; z += together) {
      take(slab.slices(z, std::min(together, slab.extent.z - z)));
    }
  });
  if (neighbour != nullptr) subtract(*neighbour);
}

NoiseBricks::Layer NoiseBricks::make_layer(std::int64_t index) const {
  Layer layer{index * stride_of(size_.z), {}, {}, {}};
  for (std::int64_t i = 0; i < grid_.slice(); ++i) {
    // Fractions of multiples of the golden ratio are spread evenly, whatever the grid.
    const auto number = static_cast<std::uint64_t>(index * grid_.slice() + i);
    const auto hash = static_cast<std::uint32_t>(number * 0x9E3779B97F4A7C15ULL >> 32);
    if (hash >= limit_) continue;
    layer.places.push_back({i % grid_.x * stride_of(size_.x), i / grid_.x * stride_of(size_.y), layer.z});
    layer.hashes.push_back(hash);
  }
  layer.voxels.resize(layer.places.size() * static_cast<std::size_t>(voxels()));
  return layer;
}

void NoiseBricks::add(Layer& layer) {
  constexpr double most_of_least = 0.25;
  for (std::size_t i = 0; i < layer.places.size(); ++i) {
    if (layer.hashes[i] >= limit_) continue;
    float* const begin = layer.voxels.data() + static_cast<std::int64_t>(i) * voxels();
    extremes_ += leave_out_extremes(begin, voxels());
    looked_at_ += voxels();
    const auto [least, most] = smallest_and_largest(begin, voxels());
    lowest_ = std::min(lowest_, least);
    highest_ = std::max(highest_, most);
    const auto background = std::isfinite(least) ? std::count(begin, begin + voxels(), least) : 0;
    if (static_cast<double>(background) > most_of_least * static_cast<double>(voxels())) {
      background_.push_back({mean_of_finite(begin, voxels()), background == voxels(), layer.hashes[i]});
      continue;
    }
    places_.push_back(layer.places[i]);
    hashes_.push_back(layer.hashes[i]);
    means_.push_back(mean_of_finite(begin, voxels()));
    voxels_.insert(voxels_.end(), begin, begin + voxels());
    if (places_.size() > most_bricks) thin();
  }
}

void NoiseBricks::thin() {
  limit_ /= 2;
  keep([&](std::int64_t i) { return hashes_[static_cast<std::size_t>(i)] < limit_; });
  std::erase_if(background_, [&](const Background& one) { return one.hash >= limit_; });
}

void NoiseBricks::subtract(VolumeSource& neighbour) {
  std::size_t first = 0;  // brick that is not yet complete; they are in the order of their slices
  for_each_slab(neighbour, [&](const VolumeView<const float>& slab) {
    const std::int64_t end = slab.origin.z + slab.extent.z;
    while (first < places_.size() && places_[first].z + size_.z <= slab.origin.z) ++first;
    std::size_t last = first;
    while (last < places_.size() && places_[last].z < end) ++last;
    for_each_voxel(slab, std::span(places_).subspan(first, last - first), size_, apart_,
                   brick(static_cast<std::int64_t>(first)),
                   [](float from, float& to) { to = (to - from) / std::numbers::sqrt2_v<float>; });
  });
  for (std::int64_t i = 0; i < count(); ++i) leave_out_extremes(brick(i), voxels());
}

double NoiseBricks::normalise() {
  constexpr double large = 1e15;
  double largest = 0;
  for (const float voxel : voxels_) {
    if (std::isfinite(voxel)) largest = std::max(largest, std::abs(static_cast<double>(voxel)));
  }
  if (largest == 0 || (largest < large && largest > 1 / large)) return 1;
  const double factor = std::ldexp(1.0, -std::ilogb(largest));
  const auto as_float = [&](float value) { return static_cast<float>(static_cast<double>(value) * factor); };
  for (float& voxel : voxels_) voxel = as_float(voxel);
  for (double& mean : means_) mean *= factor;
  for (Background& one : background_) one.mean *= factor;
  lowest_ = as_float(lowest_);
  highest_ = as_float(highest_);
  return factor;
}

double NoiseBricks::median_variance() const {
  std::vector<double> variances;
  for (std::int64_t i = 0; i < count(); ++i) {
    variances.push_back(std::accumulate(brick(i) + 1, brick(i) + voxels(), 0.0) / static_cast<double>(voxels() - 1));
  }
  return median_of<double>(variances);
}

NoiseBricks NoiseBricks::some(std::span<const std::int64_t> chosen) const {
  NoiseBricks result;
  result.extent_ = extent_;
  result.size_ = size_;
  result.apart_ = apart_;
  result.grid_ = grid_;
  for (const std::int64_t i : chosen) {
    result.places_.push_back(places_[static_cast<std::size_t>(i)]);
    result.hashes_.push_back(hashes_[static_cast<std::size_t>(i)]);
    result.means_.push_back(mean(i));
    result.voxels_.insert(result.voxels_.end(), brick(i), brick(i) + voxels());
  }
  return result;
}

Triple<double> NoiseBricks::place(std::int64_t i) const {
  Triple<double> result;
  for (int axis = 0; axis < 3; ++axis) {
    const double middle = static_cast<double>(places_[static_cast<std::size_t>(i)][axis]) +
                          0.5 * static_cast<double>((size_[axis] - 1) * (axis < 2 ? apart_ : 1));
    result[axis] = extent_[axis] > 1 ? 2 * middle / static_cast<double>(extent_[axis] - 1) - 1 : 0;
  }
  return result;
}

}  // namespace quietvox
