// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/reference_bm4d.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <unordered_map>

namespace quietvox::test {
namespace {

using Values = std::vector<double>;
using Matrix = std::vector<Values>;  // a row for each coefficient

Matrix cosines(int count) {
  Matrix rows(static_cast<std::size_t>(count), Values(static_cast<std::size_t>(count)));
  for (int k = 0; k < count; ++k) {
    for (int n = 0; n < count; ++n) {
      rows[static_cast<std::size_t>(k)][static_cast<std::size_t>(n)] =
          std::sqrt((k == 0 ? 1.0 : 2.0) / count) * std::cos(std::numbers::pi * (n + 0.5) * k / count);
    }
  }
  return rows;
}

/// The sum, then for each length of 2, 4, ... the differences of the halves of all pieces that are so long.
Matrix wavelets(int count) {
  Matrix rows{Values(static_cast<std::size_t>(count), 1)};
  for (int length = count; length > 1; length /= 2) {
    for (int first = 0; first < count; first += length) {
      Values row(static_cast<std::size_t>(count), 0);
      for (int n = 0; n < length; ++n) {
        const int at = first + n;
        row[static_cast<std::size_t>(at)] = n < length / 2 ? 1 : -1;
      }
      rows.push_back(row);
    }
  }
  return rows;
}

double squared_length(const Values& row) { return std::inner_product(row.begin(), row.end(), row.begin(), 0.0); }

/// Of coefficients, a row each along every axis.
Values squared_lengths(const std::vector<Matrix>& axes) {
  Values all{1};
  for (const Matrix& matrix : axes) {
    Values longer;
    for (const Values& row : matrix) {
      for (const double length : all) longer.push_back(length * squared_length(row));
    }
    all = longer;
  }
  return all;
}

/// Values with axes of these lengths, the first fastest, times the matrix of each, or that turned over.
Values transformed(Values values, const std::vector<Matrix>& axes, bool back) {
  std::size_t stride = 1;
  for (const Matrix& matrix : axes) {
    const std::size_t count = matrix.size();
    Values result(values.size(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t place = i / stride % count, line = i - place * stride;
      for (std::size_t n = 0; n < count; ++n) {
        result[i] += (back ? matrix[n][place] : matrix[place][n]) * values[line + stride * n];
      }
    }
    values = result;
    stride *= count;
  }
  return values;
}

/// The nearest multiple of 2^exponent. Which blocks the second stage groups hangs on every bit of the first's result.
double on_grid(double value, int exponent) { return std::ldexp(std::rint(std::ldexp(value, -exponent)), exponent); }

double kaiser(int n, int count) {
  const double place = count > 1 ? 2.0 * n / (count - 1) - 1 : 0;
  return std::cyl_bessel_i(0, 2 * std::sqrt(1 - place * place)) / std::cyl_bessel_i(0, 2.0);
}

std::vector<std::int64_t> references_along(std::int64_t count, int length, int step) {
  std::vector<std::int64_t> places;
  for (std::int64_t place = 0; place <= count - length; place += step) places.push_back(place);
  if (places.back() != count - length) places.push_back(count - length);
  return places;
}

/// Of the noise of coefficient `k` of a block, with that of a block `d` away.
class CovarianceOfBlocks {
 public:
  CovarianceOfBlocks(const NoiseSpectrum& spectrum, const std::vector<Matrix>& axes) : spectrum_(spectrum) {
    for (const Matrix& matrix : axes) {
      std::vector<Values> sums;
      for (const Values& row : matrix) sums.push_back(autocorrelation(row));
      sums_.push_back(sums);
    }
  }

  double operator()(std::size_t k, const Index3& d) {
    const std::size_t x = sums_[0].size(), y = sums_[1].size();
    constexpr std::int64_t most = 64;  // voxels that blocks of a group lie apart
    Values& known = known_[static_cast<std::size_t>((std::abs(d.z) * most + std::abs(d.y)) * most + std::abs(d.x))];
    if (known.empty()) known.assign(x * y * sums_[2].size(), std::numeric_limits<double>::quiet_NaN());
    if (!std::isnan(known[k])) return known[k];
    const Values &of_x = sums_[0][k % x], &of_y = sums_[1][k / x % y], &of_z = sums_[2][k / x / y];
    double sum = 0;
    for_lags(of_x, [&](int i, double by_x) {
      for_lags(of_y, [&](int j, double by_y) {
        for_lags(of_z, [&](int l, double by_z) {
          sum += by_x * by_y * by_z * correlation({d.x + i, d.y + j, d.z + l});
        });
      });
    });
    return known[k] = on_grid(sum, -16);
  }

 private:
  static Values autocorrelation(const Values& row) {
    Values sums(row.size(), 0);
    for (std::size_t lag = 0; lag < row.size(); ++lag) {
      for (std::size_t n = 0; n + lag < row.size(); ++n) sums[lag] += row[n] * row[n + lag] / squared_length(row);
    }
    return sums;
  }

  template <class Body>
  static void for_lags(const Values& sums, const Body& body) {
    const int count = static_cast<int>(sums.size());
    for (int lag = 1 - count; lag < count; ++lag) body(lag, sums[static_cast<std::size_t>(std::abs(lag))]);
  }

  double correlation(const Index3& d) {
    if (std::max({std::abs(d.x), std::abs(d.y), std::abs(d.z)}) > 8) return 0;
    const auto [place, isNew] = correlations_.try_emplace({std::abs(d.x), std::abs(d.y), std::abs(d.z)});
    if (isNew) {
      place->second =
          spectrum_.correlation({static_cast<double>(d.x), static_cast<double>(d.y), static_cast<double>(d.z)});
    }
    return place->second;
  }

  const NoiseSpectrum& spectrum_;
  std::vector<std::vector<Values>> sums_;
  std::map<std::array<std::int64_t, 3>, double> correlations_;
  std::unordered_map<std::size_t, Values> known_;
};

class Reference {
 public:
  Reference(const Volume& in, const Bm4dParams& params)
      : in_(in), params_(params), h_(params.strength * *params.sigma) {
    lengths_ = *params.block == DctBlock::cube ? Radius3{4, 4, 4} : Radius3{8, 8, 1};
    for (int axis = 0; axis < 3; ++axis) {
      while (lengths_[axis] > in.extent[axis]) lengths_[axis] /= 2;
    }
  }

  Volume run() {
    const Volume basic = stage(in_, false);
    return restored(params_.stages == 1 ? basic : stage(basic, true));
  }

 private:
  std::vector<std::size_t> voxels_of(const Index3& block) const {
    std::vector<std::size_t> places;
    for (std::int64_t z = block.z; z < block.z + lengths_.z; ++z) {
      for (std::int64_t y = block.y; y < block.y + lengths_.y; ++y) {
        for (std::int64_t x = block.x; x < block.x + lengths_.x; ++x) {
          places.push_back(static_cast<std::size_t>((z * in_.extent.y + y) * in_.extent.x + x));
        }
      }
    }
    return places;
  }

  /// The blocks of the group of a reference; none where a voxel is missing.
  std::vector<Index3> group_of(const Volume& pilot, const Index3& reference) const {
    const auto number = [&](std::size_t place) {
      return std::rint(static_cast<double>(pilot.voxels[place]) * (16 / h_));
    };
    const Radius3 r = *params_.search_radius;
    const std::vector<std::size_t> own = voxels_of(reference);
    std::vector<std::pair<double, Index3>> blocks;
    for (std::int64_t z = reference.z - r.z; z <= reference.z + r.z; ++z) {
      for (std::int64_t y = reference.y - r.y; y <= reference.y + r.y; ++y) {
        for (std::int64_t x = reference.x - r.x; x <= reference.x + r.x; ++x) {
          if (x < 0 || y < 0 || z < 0 || x + lengths_.x > in_.extent.x || y + lengths_.y > in_.extent.y ||
              z + lengths_.z > in_.extent.z) {
            continue;
          }
          const std::vector<std::size_t> other = voxels_of({x, y, z});
          double distance = 0;
          for (std::size_t i = 0; i < own.size(); ++i) distance += std::pow(number(own[i]) - number(other[i]), 2);
          if (!std::isfinite(distance)) continue;
          blocks.emplace_back(reference == Index3{x, y, z} ? -1 : distance, Index3{x, y, z});
        }
      }
    }
    std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t count = 1;
    while (2 * count <= std::min<std::size_t>(blocks.size(), 16)) count *= 2;
    std::vector<Index3> group;
    if (blocks.empty() || blocks.front().first != -1) return group;
    for (std::size_t i = 0; i < count; ++i) group.push_back(blocks[i].second);
    return group;
  }

  Volume stage(const Volume& pilot, bool second) const {
    Values window;
    for (int z = 0; z < lengths_.z; ++z) {
      for (int y = 0; y < lengths_.y; ++y) {
        for (int x = 0; x < lengths_.x; ++x) {
          window.push_back(kaiser(x, lengths_.x) * kaiser(y, lengths_.y) * kaiser(z, lengths_.z));
        }
      }
    }
    const auto along = [&](int length) { return second ? cosines(length) : wavelets(length); };
    CovarianceOfBlocks covariance(params_.spectrum, {along(lengths_.x), along(lengths_.y), along(lengths_.z)});
    const Triple<double> correlated = params_.spectrum.length();
    const double t = std::clamp(correlated.x * correlated.y * correlated.z - 1, 0.0, 1.0);
    const auto step = [&](int length) { return std::min(params_.quality == Bm4dQuality::best ? 2 : 3, length); };
    Values sums(in_.voxels.size(), 0), weights(in_.voxels.size(), 0);
    for (const std::int64_t z : references_along(in_.extent.z, lengths_.z, step(lengths_.z))) {
      for (const std::int64_t y : references_along(in_.extent.y, lengths_.y, step(lengths_.y))) {
        for (const std::int64_t x : references_along(in_.extent.x, lengths_.x, step(lengths_.x))) {
          const std::vector<Index3> group = group_of(pilot, {x, y, z});
          if (group.empty()) continue;
          Values noisy, estimate;
          for (const Index3& block : group) {
            for (const std::size_t place : voxels_of(block)) {
              noisy.push_back(in_.voxels[place]);
              estimate.push_back(pilot.voxels[place]);
            }
          }
          const std::vector<Matrix> axes{along(lengths_.x), along(lengths_.y), along(lengths_.z),
                                         wavelets(static_cast<int>(group.size()))};
          noisy = transformed(noisy, axes, false);
          estimate = transformed(estimate, axes, false);
          const Values lengths = squared_lengths(axes);
          const double local = params_.map.at({x + lengths_.x / 2, y + lengths_.y / 2, z + lengths_.z / 2}, in_.extent);
          const double threshold = (2.8 + 0.7 * t) * h_ * local, rate = 1 / (h_ * local);
          double squares = 0;
          const std::size_t values = noisy.size() / group.size();
          for (std::size_t i = 0; i < noisy.size(); ++i) {
            const Values& across = axes.back()[i / values];
            double v = 0;
            for (std::size_t a = 0; a < group.size(); ++a) {
              for (std::size_t b = 0; b <= a; ++b) {
                const double both = across[a] * across[b] * (a == b ? 1 : 2);
                const Index3 d{group[a].x - group[b].x, group[a].y - group[b].y, group[a].z - group[b].z};
                if (both != 0) v += both * covariance(i % values, d);
              }
            }
            v = std::max(v / squared_length(across), std::ldexp(1.0, -10));
            const double r = estimate[i] * rate;
            double g = 1;
            if (i > 0 && second) g = r * r / (r * r + (0.7 + 0.8 * t) * v * lengths[i]);
            if (i > 0 && !second && noisy[i] * noisy[i] < threshold * threshold * (v * lengths[i])) g = 0;
            noisy[i] *= (g - 1) / lengths[i];
            squares += g * g * v;
          }
          squares *= local * local;
          const Values changes = transformed(noisy, axes, true);
          for (std::size_t m = 0; m < group.size(); ++m) {
            const std::vector<std::size_t> places = voxels_of(group[m]);
            for (std::size_t i = 0; i < places.size(); ++i) {
              const double weight = window[i] / squares;
              sums[places[i]] += on_grid(weight * changes[m * places.size() + i], std::ilogb(h_) - 27);
              weights[places[i]] += on_grid(weight, -36);
            }
          }
        }
      }
    }
    Volume out = in_;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (weights[i] > 0 && std::isfinite(in_.voxels[i])) {
        double change = sums[i] / weights[i];
        if (second || params_.stages == 1) {
          const double size = std::abs(change) / most_change();  // 1: 5 sigma
          change = std::clamp(change, -most_change(), most_change());
          change *= size <= 1.4 ? 1 : size >= 1.8 ? 0 : (1.8 - size) / 0.4;
        }
        out.voxels[i] = static_cast<float>(static_cast<double>(in_.voxels[i]) + change);
      }
      out.voxels[i] += 0.0F;
    }
    return out;
  }

  double most_noise() const { return std::max(params_.strength, 1.0) * *params_.sigma; }
  double most_change() const { return 5 * most_noise() * *std::ranges::max_element(params_.map.values); }

  /// With what is no noise put back.
  Volume restored(const Volume& filtered) const {
    const Extent& extent = in_.extent;
    const auto at = [&](const Index3& p) { return static_cast<std::size_t>((p.z * extent.y + p.y) * extent.x + p.x); };
    const auto taken = [&](const Index3& p) {
      for (int axis = 0; axis < 3; ++axis) {
        if (p[axis] < 0 || p[axis] >= extent[axis]) return 0.0;
      }
      const double noisy = in_.voxels[at(p)];
      return std::isfinite(noisy) ? noisy - static_cast<double>(filtered.voxels[at(p)]) : 0;
    };
    std::vector<Index3> box;
    for (std::int64_t z = 0; z < std::min(lengths_.z, 2); ++z) {
      for (std::int64_t y = 0; y < std::min(lengths_.y, 2); ++y) {
        for (std::int64_t x = 0; x < std::min(lengths_.x, 2); ++x) box.push_back({x, y, z});
      }
    }
    const auto voxels = static_cast<double>(box.size());
    double variance = 0;
    for (const Index3& a : box) {
      for (const Index3& b : box) {
        variance += params_.spectrum.correlation({static_cast<double>(a.x - b.x), static_cast<double>(a.y - b.y),
                                                  static_cast<double>(a.z - b.z)}) /
                    (voxels * voxels);
      }
    }
    const double error = most_noise() * std::sqrt(std::max(variance, 1 / voxels));
    Volume out = filtered;
    for (std::int64_t z = 0; z < extent.z; ++z) {
      for (std::int64_t y = 0; y < extent.y; ++y) {
        for (std::int64_t x = 0; x < extent.x; ++x) {
          if (taken({x, y, z}) == 0) continue;
          double highest = 0, lowest = 0;
          for (const Index3& place : box) {  // of the voxel in the box
            double sum = 0;
            std::array<double, 3> halves{};
            for (const Index3& other : box) {
              const double d = taken({x - place.x + other.x, y - place.y + other.y, z - place.z + other.z});
              sum += d;
              for (int axis = 0; axis < 3; ++axis) halves[axis] += other[axis] == place[axis] ? d : 0;
            }
            if (sum == 0) continue;
            const auto part = [&](double half) { return std::clamp(8 * half / sum - 1.5, 0.0, 1.0); };
            const double mean = sum / voxels * std::min({part(halves[0]), part(halves[1]), part(halves[2])});
            highest = std::max(highest, mean);
            lowest = std::min(lowest, mean);
          }
          const double local = error * params_.map.at({x, y, z}, extent);
          const auto significant = [&](double mean) {
            return mean * std::clamp(std::abs(mean) / local - 4.5, 0.0, 1.0);
          };
          const double change = significant(highest) + significant(lowest) - taken({x, y, z});
          const double noisy = in_.voxels[at({x, y, z})];
          double low = std::numeric_limits<double>::infinity(), high = -low;
          for (std::int64_t near_y = std::max<std::int64_t>(y - 1, 0); near_y < std::min(y + 2, extent.y); ++near_y) {
            for (std::int64_t near_x = std::max<std::int64_t>(x - 1, 0); near_x < std::min(x + 2, extent.x); ++near_x) {
              const double near = filtered.voxels[at({near_x, near_y, z})];
              low = near < low ? near : low;
              high = near > high ? near : high;
            }
          }
          const double noise = most_noise() * params_.map.at({x, y, z}, extent);
          const double share = std::clamp((high - low) / noise / 4 - 1.5, 0.0, 1.0);
          const double most = std::lerp(most_change(), 2 * noise, share);
          out.voxels[at({x, y, z})] = static_cast<float>(noisy + std::clamp(change, -most, most));
        }
      }
    }
    return out;
  }

  const Volume& in_;
  const Bm4dParams& params_;
  double h_;
  Radius3 lengths_;
};

}  // namespace

Volume reference_bm4d(const Volume& in, const Bm4dParams& params) {
  if (params.strength * *params.sigma > 0) return Reference(in, params).run();
  Volume out = in;
  for (float& voxel : out.voxels) voxel += 0.0F;
  return out;
}

}  // namespace quietvox::test
