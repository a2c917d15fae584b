// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_across_slices.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/median_of.hpp"
#include "analysis/noise_spectrum_fit.hpp"
#include "core/coarse_field_view.hpp"

namespace quietvox {
namespace {

/// Half the logarithms of the energies of bricks whose middles lie in one slice.
struct Layer {
  std::vector<double> fine{}, middle{};  ///< at high frequencies, and at those between high and low
};

/// What a layer shows: of its flattest bricks at high frequencies, and of others twice.
struct Level {
  double place, fine, of_more, middle;
};

std::vector<Level> levels_of(const NoiseBricks& energies) {
  constexpr std::size_t fewest = 20;
  const NoiseBands bands(energies.size());
  const std::int64_t plane = energies.size().slice(), depth = energies.size().z;
  std::map<double, Layer> layers;
  for (std::int64_t i = 0; i < energies.count(); ++i) {
    double fine = 0, middle = 0;
    for (std::int64_t k = depth / 2; k < depth; ++k) {
      for (std::int64_t p = 0; p < plane; ++p) {
        const auto at = static_cast<std::size_t>(p);
        if (bands.low[at]) continue;
        (bands.high[at] ? fine : middle) += static_cast<double>(energies.brick(i)[k * plane + p]);
      }
    }
    if (!(fine > 0 && middle > 0)) continue;
    Layer& layer = layers[energies.place(i).z];
    layer.fine.push_back(0.5 * std::log(fine));
    layer.middle.push_back(0.5 * std::log(middle));
  }
  std::vector<Level> levels;
  for (auto& [place, layer] : layers) {
    if (layer.fine.size() < fewest) continue;
    const auto quantile = [](std::vector<double>& values, double share) {
      return quantile_of(std::span(values), share);
    };
    levels.push_back({place, quantile(layer.fine, 0.1), quantile(layer.fine, 0.25), quantile(layer.middle, 0.25)});
  }
  return levels;
}

/// Whether `other` goes with the level at high frequencies: as steeply, and with little besides.
bool goes_along(const std::vector<Level>& levels, double Level::*other) {
  constexpr double least_slope = 0.8, most_slope = 1.2, little = 0.1;  // of the variance
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const Level& level : levels) {
    x += level.fine;
    y += level.*other;
    xx += level.fine * level.fine;
    xy += level.fine * level.*other;
    yy += level.*other * level.*other;
  }
  const auto count = static_cast<double>(levels.size());
  const double varies = xx - x * x / count, together = xy - x * y / count, other_varies = yy - y * y / count;
  const double slope = together / varies;
  return slope > least_slope && slope < most_slope && other_varies - slope * together < little * other_varies;
}

}  // namespace

NoiseAcrossSlices::NoiseAcrossSlices(const NoiseBricks& energies) {
  constexpr std::size_t fewest = 6;
  constexpr double least_range = 0.4;  // of logarithms of sigma
  const std::vector<Level> levels = levels_of(energies);
  if (levels.size() < fewest) return;
  const auto [least, most] = std::ranges::minmax(levels, {}, &Level::fine);
  if (most.fine - least.fine < least_range || !goes_along(levels, &Level::of_more) ||
      !goes_along(levels, &Level::middle)) {
    return;
  }
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
  double sum = 0;
  for (std::int64_t i = 0; i < energies.count(); ++i) sum += std::exp(2 * at(energies.place(i).z));
  mean_ = 0.5 * std::log(sum / static_cast<double>(energies.count()));
  for (std::int64_t i = 0; i < energies.count(); ++i) {
    const auto factor = static_cast<float>(std::exp(2 * (mean_ - at(energies.place(i).z))));
    for (std::int64_t j = 0; j < energies.voxels(); ++j) energies.brick(i)[j] *= factor;
  }
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
