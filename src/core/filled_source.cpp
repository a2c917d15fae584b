// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/filled_source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace quietvox {
namespace {

constexpr std::int64_t fewest_to_clamp = 64;  // voxels: the noise of fewer says little of the range of what is there

constexpr float usual = std::numeric_limits<float>::quiet_NaN();  // of what is missing

/// False for NaN.
bool is_in(std::pair<float, float> usable, float voxel) { return voxel > usable.first && voxel < usable.second; }

/// Values on a grid, NaN where there is none.
struct Grid {
  std::int64_t columns, rows;
  std::vector<float> values;

  float& at(std::int64_t x, std::int64_t y) { return values[static_cast<std::size_t>(y * columns + x)]; }
};

/// Half the resolution: means of 2 x 2 values each, without missing ones.
Grid coarser(Grid& fine) {
  Grid coarse{(fine.columns + 1) / 2, (fine.rows + 1) / 2, {}};
  for (std::int64_t y = 0; y < coarse.rows; ++y) {
    for (std::int64_t x = 0; x < coarse.columns; ++x) {
      float sum = 0, count = 0;
      for (std::int64_t j = 2 * y; j < std::min(2 * y + 2, fine.rows); ++j) {
        for (std::int64_t i = 2 * x; i < std::min(2 * x + 2, fine.columns); ++i) {
          if (!std::isfinite(fine.at(i, j))) continue;
          sum += fine.at(i, j);
          ++count;
        }
      }
      coarse.values.push_back(sum / count);
    }
  }
  return coarse;
}

/// Fills missing values from a coarser grid by linear interpolation.
void fill_from(Grid& coarse, Grid& fine) {
  const auto place = [](std::int64_t i, std::int64_t count) {
    const float at = std::clamp(0.5F * static_cast<float>(i) - 0.25F, 0.F, static_cast<float>(count - 1));
    const auto first = static_cast<std::int64_t>(at);
    return std::tuple(first, std::min(first + 1, count - 1), at - static_cast<float>(first));
  };
  for (std::int64_t y = 0; y < fine.rows; ++y) {
    const auto [above, below, down] = place(y, coarse.rows);
    for (std::int64_t x = 0; x < fine.columns; ++x) {
      if (std::isfinite(fine.at(x, y))) continue;
      const auto [left, right, along] = place(x, coarse.columns);
      const float upper = std::lerp(coarse.at(left, above), coarse.at(right, above), along);
      const float lower = std::lerp(coarse.at(left, below), coarse.at(right, below), along);
      fine.at(x, y) = std::lerp(upper, lower, down);
    }
  }
}

/// Fills a slice that is not missing whole.
void fill(float* slice, std::int64_t columns, std::int64_t rows, std::pair<float, float> usable) {
  std::vector<Grid> levels{{columns, rows, std::vector<float>(slice, slice + columns * rows)}};
  std::ranges::replace_if(
      levels.front().values, [&](float value) { return !is_in(usable, value); }, usual);
  while (!std::ranges::all_of(levels.back().values, [](float value) { return std::isfinite(value); }))
    levels.push_back(coarser(levels.back()));
  for (std::size_t level = levels.size() - 1; level > 0; --level) fill_from(levels[level], levels[level - 1]);
  std::ranges::copy(levels.front().values, slice);
}

/// Replaces a slice by what its means of 2 x 2 voxels give: a copy with the same noise would make that noise look like
/// structure.
void smooth(std::vector<float>& slice, std::int64_t columns, std::int64_t rows) {
  Grid fine{columns, rows, std::move(slice)};
  Grid coarse = coarser(fine);
  std::ranges::fill(fine.values, usual);
  fill_from(coarse, fine);
  slice = std::move(fine.values);
}

}  // namespace

FilledSource::FilledSource(VolumeSource& source, const FilterConfig& filter, const Execution& execution)
    : source_(source),
      execution_(execution.silent()),
      sigma_(FieldType<double>::parse(filter.get("sigma")).value_or(0)),
      slices_(static_cast<std::size_t>(source.extent().z)) {}

std::pair<float, float> FilledSource::usable_in(const float* slice) const {
  constexpr float greatest = 1e18F;
  constexpr std::int64_t samples = 1024;
  constexpr double far = 1 << 18;
  const std::int64_t voxels = extent().slice();
  std::vector<float> sample;
  for (std::int64_t i = 0; sigma_ > 0 && i < voxels; i += (voxels / samples) | 1) {
    if (std::abs(slice[i]) < greatest) sample.push_back(slice[i]);
  }
  if (sample.empty()) return {-greatest, greatest};
  const auto middle = sample.begin() + std::ssize(sample) / 2;
  std::nth_element(sample.begin(), middle, sample.end());
  const auto bounded = [&](double value) { return static_cast<float>(std::clamp<double>(value, -greatest, greatest)); };
  return {bounded(*middle - far * sigma_), bounded(*middle + far * sigma_)};
}

void FilledSource::read(VolumeView<float> slices) {
  source_.read(slices);
  const std::int64_t voxels = slices.extent.slice();
  parallel_for(execution_, slices.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t z = begin; z < end; ++z) {
      float* const slice = slices.row(0, z);
      const auto usable = usable_in(slice);
      constexpr float infinity = std::numeric_limits<float>::infinity();
      std::int64_t count = 0;
      float least = infinity, most = -infinity;
      for (std::int64_t i = 0; i < voxels; ++i) {
        const bool is_missing = !is_in(usable, slice[i]);
        count += is_missing;
        least = std::min(least, is_missing ? infinity : slice[i]);
        most = std::max(most, is_missing ? -infinity : slice[i]);
      }
      Slice& known = slices_[static_cast<std::size_t>(slices.origin.z + z)];
      if (voxels - count >= fewest_to_clamp) known.range = {least, most};
      known.holds_something = count < voxels;
      if (count == 0) continue;
      known.missing.resize(static_cast<std::size_t>(voxels));
      std::transform(slice, slice + voxels, known.missing.begin(), [&](float voxel) { return !is_in(usable, voxel); });
      known.values.clear();
      float last = usual;
      for (std::int64_t i = 0; i < voxels; ++i) {
        if (is_in(usable, slice[i]) || std::bit_cast<std::uint32_t>(slice[i]) == std::bit_cast<std::uint32_t>(last))
          continue;
        last = slice[i];
        known.values.emplace_back(static_cast<std::size_t>(i), last);
      }
      if (count < voxels) fill(slice, slices.extent.x, slices.extent.y, usable);
    }
  });
  for (std::int64_t z = 0; z < slices.extent.z; ++z) {
    float* const slice = slices.row(0, z);
    const std::int64_t number = slices.origin.z + z;
    if (*slices_[static_cast<std::size_t>(number)].holds_something) {
      if (z + 1 < slices.extent.z && *slices_[static_cast<std::size_t>(number + 1)].holds_something) continue;
      donor_.assign(slice, slice + voxels);
      donor_z_ = number;
      donor_is_smooth_ = false;
    } else if (find_donor(number)) {
      if (!std::exchange(donor_is_smooth_, true)) smooth(donor_, slices.extent.x, slices.extent.y);
      std::ranges::copy(donor_, slice);
    }
  }
}

/// Takes the nearest slice before this one that is not missing whole, or if there is none, the nearest after it.
/// Returns false if all are missing.
bool FilledSource::find_donor(std::int64_t z) {
  const Extent size = extent();
  for (std::int64_t at = z - 1; at >= 0; --at) {
    if (try_donor(at)) return true;
  }
  for (std::int64_t at = z + 1; at < size.z; ++at) {
    if (try_donor(at)) return true;
  }
  return false;
}

bool FilledSource::try_donor(std::int64_t z) {
  std::optional<bool>& holds_something = slices_[static_cast<std::size_t>(z)].holds_something;
  if (z == donor_z_ || holds_something == false) return z == donor_z_;
  const Extent size = extent();
  donor_.resize(static_cast<std::size_t>(size.slice()));
  source_.read({donor_.data(), {{size.x, size.y, 1}}, spacing(), {0, 0, z}});
  const auto usable = usable_in(donor_.data());
  holds_something = std::ranges::any_of(donor_, [&](float voxel) { return is_in(usable, voxel); });
  donor_z_ = *holds_something ? z : -1;
  if (!*holds_something) return false;
  fill(donor_.data(), size.x, size.y, usable);
  donor_is_smooth_ = false;
  return true;
}

void FilledSource::restore(VolumeView<float> results) const {
  const std::int64_t columns = extent().x;
  const Index3& first = results.origin;
  const Extent& size = results.extent;
  parallel_for(execution_, size.z, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t z = begin; z < end; ++z) {
      const Slice& known = slices_[static_cast<std::size_t>(first.z + z)];
      if (known.range) {
        float* const voxels = results.row(0, z);
        const auto [least, most] = *known.range;
        std::transform(voxels, voxels + size.slice(), voxels,
                       [least = least, most = most](float voxel) { return std::clamp(voxel, least, most); });
      }
      float value = usual;
      auto change = known.values.begin();
      for (std::size_t i = 0; i < known.missing.size(); ++i) {
        if (!known.missing[i]) continue;
        if (change != known.values.end() && change->first == i) value = change++->second;
        const auto at = static_cast<std::int64_t>(i);
        const std::int64_t x = at % columns - first.x, y = at / columns - first.y;
        if (x >= 0 && x < size.x && y >= 0 && y < size.y) results.at(x, y, z) = value;
      }
    }
  });
}

}  // namespace quietvox
