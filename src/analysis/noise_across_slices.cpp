// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_across_slices.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/linear_trend.hpp"
#include "analysis/median_of.hpp"
#include "analysis/noise_spectrum_fit.hpp"
#include "core/coarse_field_view.hpp"

namespace quietvox {
namespace {

/// Half the logarithms of the energies of bricks whose middles lie in one slice.
struct Layer {
  std::vector<double> fine{}, middle{}, low{};  ///< by frequency in the slice; high across slices
  std::vector<double> near{};                   ///< high in the slice, low across slices
};

/// Quantiles of these: `fine` and `near` of the flattest bricks, the others of more.
struct Level {
  double place, fine, of_more, middle, low, near;
};

std::vector<Level> levels_of(const NoiseBricks& energies) {
  constexpr std::size_t fewest = 20;
  constexpr double flattest = 0.1, flat = 0.25;  // of the bricks
  const NoiseBands bands(energies.size());
  const std::int64_t plane = energies.size().slice(), depth = energies.size().z;
  std::map<double, Layer> layers;
  for (std::int64_t i = 0; i < energies.count(); ++i) {
    double fine = 0, middle = 0, low = 0, near = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* const energy = energies.brick(i) + k * plane;
      const bool is_far = k >= depth / 2;
      for (std::int64_t p = 0; p < plane; ++p) {
        const auto at = static_cast<std::size_t>(p);
        if (bands.lowest[at] || (!is_far && !bands.high[at])) continue;
        (!is_far ? near : bands.high[at] ? fine : bands.low[at] ? low : middle) += static_cast<double>(energy[p]);
      }
    }
    if (!(fine > 0 && middle > 0 && low > 0 && near > 0)) continue;
    Layer& layer = layers[energies.place(i).z];
    layer.fine.push_back(0.5 * std::log(fine));
    layer.middle.push_back(0.5 * std::log(middle));
    layer.low.push_back(0.5 * std::log(low));
    layer.near.push_back(0.5 * std::log(near));
  }
  std::vector<Level> levels;
  for (auto& [place, layer] : layers) {
    if (layer.fine.size() < fewest) continue;
    const auto of = [](std::vector<double>& values, double share) { return quantile_of(std::span(values), share); };
    levels.push_back({place, of(layer.fine, flattest), of(layer.fine, flat), of(layer.middle, flat),
                      of(layer.low, flat), of(layer.near, flattest)});
  }
  return levels;
}

/// How another level goes with `fine` from layer to layer.
LinearTrend trend_of(const std::vector<Level>& levels, double Level::*other) {
  LinearTrend trend;
  for (const Level& level : levels) trend.add(level.fine, level.*other);
  return trend;
}

/// By how much low frequencies stand above high ones in the loudest layers, more than in the quietest.
double excess_of_low(const std::vector<Level>& levels, double least, double most) {
  std::vector<double> loud, quiet;
  for (const Level& level : levels) {
    const double place = (level.fine - least) / (most - least);
    if (place > 0.6) loud.push_back(level.low - level.fine);
    if (place < 0.4) quiet.push_back(level.low - level.fine);
  }
  return median_of<double>(loud) - median_of<double>(quiet);
}

/// Whether noise makes the difference. Structure leaves some bricks of a layer as they are, and adds more the lower the
/// frequency; where slices were resampled, their noise differs at high frequencies across slices alone.
bool are_of_noise(const std::vector<Level>& levels, double least, double most) {
  constexpr double least_slope = 0.8, most_slope = 1.2, most_rest = 0.1, least_slope_of_near = 0.3, most_excess = 0.1;
  for (double Level::*const other : {&Level::of_more, &Level::middle}) {
    const LinearTrend trend = trend_of(levels, other);
    if (!(trend.slope() > least_slope && trend.slope() < most_slope && trend.rest() < most_rest)) return false;
  }
  return trend_of(levels, &Level::near).slope() > least_slope_of_near &&
         excess_of_low(levels, least, most) < most_excess;
}

}  // namespace

NoiseAcrossSlices::NoiseAcrossSlices(const NoiseBricks& energies) {
  constexpr std::size_t fewest = 6;
  constexpr double least_range = 0.2;  // of logarithms of sigma
  const std::vector<Level> levels = levels_of(energies);
  if (levels.size() < fewest) return;
  const auto [least, most] = std::ranges::minmax(levels, {}, &Level::fine);
  if (most.fine - least.fine < least_range || !are_of_noise(levels, least.fine, most.fine)) return;
  range_ = most.fine - least.fine;
  constexpr std::int64_t most_nodes = 64;
  const std::int64_t nodes = std::min(energies.extent().z, most_nodes);
  std::size_t next = 0;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const double place = 2 * static_cast<double>(node) / static_cast<double>(nodes - 1) - 1;
    while (next < levels.size() && levels[next].place < place) ++next;
    const Level &before = levels[next > 0 ? next - 1 : 0], &after = levels[std::min(next, levels.size() - 1)];
    const double weight = after.place > before.place ? (place - before.place) / (after.place - before.place) : 0;
    log_sigma_.push_back(std::lerp(before.fine, after.fine, weight));
  }
}

double NoiseAcrossSlices::at(double place) const {
  const double node = 0.5 * (place + 1) * static_cast<double>(log_sigma_.size() - 1);
  const auto before = std::min(static_cast<std::size_t>(std::max(node, 0.0)), log_sigma_.size() - 2);
  return std::lerp(log_sigma_[before], log_sigma_[before + 1], node - static_cast<double>(before));
}

void NoiseAcrossSlices::make_even(NoiseBricks& energies) {
  mean_ = 0.5 * std::log(energies.make_even([&](std::int64_t i) { return std::exp(2 * at(energies.place(i).z)); }));
}

CoarseField NoiseAcrossSlices::times(const CoarseField& map) const {
  CoarseField product{{{map.size.x, map.size.y, std::ssize(log_sigma_)}}, {}};
  const CoarseFieldView view{map.values.data(), map.size, product.size};
  for (std::int64_t z = 0; z < product.size.z; ++z) {
    const double factor = std::exp(log_sigma_[static_cast<std::size_t>(z)] - mean_);
    for (std::int64_t y = 0; y < product.size.y; ++y) {
      for (std::int64_t x = 0; x < product.size.x; ++x) {
        product.values.push_back(static_cast<float>(factor * view.at(x, y, z)));
      }
    }
  }
  return product;
}

}  // namespace quietvox
