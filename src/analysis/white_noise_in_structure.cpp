// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/white_noise_in_structure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/median_of.hpp"

namespace quietvox {
namespace {

constexpr std::int64_t side = 6;       // of a piece, in voxels
constexpr std::size_t rows = 4;        // of its cosine transform: the second and the third pair of frequencies
constexpr std::int64_t energies = 4;   // of a pair along x and along y
constexpr double quietest_few = 0.05;  // of the pieces
constexpr double quiet_many = 0.25;

/// Mean energies of pieces, one number a piece, and the values in their middle.
struct PieceEnergies {
  std::vector<double> middle;  ///< at a third to two thirds of the highest frequency, along x and along y
  std::vector<double> fine;    ///< at the last third
  std::vector<double> value;
};

using Basis = std::array<std::array<double, side>, rows>;

Basis cosines() {
  Basis basis{};
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t i = 0; i < side; ++i) {
      const double angle = std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(k + 2) / side;
      basis[k][i] = std::sqrt(2.0 / side) * std::cos(angle);
    }
  }
  return basis;
}

/// Of all pieces within the layers of bricks; those with missing voxels are left out. Cosines are taken of differences,
/// which changes nothing but rounding, so that a piece of one value has no energy at all.
PieceEnergies energies_of_pieces(const NoiseBricks& bricks) {
  const Basis basis = cosines();
  const Extent& size = bricks.size();
  PieceEnergies result;
  std::vector<std::array<double, rows>> along_x(static_cast<std::size_t>(size.y));
  const auto mean_energy = [&](std::int64_t y, std::size_t first) {
    double sum = 0;
    const std::array<double, rows>& of_first = along_x[static_cast<std::size_t>(y)];
    for (std::size_t k = first; k < first + 2; ++k) {
      for (std::size_t l = first; l < first + 2; ++l) {
        double coefficient = 0;
        for (std::size_t i = 0; i < side; ++i) {
          coefficient += basis[l][i] * (along_x[static_cast<std::size_t>(y) + i][k] - of_first[k]);
        }
        sum += coefficient * coefficient;
      }
    }
    return sum / static_cast<double>(energies);
  };
  for (std::int64_t layer = 0; layer < bricks.count() * size.z; ++layer) {
    const float* const voxels = bricks.brick(0) + layer * size.slice();
    for (std::int64_t x = 0; x + side <= size.x; ++x) {
      for (std::int64_t y = 0; y < size.y; ++y) {
        for (std::size_t k = 0; k < rows; ++k) {
          double sum = 0;
          const float* const row = voxels + y * size.x + x;
          for (std::size_t i = 0; i < side; ++i) sum += basis[k][i] * static_cast<double>(row[i] - row[0]);
          along_x[static_cast<std::size_t>(y)][k] = sum;
        }
      }
      for (std::int64_t y = 0; y + side <= size.y; ++y) {
        const double middle = mean_energy(y, 0), fine = mean_energy(y, 2);
        if (!std::isfinite(middle) || !std::isfinite(fine)) continue;
        result.middle.push_back(middle);
        result.fine.push_back(fine);
        result.value.push_back(static_cast<double>(voxels[(y + side / 2) * size.x + x + side / 2]));
      }
    }
  }
  return result;
}

/// Whether the quietest pieces are much darker than usual ones: then their noise may be weaker, too.
bool are_quietest_dark(const PieceEnergies& pieces, double level) {
  constexpr double much = 0.67;
  std::vector<std::size_t> order(pieces.fine.size());
  std::iota(order.begin(), order.end(), 0);
  const auto quietest = order.begin() + static_cast<std::ptrdiff_t>(quietest_few * static_cast<double>(order.size()));
  std::nth_element(order.begin(), quietest, order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces.fine[a] < pieces.fine[b]; });
  std::vector<double> of_quietest, all = pieces.value;
  for (auto piece = order.begin(); piece != quietest; ++piece) of_quietest.push_back(pieces.value[*piece]);
  return median_of<double>(of_quietest) - level < much * (median_of<double>(all) - level);
}

/// How the variances of pieces are distributed: the mean of four squares of normal numbers scatters about the variance
/// of its piece, and this scatter is taken out, on a grid of logarithms (Richardson 1972, Lucy 1974).
class Variances {
 public:
  explicit Variances(std::vector<double> energy) {
    const auto positive = std::partition(energy.begin(), energy.end(), [](double value) { return value > 0; });
    const auto nothing = static_cast<double>(energy.end() - positive);
    if (!(nothing < quietest_few * static_cast<double>(energy.size()))) return;
    energy.erase(positive, energy.end());
    for (double& value : energy) value = std::log(value);
    middle_ = median_of<double>(energy);
    Histogram observed{};
    for (const double log : energy) {
      const double bin = std::nearbyint((std::clamp(log - middle_, lowest, highest) - lowest) / step);
      ++observed[static_cast<std::size_t>(bin)];
    }
    distribution_ = without_chance(observed);
    is_known_ = true;
  }

  /// Root of the variance below which this share of the pieces lies, so that it is sigma for pieces of noise. 0 if it
  /// is not known.
  double sigma_of(double share) const {
    if (!is_known_) return 0;
    static const Histogram of_noise = without_chance(chance());
    return std::exp(0.5 * (quantile(distribution_, share) - quantile(of_noise, share) + middle_));
  }

 private:
  static constexpr double lowest = -8, highest = 6, step = 0.1;  // logarithms relative to the median
  static constexpr std::size_t bins = 141, zero = 80;
  using Histogram = std::array<double, bins>;

  /// How the logarithms of energies are distributed where there is white noise of variance 1 alone.
  static Histogram chance() {
    const auto share_below = [](double log) {
      const double half = 0.5 * static_cast<double>(energies) * std::exp(log);
      return 1 - std::exp(-half) * (1 + half);  // chi squared with four degrees of freedom
    };
    Histogram result{};
    for (std::size_t i = 0; i < bins; ++i) {
      const double log = lowest + step * static_cast<double>(i);
      result[i] = share_below(log + 0.5 * step) - share_below(log - 0.5 * step);
    }
    return result;
  }

  static Histogram without_chance(const Histogram& observed) {
    constexpr int iterations = 100;
    static const Histogram scatter = chance();
    Histogram distribution;
    distribution.fill(1.0 / static_cast<double>(bins));
    for (int iteration = 0; iteration < iterations; ++iteration) {
      Histogram expected{}, correction{};
      for (std::size_t j = 0; j < bins; ++j) {
        const auto [first, last] = reach(j);
        for (std::size_t i = first; i < last; ++i) expected[i + j - zero] += distribution[i] * scatter[j];
      }
      for (std::size_t i = 0; i < bins; ++i) expected[i] = observed[i] > 0 ? observed[i] / expected[i] : 0;
      for (std::size_t j = 0; j < bins; ++j) {
        const auto [first, last] = reach(j);
        for (std::size_t i = first; i < last; ++i) correction[i] += expected[i + j - zero] * scatter[j];
      }
      double sum = 0;
      for (std::size_t i = 0; i < bins; ++i) {
        distribution[i] *= correction[i];
        sum += distribution[i];
      }
      for (double& share : distribution) share /= sum;
    }
    return distribution;
  }

  struct Reach {
    std::size_t first, last;
  };
  /// The bins from which this bin of the scatter reaches another one.
  static Reach reach(std::size_t bin) { return {bin < zero ? zero - bin : 0, std::min(bins, bins + zero - bin)}; }

  static double quantile(const Histogram& distribution, double share) {
    double below = 0;
    for (std::size_t i = 0; i < bins; ++i) {
      if (below + distribution[i] >= share) {
        return lowest + step * (static_cast<double>(i) - 0.5 + (share - below) / distribution[i]);
      }
      below += distribution[i];
    }
    return highest;
  }

  bool is_known_ = false;
  double middle_ = 0;  ///< median of the logarithms
  Histogram distribution_{};
};

}  // namespace

double white_noise_in_structure(const NoiseBricks& bricks, double level) {
  constexpr std::int64_t fewest = 50;  // bricks
  constexpr std::size_t fewest_pieces = 1000;
  constexpr double fall = 3.2;   // of structure from the middle frequencies to the fine ones: heads have 2.3 to 5.9
  constexpr double least = 0.5;  // of what the quietest pieces show: more is not taken off
  constexpr double steep = 2, uniform = 1.25;
  if (bricks.count() < fewest || bricks.size().x < side || bricks.size().y < side) return 0;
  PieceEnergies pieces = energies_of_pieces(bricks);
  if (pieces.fine.size() < fewest_pieces || are_quietest_dark(pieces, level)) return 0;
  const Variances fine_variances(std::move(pieces.fine));
  const double fine = fine_variances.sigma_of(quietest_few);
  const double middle = Variances(std::move(pieces.middle)).sigma_of(quietest_few);
  if (!(fine > 0)) return 0;
  // Noise, which is the same in all pieces, but weaker at fine frequencies, is not white.
  if (middle > steep * fine && fine_variances.sigma_of(quiet_many) < uniform * fine) return 0;
  // middle^2 = sigma^2 + (fall * structure)^2, fine^2 = sigma^2 + structure^2
  const double structure = std::sqrt(std::max(middle * middle - fine * fine, 0.0) / (fall * fall - 1));
  if (structure >= fine) return 0;
  return std::max(std::sqrt(fine * fine - structure * structure), least * fine);
}

}  // namespace quietvox
