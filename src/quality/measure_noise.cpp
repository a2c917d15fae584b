// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "quality/measure_noise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <iterator>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>

#include "quality/noise_estimate.hpp"
#include "quality/rician.hpp"

namespace quietvox {
namespace {

constexpr double kLeastFloor = 0.5;                   // of noise, which has about 0.8; less is structure
constexpr double kMixed = 0.8;                        // flatness below which structure shows among the noise
constexpr double kNormalMedian = 0.6744897501960817;  // median absolute value of a standard normal number

double square(double value) { return value * value; }

/// In eight sums, which the compiler can hold in one register.
double weighted_sum(const float* weights, const float* values, std::size_t count) {
  std::array<float, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += weights[i + j] * values[i + j];
  }
  for (std::size_t j = 0; i < count; ++i, ++j) sums[j] += weights[i] * values[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// Of voxels that are not missing.
float smallest(const float* voxels, std::int64_t count) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::array<float, 8> least;
  least.fill(infinity);
  const auto take = [](float value, float& so_far) { so_far = value < so_far && value > -infinity ? value : so_far; };
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) take(voxels[i + static_cast<std::int64_t>(j)], least[j]);
  }
  for (; i < count; ++i) take(voxels[i], least[0]);
  return *std::min_element(least.begin(), least.end());
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

/// Bricks of one size from all over a volume, each voxel beside the next along x, then y, then z. Those that are mostly
/// background, of one value, are known by their means only.
class Bricks {
 public:
  /// Voxels of a brick lie `apart` from each other in the plane of a slice.
  Bricks(VolumeSource& source, VolumeSource* neighbour, std::int64_t apart);

  std::int64_t count() const { return std::ssize(places_); }
  const Extent& size() const { return size_; }
  std::int64_t voxels() const { return size_.voxels(); }
  float* brick(std::int64_t i) { return voxels_.data() + i * voxels(); }
  const float* brick(std::int64_t i) const { return voxels_.data() + i * voxels(); }
  /// Mean of the volume there, which is not that of the brick where the brick is a difference.
  double mean(std::int64_t i) const { return means_[static_cast<std::size_t>(i)]; }
  /// Of the brick's centre: -1 at the first voxel of an axis, 1 at the last.
  Triple<double> place(std::int64_t i) const;
  const Extent& extent() const { return extent_; }

  struct Background {
    double mean;
    bool constant;
    std::uint32_t hash;
  };
  const std::vector<Background>& background() const { return background_; }
  float lowest() const { return lowest_; }

  /// Keeps the bricks for which `wanted(i)` is true.
  template <class Wanted>
  void keep(const Wanted& wanted);

 private:
  /// Bricks that begin at the same slice.
  struct Layer {
    std::int64_t z;
    std::vector<Index3> places;
    std::vector<std::uint32_t> hashes;
    std::vector<float> voxels;
  };
  Layer make_layer(std::int64_t index) const;
  void add(const Layer&);
  void thin();
  void subtract(VolumeSource& neighbour);

  Extent extent_, size_, grid_;
  std::int64_t apart_;
  std::uint64_t limit_ = 0;  ///< bricks of lower hash are looked at
  std::vector<Index3> places_;
  std::vector<std::uint32_t> hashes_;
  std::vector<float> voxels_;
  std::vector<double> means_;
  std::vector<Background> background_;
  float lowest_ = std::numeric_limits<float>::infinity();
};

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

constexpr std::size_t kMostBricks = std::size_t{1} << 13;

Bricks::Bricks(VolumeSource& source, VolumeSource* neighbour, std::int64_t apart)
    : extent_(source.extent()), apart_(apart) {
  const bool plane = extent_.x > 1 && extent_.y > 1;
  const Triple<std::int64_t> most = plane ? Triple<std::int64_t>{8, 8, 4} : Triple<std::int64_t>{32, 32, 8};
  constexpr std::uint64_t most_looked_at = 4 * kMostBricks;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t between = axis < 2 ? apart : 1;
    size_[axis] = std::min(most[axis], extent_[axis]);
    grid_[axis] = (extent_[axis] - (size_[axis] - 1) * between - 1) / stride_of(size_[axis]) + 1;
  }
  limit_ = (std::min(most_looked_at, static_cast<std::uint64_t>(grid_.voxels())) << 32) /
           static_cast<std::uint64_t>(grid_.voxels());
  std::deque<Layer> layers;  // that are not yet complete
  std::int64_t next = 0;
  for_each_slab(source, [&](const VolumeView<const float>& slab) {
    const std::int64_t end = slab.origin.z + slab.extent.z;
    while (next < grid_.z && next * stride_of(size_.z) < end) layers.push_back(make_layer(next++));
    for (Layer& layer : layers) {
      for_each_voxel(slab, layer.places, size_, apart_, layer.voxels.data(), [](float from, float& to) { to = from; });
    }
    while (!layers.empty() && layers.front().z + size_.z <= end) {
      add(layers.front());
      layers.pop_front();
    }
  });
  if (neighbour != nullptr) subtract(*neighbour);
}

Bricks::Layer Bricks::make_layer(std::int64_t index) const {
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

void Bricks::add(const Layer& layer) {
  constexpr double most_background = 0.25;
  for (std::size_t i = 0; i < layer.places.size(); ++i) {
    if (layer.hashes[i] >= limit_) continue;
    const float* const begin = layer.voxels.data() + static_cast<std::int64_t>(i) * voxels();
    const float least = smallest(begin, voxels());
    lowest_ = std::min(lowest_, least);
    const auto background = std::count(begin, begin + voxels(), least);
    if (static_cast<double>(background) > most_background * static_cast<double>(voxels())) {
      background_.push_back({mean_of_finite(begin, voxels()), background == voxels(), layer.hashes[i]});
      continue;
    }
    places_.push_back(layer.places[i]);
    hashes_.push_back(layer.hashes[i]);
    means_.push_back(mean_of_finite(begin, voxels()));
    voxels_.insert(voxels_.end(), begin, begin + voxels());
    if (places_.size() > kMostBricks) thin();
  }
}

void Bricks::thin() {
  limit_ /= 2;
  keep([&](std::int64_t i) { return hashes_[static_cast<std::size_t>(i)] < limit_; });
  std::erase_if(background_, [&](const Background& one) { return one.hash >= limit_; });
}

void Bricks::subtract(VolumeSource& neighbour) {
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
}

Triple<double> Bricks::place(std::int64_t i) const {
  Triple<double> result;
  for (int axis = 0; axis < 3; ++axis) {
    const double middle = static_cast<double>(places_[static_cast<std::size_t>(i)][axis]) +
                          0.5 * static_cast<double>((size_[axis] - 1) * (axis < 2 ? apart_ : 1));
    result[axis] = extent_[axis] > 1 ? 2 * middle / static_cast<double>(extent_[axis] - 1) - 1 : 0;
  }
  return result;
}

template <class Wanted>
void Bricks::keep(const Wanted& wanted) {
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count(); ++i) {
    if (!wanted(i)) continue;
    if (kept != i) {
      std::copy(brick(i), brick(i) + voxels(), brick(kept));
      places_[static_cast<std::size_t>(kept)] = places_[static_cast<std::size_t>(i)];
      hashes_[static_cast<std::size_t>(kept)] = hashes_[static_cast<std::size_t>(i)];
      means_[static_cast<std::size_t>(kept)] = means_[static_cast<std::size_t>(i)];
    }
    ++kept;
  }
  places_.resize(static_cast<std::size_t>(kept));
  hashes_.resize(static_cast<std::size_t>(kept));
  means_.resize(static_cast<std::size_t>(kept));
  voxels_.resize(static_cast<std::size_t>(kept * voxels()));
}

/// Changes the order of the values.
template <class T>
double median(std::span<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

struct Impulses {
  double share = 0;
  std::vector<float> atoms;  ///< values that many of them have
  bool all_are_atoms = false;
};

/// Voxels that are missing or stand out from their neighbours in the slice by more than noise does give way to the mean
/// of the neighbours that do not.
class Repair {
 public:
  explicit Repair(const Extent& size) : size_(size), slice_(static_cast<std::size_t>(size.slice())) {}

  /// Share of the voxels of a brick that stand out: whose four nearest neighbours by value are together more than eight
  /// times as far away as is usual in the brick (rank-ordered absolute differences, Garnett et al. 2005), and four
  /// times as far as is usual around them, where edges and lines are no rarity.
  double standing_out(const float* brick) {
    flag(brick, {});
    return usual_ > 0 ? share() : 0;
  }

  /// Mends a brick in place. Returns the share of voxels that were.
  double mend(float* brick, const Impulses& impulses) {
    if (impulses.share > 0) {
      flag(brick, impulses);
    } else if (std::all_of(brick, brick + size_.voxels(), [](float value) { return std::isfinite(value); })) {
      return 0;
    } else {
      flags_.assign(static_cast<std::size_t>(size_.voxels()), false);
      for (std::size_t i = 0; i < flags_.size(); ++i) flags_[i] = !std::isfinite(brick[i]);
    }
    const double result = share();
    if (result == 0 || result > most) return result;
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < flags_.size(); ++i) {
      if (flags_[i]) continue;
      sum += static_cast<double>(brick[i]);
      ++count;
    }
    for (std::int64_t z = 0; z < size_.z; ++z) {
      float* slice = brick + z * size_.slice();
      std::copy(slice, slice + size_.slice(), slice_.begin());
      for (std::int64_t i = 0; i < size_.slice(); ++i) {
        if (!flags_[static_cast<std::size_t>(z * size_.slice() + i)]) continue;
        double around = 0, neighbours = 0;
        for_each_neighbour(i, [&](std::int64_t j) {
          if (flags_[static_cast<std::size_t>(z * size_.slice() + j)]) return;
          around += static_cast<double>(slice_[static_cast<std::size_t>(j)]);
          ++neighbours;
        });
        slice[i] = static_cast<float>(neighbours > 0 ? around / neighbours : sum / count);
      }
    }
    return result;
  }

  /// Bricks of which more is missing or impulse are of no use.
  static constexpr double most = 0.45;

 private:
  template <class Body>
  void for_each_neighbour(std::int64_t i, const Body& body) const {
    const std::int64_t x = i % size_.x, y = i / size_.x;
    for (std::int64_t b = std::max<std::int64_t>(y - 1, 0); b <= std::min(y + 1, size_.y - 1); ++b) {
      for (std::int64_t a = std::max<std::int64_t>(x - 1, 0); a <= std::min(x + 1, size_.x - 1); ++a) {
        if (a != x || b != y) body(b * size_.x + a);
      }
    }
  }

  void flag(const float* brick, const Impulses& impulses) {
    constexpr std::size_t nearest = 4;
    const auto voxels = static_cast<std::size_t>(size_.voxels());
    distances_.assign(voxels, 0);
    for (std::size_t i = 0; i < voxels; ++i) {
      const float* slice = brick + static_cast<std::int64_t>(i) / size_.slice() * size_.slice();
      std::array<float, 8> differences;
      std::size_t count = 0;
      for_each_neighbour(static_cast<std::int64_t>(i) % size_.slice(), [&](std::int64_t j) {
        const float difference = std::abs(slice[j] - brick[i]);
        if (std::isfinite(difference)) differences[count++] = difference;
      });
      const std::size_t taken = std::min(nearest, count);
      std::partial_sort(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(taken),
                        differences.begin() + static_cast<std::ptrdiff_t>(count));
      for (std::size_t k = 0; k < taken; ++k) distances_[i] += differences[k] / static_cast<float>(taken);
    }
    sorted_ = distances_;
    const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(voxels / 2);
    std::nth_element(sorted_.begin(), middle, sorted_.end());
    usual_ = *middle;
    flags_.resize(voxels);
    for (std::size_t i = 0; i < voxels; ++i) {
      flags_[i] = !std::isfinite(brick[i]) || (!impulses.all_are_atoms && stands_out(i)) ||
                  std::find(impulses.atoms.begin(), impulses.atoms.end(), brick[i]) != impulses.atoms.end();
    }
  }

  bool stands_out(std::size_t i) const {
    constexpr float over_usual = 8, over_neighbours = 4;
    if (distances_[i] <= over_usual * usual_) return false;
    std::array<float, 8> around;
    std::size_t count = 0;
    const float* slice = distances_.data() + static_cast<std::int64_t>(i) / size_.slice() * size_.slice();
    for_each_neighbour(static_cast<std::int64_t>(i) % size_.slice(),
                       [&](std::int64_t j) { around[count++] = slice[j]; });
    return static_cast<double>(distances_[i]) > over_neighbours * median(std::span(around).first(count));
  }

  double share() const {
    return static_cast<double>(std::count(flags_.begin(), flags_.end(), true)) / static_cast<double>(flags_.size());
  }

  Extent size_;
  float usual_ = 0;
  std::vector<bool> flags_;
  std::vector<float> slice_, distances_, sorted_;
};

/// Values that are far more frequent than those next to them, as salt and pepper are and quantised noise is not.
std::vector<float> atoms_of(std::vector<float> values) {
  constexpr std::ptrdiff_t times = 3;
  constexpr double least_share = 0.005;
  const double least = least_share * static_cast<double>(values.size());
  std::sort(values.begin(), values.end());
  std::vector<std::pair<float, std::ptrdiff_t>> runs;
  for (auto begin = values.begin(); begin != values.end();) {
    const auto end = std::upper_bound(begin, values.end(), *begin);
    runs.emplace_back(*begin, end - begin);
    begin = end;
  }
  std::vector<float> atoms;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::ptrdiff_t before = i > 0 ? runs[i - 1].second : 0, after = i + 1 < runs.size() ? runs[i + 1].second : 0;
    if (static_cast<double>(runs[i].second) > least && runs[i].second > times * std::max(before, after)) {
      atoms.push_back(runs[i].first);
    }
  }
  return atoms;
}

Impulses find_impulses(const Bricks& bricks, const std::vector<std::int64_t>& chosen) {
  constexpr std::size_t most_bricks = 128;
  constexpr double fewest = 0.015;
  Repair repair(bricks.size());
  const std::size_t stride = std::max<std::size_t>(chosen.size() / most_bricks, 1);
  std::vector<double> shares;
  std::vector<float> values;
  for (std::size_t i = 0; i < chosen.size(); i += stride) {
    const float* const brick = bricks.brick(chosen[i]);
    shares.push_back(repair.standing_out(brick));
    std::copy_if(brick, brick + bricks.voxels(), std::back_inserter(values), [](float v) { return std::isfinite(v); });
  }
  Impulses impulses;
  if (median(std::span(shares)) < fewest) return impulses;
  impulses.share = std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(shares.size());
  const auto atoms_share = [&] {
    double hits = 0;
    for (const float atom : impulses.atoms) hits += static_cast<double>(std::count(values.begin(), values.end(), atom));
    return hits / static_cast<double>(values.size());
  };
  impulses.atoms = atoms_of(values);
  impulses.all_are_atoms = atoms_share() > 0.5 * impulses.share;
  return impulses;
}

/// The step of which all voxels are multiples; 0 where there is none that shows.
double quantisation_step(const Bricks& bricks) {
  constexpr std::size_t most_values = std::size_t{1} << 14;
  std::vector<float> values;
  const std::int64_t all = bricks.count() * bricks.voxels();
  const std::int64_t stride = all / static_cast<std::int64_t>(most_values) + 1;
  for (std::int64_t i = 0; i < all; i += stride) {
    if (std::isfinite(bricks.brick(0)[i])) values.push_back(bricks.brick(0)[i]);
  }
  const std::size_t sampled = values.size();
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() < 2 || 4 * values.size() > sampled) return 0;
  double step = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < values.size(); ++i) {
    step = std::min(step, static_cast<double>(values[i]) - static_cast<double>(values[i - 1]));
  }
  std::size_t multiples = 0;
  for (const float value : values) {
    const double steps = (static_cast<double>(value) - static_cast<double>(values.front())) / step;
    multiples += std::abs(steps - std::nearbyint(steps)) < 0.05;
  }
  return 10 * multiples >= 9 * values.size() ? step : 0;
}

/// Squared coefficients of an orthonormal discrete cosine transform of type 2: bricks of energies.
class Cosine {
 public:
  explicit Cosine(const Extent& size) : size_(size) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t n = size[axis];
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < n; ++k) {
          const double angle =
              std::numbers::pi * (static_cast<double>(i) + 0.5) * static_cast<double>(k) / static_cast<double>(n);
          const double scale = std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(n));
          basis_[static_cast<std::size_t>(axis)].push_back(static_cast<float>(scale * std::cos(angle)));
        }
      }
    }
  }

  /// In place.
  void energies(float* brick) const {
    std::array<float, 256> other{};
    const std::int64_t slice = size_.slice();
    for (std::int64_t row = 0; row < size_.y * size_.z; ++row) {
      transform(brick + row * size_.x, other.data() + row * size_.x, basis_[0], size_.x, 1);
    }
    for (std::int64_t z = 0; z < size_.z; ++z) {
      transform(other.data() + z * slice, brick + z * slice, basis_[1], size_.y, size_.x);
    }
    transform(brick, other.data(), basis_[2], size_.z, slice);
    for (std::int64_t i = 0; i < size_.voxels(); ++i) {
      const float value = other[static_cast<std::size_t>(i)];
      brick[i] = value * value;
    }
  }

 private:
  /// Along an axis of `count` samples, `width` lines at once that lie side by side.
  static void transform(const float* in, float* out, const std::vector<float>& basis, std::int64_t count,
                        std::int64_t width) {
    if (count == 8 && width == 1) return transform<8, 1>(in, out, basis.data());
    if (count == 8 && width == 8) return transform<8, 8>(in, out, basis.data());
    if (count == 4 && width == 64) return transform<4, 64>(in, out, basis.data());
    transform_any(in, out, basis.data(), count, width);
  }
  template <std::int64_t count, std::int64_t width>
  static void transform(const float* in, float* out, const float* basis) {
    transform_any(in, out, basis, count, width);
  }
  [[gnu::always_inline]] static void transform_any(const float* in, float* out, const float* basis, std::int64_t count,
                                                   std::int64_t width) {
    std::fill(out, out + count * width, 0.0F);
    for (std::int64_t i = 0; i < count; ++i) {
      const float* const weights = basis + i * count;
      for (std::int64_t k = 0; k < count; ++k) {
        for (std::int64_t j = 0; j < width; ++j) out[k * width + j] += weights[k] * in[i * width + j];
      }
    }
  }

  Extent size_;
  std::array<std::vector<float>, 3> basis_;
};

/// Which in-plane frequencies are used for what.
struct Bands {
  std::vector<bool> lowest;  ///< at which no brick is flat
  std::vector<bool> next;    ///< beside the lowest
  std::vector<bool> after_next;
  std::vector<bool> low;  ///< at which structure is strong
  std::vector<bool> high;
  std::vector<std::size_t> by_frequency;  ///< all, in ascending order

  explicit Bands(const Extent& size) {
    const bool plane = size.x > 1 && size.y > 1;
    std::vector<std::int64_t> order;
    for (std::int64_t y = 0; y < size.y; ++y) {
      for (std::int64_t x = 0; x < size.x; ++x) {
        const std::int64_t k = x * 8 / size.x + y * 8 / size.y;  // in units of 1 / 16 cycles per voxel
        order.push_back(k);
        lowest.push_back(k <= 2);
        next.push_back(k == 3);
        after_next.push_back(k == 4 || k == 5);
        low.push_back(k <= 5);
        high.push_back(k >= (plane ? 7 : 5));
      }
    }
    by_frequency.resize(order.size());
    std::iota(by_frequency.begin(), by_frequency.end(), std::size_t{0});
    std::stable_sort(by_frequency.begin(), by_frequency.end(),
                     [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
  }
};

/// Standard normal quantile.
double normal_quantile(double probability) {
  double low = -8, high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::numbers::sqrt2) < probability ? low : high) = middle;
  }
  return low;
}

/// Mean of the smallest `share` of numbers that are chi squared with `freedom` degrees, over the mean of all (Wilson
/// and Hilferty 1931).
double mean_of_smallest(double share, double freedom) {
  if (share >= 1) return 1;
  const double spread = 2 / (9 * freedom);
  const double quantile = std::pow(1 - spread + normal_quantile(share) * std::sqrt(spread), 3);
  const double wider = 2 / (9 * (freedom + 2));
  const double z = (std::cbrt(quantile * freedom / (freedom + 2)) - (1 - wider)) / std::sqrt(wider);
  return 0.5 * std::erfc(-z / std::numbers::sqrt2) / share;
}

/// Cubic polynomials of a place.
constexpr std::size_t kTerms = 20;
using Terms = std::array<double, kTerms>;
Terms terms_at(const Triple<double>& place) {
  Terms terms{};
  std::size_t i = 0;
  double x = 1;
  for (int a = 0; a <= 3; ++a, x *= place.x) {
    double xy = x;
    for (int b = 0; a + b <= 3; ++b, xy *= place.y) {
      double xyz = xy;
      for (int c = 0; a + b + c <= 3; ++c, xyz *= place.z) terms[i++] = xyz;
    }
  }
  return terms;
}
double product(const Terms& a, const Terms& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Solves a positive definite system in place (Cholesky).
void solve(std::array<Terms, kTerms>& matrix, Terms& right) {
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = kTerms; i-- > 0;) {
    for (std::size_t k = i + 1; k < kTerms; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
}

/// The noise in bricks of energies.
class Estimator {
 public:
  /// Chooses a share of the bricks, the flattest; corrects for that as if another share of all were flat,
  /// or twice the chosen ones. Mended voxels
  /// spoil the highest frequencies.
  Estimator(const Bricks& energies, double share, double flat, bool mended)
      : energies_(energies),
        bands_(energies.size()),
        bricks_(static_cast<std::size_t>(energies.count())),
        plane_(static_cast<std::size_t>(energies.size().slice())),
        depth_(static_cast<std::size_t>(energies.size().z)),
        chosen_(std::max(static_cast<std::size_t>(share * static_cast<double>(bricks_)),
                         std::min(fewest, (bricks_ + 2) / 3))),
        chosen_share_(std::min(0.5, static_cast<double>(chosen_) / (flat * static_cast<double>(bricks_)))),
        mended_(mended),
        level_(bricks_, 1),
        in_plane_(plane_),
        across_(depth_, 1) {
    for (std::size_t i = 0; i < bricks_; ++i) {
      terms_.push_back(terms_at(energies.place(static_cast<std::int64_t>(i))));
    }
  }

  void run() {
    constexpr int rounds = 5, rounds_with_map = 3;
    std::vector<double> energy(bricks_);
    for (std::size_t i = 0; i < bricks_; ++i) {
      for (std::size_t k = 0; k < depth_; ++k) {
        for (std::size_t p = 0; p < plane_; ++p) energy[i] += bands_.lowest[p] ? 0 : at(i, k, p);
      }
    }
    choose(energy);
    correction_ = 1;
    for (int round = 0; round < rounds + rounds_with_map; ++round) {
      fit_spectrum();
      const Whitened whitened = whiten();
      if (round + 1 >= rounds) fit_map(whitened);
      for (std::size_t i = 0; i < bricks_; ++i) energy[i] = whitened.energy[i] / level_[i];
      choose(energy);
      correction_ = 1 / mean_of_smallest(chosen_share_, whitened.freedom);
    }
    floor_ = floor_of(std::move(energy));
    fit_spectrum();
    bound_lowest();
  }

  double variance() const {
    return std::accumulate(in_plane_.begin(), in_plane_.end(), 0.0) / static_cast<double>(plane_);
  }
  const std::vector<std::size_t>& chosen() const { return order_; }

  NoiseSpectrum spectrum() const {
    NoiseSpectrum spectrum{energies_.size(), {}, {}};
    for (const double power : in_plane_) spectrum.in_plane.push_back(static_cast<float>(power / variance()));
    for (const double power : across_) spectrum.across.push_back(static_cast<float>(power));
    return spectrum;
  }

  /// Of the standard deviation, relative to its root mean square.
  CoarseField map() const {
    constexpr std::int64_t nodes = 8;
    CoarseField map;
    if (!varies_) return map;
    map.values.clear();
    for (int axis = 0; axis < 3; ++axis) map.size[axis] = std::min(energies_.extent()[axis], nodes);
    for (std::int64_t i = 0; i < map.size.voxels(); ++i) {
      Triple<double> place;
      std::int64_t rest = i;
      for (int axis = 0; axis < 3; ++axis) {
        const std::int64_t node = rest % map.size[axis];
        rest /= map.size[axis];
        place[axis] =
            map.size[axis] > 1 ? 2 * static_cast<double>(node) / static_cast<double>(map.size[axis] - 1) - 1 : 0;
      }
      const double level = std::clamp(product(terms_at(place), polynomial_), lowest_level_, highest_level_);
      map.values.push_back(static_cast<float>(std::exp(0.5 * (level - mean_level_))));
    }
    return map;
  }

  /// Power beside the lowest frequencies over that of all above them: of noise whose power mostly lies lower than
  /// bricks of this size resolve, it is large.
  double steepness() const { return steepness_; }

  /// Energy of the very flattest bricks over that of flat ones. Noise fills all alike, so that this is not far below 1;
  /// structure alone leaves some bricks with next to nothing.
  double floor() const { return floor_; }

  /// Power at low in-plane frequencies that does not reach across slices, over that which does, as noise has it. Near 1
  /// in noise, less where there is structure even in the flattest bricks. 1 where there are too few slices to tell.
  double flatness() const { return flatness_; }

 private:
  static constexpr std::size_t fewest = 60;
  static constexpr double soft = 0.1;  // of the strongest power: what is weaker hardly counts

  double at(std::size_t brick, std::size_t k, std::size_t p) const {
    return static_cast<double>(energies_.brick(static_cast<std::int64_t>(brick))[k * plane_ + p]);
  }

  /// The bricks of least energy, in ascending order of their index where equal.
  void choose(const std::vector<double>& energy) {
    order_.resize(bricks_);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto less = [&](std::size_t a, std::size_t b) {
      return energy[a] != energy[b] ? energy[a] < energy[b] : a < b;
    };
    std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(chosen_ - 1), order_.end(), less);
    order_.resize(chosen_);
    std::sort(order_.begin(), order_.end());
  }

  /// Power from the chosen bricks. That of an in-plane frequency is fitted to all frequencies across slices, but where
  /// structure is strong, to the upper half.
  void fit_spectrum() {
    const std::size_t frequencies = depth_ * plane_;
    std::vector<double> power(frequencies);
    std::vector<float> values(frequencies * chosen_);
    for (std::size_t i = 0; i < chosen_; ++i) {
      const float* const energies = energies_.brick(static_cast<std::int64_t>(order_[i]));
      const auto scale = static_cast<float>(1 / level_[order_[i]]);
      for (std::size_t f = 0; f < frequencies; ++f) values[f * chosen_ + i] = energies[f] * scale;
    }
    for (std::size_t f = 0; f < frequencies; ++f) {
      power[f] = correction_ * middle(std::span(values).subspan(f * chosen_, chosen_));
    }
    double high = 0, all = 0;
    std::vector<double> high_across(depth_), all_across(depth_);
    for (std::size_t k = 0; k < depth_; ++k) {
      for (std::size_t p = 0; p < plane_; ++p) {
        if (bands_.high[p]) high_across[k] += power[k * plane_ + p];
        if (!bands_.lowest[p]) all_across[k] += power[k * plane_ + p];
      }
      high += high_across[k];
      all += all_across[k];
    }
    const bool high_enough = high > 0.05 * all && !mended_;
    for (std::size_t k = 0; k < depth_; ++k) {
      const double sum = high_enough ? high : all;
      across_[k] = sum > 0 ? (high_enough ? high_across[k] : all_across[k]) * static_cast<double>(depth_) / sum : 1;
    }
    const auto fitted = [&](std::size_t p, std::size_t begin, std::size_t end) {
      double sum = 0, weights = 0;
      for (std::size_t k = begin; k < end; ++k) {
        sum += power[k * plane_ + p] * across_[k];
        weights += square(across_[k]);
      }
      return weights > 0 ? sum / weights : 0;
    };
    double reaching = 0, not_reaching = 0;
    for (std::size_t p = 0; p < plane_; ++p) {
      in_plane_[p] = fitted(p, bands_.low[p] ? depth_ / 2 : 0, depth_);
      if (!bands_.low[p] || bands_.lowest[p] || depth_ < 4) continue;
      reaching += fitted(p, 0, depth_ / 2);
      not_reaching += in_plane_[p];
    }
    flatness_ = reaching > 0 ? not_reaching / reaching : 1;
  }

  static double floor_of(std::vector<double> energy) {
    constexpr double very_flattest = 0.005, flat = 0.05;
    constexpr std::size_t fewest_bricks = 50;
    if (energy.size() < fewest_bricks) return 1;
    const auto quantile = [&](double share) {
      const auto at = energy.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(energy.size() - 1));
      std::nth_element(energy.begin(), at, energy.end());
      return *at;
    };
    const double above = quantile(flat);
    return above > 0 ? quantile(very_flattest) / above : 1;
  }

  /// The variance that squared coefficients are of: by their median, which structure in some bricks does not change,
  /// but where they are few.
  static double middle(std::span<float> squares) {
    constexpr std::size_t few = 30;
    if (squares.size() >= few) return median(squares) / square(kNormalMedian);
    return std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size());
  }

  /// The lowest frequencies are as strong as those beside them at most; those too, where there is structure.
  void bound_lowest() {
    const double next = mean_of(bands_.next);
    double rest = 0, count = 0;
    for (std::size_t p = 0; p < plane_; ++p) {
      if (bands_.lowest[p]) continue;
      rest += in_plane_[p];
      ++count;
    }
    steepness_ = rest > 0 ? next * count / rest : 1;
    if (flatness_ < kMixed) bound(bands_.next, bands_.after_next);
    bound(bands_.lowest, bands_.next);
  }
  void bound(const std::vector<bool>& frequencies, const std::vector<bool>& limits) {
    if (std::find(limits.begin(), limits.end(), true) == limits.end()) return;
    const double limit = mean_of(limits);
    for (std::size_t p = 0; p < plane_; ++p) {
      if (frequencies[p]) in_plane_[p] = std::min(in_plane_[p], limit);
    }
  }
  double mean_of(const std::vector<bool>& frequencies) const {
    double sum = 0, count = 0;
    for (std::size_t p = 0; p < plane_; ++p) {
      if (!frequencies[p]) continue;
      sum += in_plane_[p];
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  /// Power averaged in its logarithm over 3x3 frequencies, but for the lowest.
  std::vector<double> smoothed() const {
    const auto width = static_cast<std::ptrdiff_t>(energies_.size().x),
               height = static_cast<std::ptrdiff_t>(energies_.size().y);
    std::vector<double> result(plane_);
    for (std::ptrdiff_t y = 0; y < height; ++y) {
      for (std::ptrdiff_t x = 0; x < width; ++x) {
        double sum = 0, weights = 0;
        for (std::ptrdiff_t b = std::max<std::ptrdiff_t>(y - 1, 0); b <= std::min(y + 1, height - 1); ++b) {
          for (std::ptrdiff_t a = std::max<std::ptrdiff_t>(x - 1, 0); a <= std::min(x + 1, width - 1); ++a) {
            const auto p = static_cast<std::size_t>(b * width + a);
            if (bands_.lowest[p]) continue;
            const double weight = (a == x ? 2.0 : 1.0) * (b == y ? 2.0 : 1.0);
            sum += weight * std::log(std::max(in_plane_[p], 1e-300));
            weights += weight;
          }
        }
        result[static_cast<std::size_t>(y * width + x)] = weights > 0 ? std::exp(sum / weights) : 0;
      }
    }
    return result;
  }

  /// Energies of each brick, every frequency weighted by what noise has there; 1 on average for noise.
  struct Whitened {
    std::vector<double> energy;
    std::vector<double> slope;   ///< logarithm of the energy of the lower half of in-plane frequencies over the upper
    std::vector<double> across;  ///< the same of frequencies across slices
    double freedom = 0;          ///< `energy` of noise varies like chi squared numbers of so many degrees
    double across_spread = 0;    ///< standard deviation of `across` in noise
  };

  Whitened whiten() const {
    const std::vector<double> smooth = smoothed();
    double strongest = 0, strongest_across = 0;
    for (std::size_t p = 0; p < plane_; ++p) strongest = std::max(strongest, bands_.lowest[p] ? 0 : in_plane_[p]);
    for (const double power : across_) strongest_across = std::max(strongest_across, power);
    // Weights and what noise comes to under them, in the plane and across.
    std::vector<double> weight(plane_), expected(plane_), weight_across(depth_), expected_across(depth_);
    double sum = 0, squares = 0, sum_across = 0, squares_across = 0;
    for (std::size_t p = 0; p < plane_; ++p) {
      if (!bands_.lowest[p]) weight[p] = 1 / std::max(smooth[p] + soft * strongest, 1e-300);
      expected[p] = weight[p] * in_plane_[p];
      sum += expected[p];
      squares += square(expected[p]);
    }
    for (std::size_t k = 0; k < depth_; ++k) {
      weight_across[k] = 1 / (across_[k] + soft * strongest_across);
      expected_across[k] = weight_across[k] * across_[k];
      sum_across += expected_across[k];
      squares_across += square(expected_across[k]);
    }
    std::vector<float> lower(plane_), upper(plane_);
    double so_far = 0;
    double lower_sum = 0;
    for (const std::size_t p : bands_.by_frequency) {
      so_far += expected[p];
      const bool is_lower = so_far <= 0.5 * sum;
      (is_lower ? lower : upper)[p] = static_cast<float>(weight[p]);
      if (is_lower) lower_sum += expected[p];
    }
    const std::size_t half = depth_ / 2;
    double near_sum = 0, near_squares = 0;
    for (std::size_t k = 0; k < half; ++k) {
      near_sum += expected_across[k];
      near_squares += square(expected_across[k]);
    }
    const auto log_ratio = [](double a, double b) {
      return std::log(std::max(a, 1e-300)) - std::log(std::max(b, 1e-300));
    };
    Whitened whitened;
    whitened.freedom = square(sum * sum_across) / std::max(squares * squares_across, 1e-300);
    const double in_plane_freedom = square(sum) / std::max(squares, 1e-300);
    if (depth_ >= 4) {
      const double near = in_plane_freedom * square(near_sum) / std::max(near_squares, 1e-300);
      const double far =
          in_plane_freedom * square(sum_across - near_sum) / std::max(squares_across - near_squares, 1e-300);
      whitened.across_spread = std::sqrt(2 / near + 2 / far);
    }
    for (std::size_t i = 0; i < bricks_; ++i) {
      double low = 0, high = 0, near = 0;
      for (std::size_t k = 0; k < depth_; ++k) {
        const float* const energies = energies_.brick(static_cast<std::int64_t>(i)) + k * plane_;
        const double a = weighted_sum(lower.data(), energies, plane_), b = weighted_sum(upper.data(), energies, plane_);
        low += a * weight_across[k];
        high += b * weight_across[k];
        if (k < half) near += (a + b) * weight_across[k];
      }
      whitened.energy.push_back((low + high) / (sum * sum_across));
      whitened.slope.push_back(log_ratio(low / lower_sum, high / (sum - lower_sum)));
      whitened.across.push_back(depth_ >= 4 ? log_ratio(near / near_sum, (low + high - near) / (sum_across - near_sum))
                                            : 0);
    }
    return whitened;
  }

  /// Fits a polynomial to the logarithm of the energy of bricks that look like noise. Structure only ever adds energy:
  /// what lies above the polynomial soon counts no more.
  void fit_map(const Whitened& whitened) {
    constexpr int iterations = 16;
    constexpr double ridge = 5, least_variation = 0.05;
    constexpr std::size_t fewest_bricks = 100;
    constexpr std::size_t most_bricks = 1024;
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < bricks_; ++i) {
      if (whitened.slope[i] >= std::sqrt(8 / whitened.freedom)) continue;
      if (depth_ >= 4 && whitened.across[i] >= whitened.across_spread) continue;
      candidates.push_back(i);
    }
    if (candidates.size() > most_bricks) {
      for (std::size_t j = 0; j < most_bricks; ++j) candidates[j] = candidates[j * candidates.size() / most_bricks];
      candidates.resize(most_bricks);
    }
    std::vector<double> energy;
    for (const std::size_t i : candidates) {
      energy.push_back(std::log(std::max(whitened.energy[i], 1e-300)) + 1 / whitened.freedom);
    }
    varies_ = false;
    std::fill(level_.begin(), level_.end(), 1.0);
    if (candidates.size() < fewest_bricks) return;
    std::vector<double> sorted = energy;
    const auto start = sorted.begin() + static_cast<std::ptrdiff_t>(3 * sorted.size() / 10);
    std::nth_element(sorted.begin(), start, sorted.end());
    Terms polynomial{};
    polynomial[0] = *start;
    std::vector<double> weights(candidates.size());
    double width = 2.5;
    for (int iteration = 0; iteration < iterations; ++iteration, width *= 0.75) {
      const double scale = std::max(3 * std::sqrt(2 / whitened.freedom), width);
      std::array<Terms, kTerms> matrix{};
      Terms right{};
      for (std::size_t j = 0; j < candidates.size(); ++j) {
        const Terms& terms = terms_[candidates[j]];
        const double excess = (energy[j] - product(terms, polynomial)) / scale;
        weights[j] = 1 / (1 + (excess > 0 ? square(square(excess)) : square(excess / 3)));
        for (std::size_t a = 0; a < kTerms; ++a) {
          for (std::size_t b = 0; b <= a; ++b) matrix[a][b] += weights[j] * terms[a] * terms[b];
          right[a] += weights[j] * terms[a] * energy[j];
        }
      }
      for (std::size_t a = 1; a < kTerms; ++a) matrix[a][a] += ridge;
      solve(matrix, right);
      polynomial = right;
    }
    std::vector<double> levels;
    for (std::size_t j = 0; j < candidates.size(); ++j) {
      if (weights[j] > 0.3) levels.push_back(product(terms_[candidates[j]], polynomial));
    }
    if (levels.size() < fewest_bricks) return;
    std::sort(levels.begin(), levels.end());
    const double low = levels[levels.size() / 100], high = levels[levels.size() - 1 - levels.size() / 100];
    double sum = 0, squares = 0, variances = 0;
    std::vector<double> level(bricks_);
    for (std::size_t i = 0; i < bricks_; ++i) {
      level[i] = std::clamp(product(terms_[i], polynomial), low, high);
      sum += level[i];
      squares += square(level[i]);
      variances += std::exp(level[i]);
    }
    const auto count = static_cast<double>(bricks_);
    if (0.5 * std::sqrt(std::max(squares / count - square(sum / count), 0.0)) < least_variation) return;
    varies_ = true;
    polynomial_ = polynomial;
    lowest_level_ = low;
    highest_level_ = high;
    mean_level_ = std::log(variances / count);
    for (std::size_t i = 0; i < bricks_; ++i) level_[i] = std::exp(level[i] - mean_level_);
  }

  const Bricks& energies_;
  Bands bands_;
  std::size_t bricks_, plane_, depth_, chosen_;
  double chosen_share_;
  bool mended_;
  std::vector<Terms> terms_;
  std::vector<std::size_t> order_;
  double correction_ = 1, flatness_ = 1, floor_ = 1, steepness_ = 1;
  std::vector<double> level_;  ///< variance of each brick over the mean
  std::vector<double> in_plane_, across_;
  bool varies_ = false;
  Terms polynomial_{};
  double lowest_level_ = 0, highest_level_ = 0, mean_level_ = 0;
};

/// Sigma of Rician noise from bricks without a signal; none where there are none.
std::optional<double> air_sigma(const Bricks& bricks, double middle) {
  constexpr std::size_t fewest = 32;
  constexpr double least_share = 0.25;  // of the dark part of the volume
  constexpr double tolerance = 0.12, widest = 0.3, most_zeros = 0.02;
  std::vector<double> means;
  double dark = 0;
  for (std::int64_t i = 0; i < bricks.count(); ++i) {
    const float* const brick = bricks.brick(i);
    if (bricks.mean(i) >= middle) continue;
    ++dark;
    double sum = 0, squares = 0, zeros = 0;
    for (std::int64_t j = 0; j < bricks.voxels(); ++j) {
      const auto value = static_cast<double>(brick[j]);
      sum += value;
      squares += value * value;
      zeros += value <= 0;
    }
    const auto voxels = static_cast<double>(bricks.voxels());
    const double mean = sum / voxels;
    if (!(mean > 0) || zeros > most_zeros * voxels) continue;
    const double ratio = std::sqrt(std::max(squares / voxels - square(mean), 0.0)) / mean;
    if (std::abs(ratio - kRayleighRatio) < tolerance) means.push_back(mean);
  }
  if (means.size() < fewest || static_cast<double>(means.size()) < least_share * dark) return std::nullopt;
  const auto [mean, width] = shortest_half(std::move(means));
  if (width > widest * mean) return std::nullopt;
  return std::sqrt(2 / std::numbers::pi) * mean;
}

/// What the bricks of a volume are, before any is left out.
struct Survey {
  Impulses impulses;
  bool masked = false;
  double middle = 0;          ///< between dark and bright bricks
  std::vector<bool> object;   ///< bricks that show noise, if there is any
  std::int64_t constant = 0;  ///< bricks that hold one value, where that is neither background nor saturation
};

Survey survey(const Bricks& bricks) {
  constexpr double most_background = 0.02, most_background_with_impulses = 0.6, masked_share = 0.05;
  Survey result;
  std::vector<double> means;
  for (std::int64_t i = 0; i < bricks.count(); ++i) means.push_back(bricks.mean(i));
  for (const Bricks::Background& one : bricks.background()) means.push_back(one.mean);
  const auto [darkest, brightest] = [&] {
    const auto [low, high] = std::minmax_element(means.begin(), means.end());
    return std::pair(*low, *high);
  }();
  double sum = 0, count = 0;
  for (const double mean : means) {
    if (!(mean > darkest)) continue;
    sum += mean;
    ++count;
  }
  result.middle = count > 0 ? sum / count : darkest;
  const auto one_value = std::count_if(bricks.background().begin(), bricks.background().end(),
                                       [](const Bricks::Background& one) { return one.constant; });
  result.masked = static_cast<double>(one_value) > masked_share * static_cast<double>(means.size());

  // A bright background that is clipped (X-ray images stored inverted) shows no noise: then the dark is looked at.
  for (const bool bright : {true, false}) {
    const auto on_this_side = [&](double mean) { return (mean >= result.middle) == bright; };
    std::vector<std::int64_t> side;
    for (std::int64_t i = 0; i < bricks.count(); ++i) {
      if (on_this_side(bricks.mean(i))) side.push_back(i);
    }
    result.impulses = find_impulses(bricks, side);
    const double most = result.impulses.share > 0 ? most_background_with_impulses : most_background;
    result.object.assign(static_cast<std::size_t>(bricks.count()), false);
    std::int64_t noisy = 0;
    for (const std::int64_t i : side) {
      const auto background = std::count(bricks.brick(i), bricks.brick(i) + bricks.voxels(), bricks.lowest());
      if (static_cast<double>(background) > most * static_cast<double>(bricks.voxels())) continue;
      result.object[static_cast<std::size_t>(i)] = true;
      ++noisy;
    }
    result.constant = 0;
    std::int64_t constant = 0;
    for (const Bricks::Background& one : bricks.background()) {
      if (!one.constant || !on_this_side(one.mean)) continue;
      ++constant;
      const bool cut = (one.mean == darkest || one.mean == brightest) && darkest < brightest;
      result.constant += !cut;
    }
    if (noisy > 0 && constant <= noisy) break;
  }
  return result;
}

void judge(MeasuredNoise& model, std::int64_t object, double flatness, double floor) {
  constexpr double structure_alone = 0.35, spoilt = 0.6;
  constexpr std::int64_t few = 100, many = 1000;
  constexpr double finest = 0.42;  // of a step: what rounding leaves of noise weaker than that has little to do with it
  model.confidence = Confidence::high;
  const auto because = [&](Confidence confidence, std::string reason) {
    if (confidence >= model.confidence) return;
    model.confidence = confidence;
    model.reason = std::move(reason);
  };
  if (model.sigma < finest * model.step) {
    because(Confidence::none, "the noise is weaker than the step of the voxels' values");
  }
  if (flatness < structure_alone) {
    because(Confidence::none, "the flattest parts hold more structure than noise, if there is noise");
  }
  if (flatness < spoilt) because(Confidence::low, "even the flattest parts hold structure as strong as the noise");
  if (object < few) because(Confidence::low, "the object has few parts to go by");
  if (floor < kLeastFloor) because(Confidence::low, "few parts of the object are as quiet as the quietest");
  if (flatness < kMixed) because(Confidence::medium, "even the flattest parts hold some structure");
  if (model.impulses > 0) because(Confidence::medium, "impulses were left out");
  if (object < many) because(Confidence::medium, "the object is small");
}

/// Where the signal is weak Rician noise varies less than its sigma.
void correct_rician(MeasuredNoise& model, double signal) {
  constexpr double weak = 5;  // sigmas
  model.distribution = NoiseDistribution::rician;
  if (signal > 0 && signal < weak * model.sigma) model.sigma = koay_sigma(signal, model.sigma);
}

struct Measured {
  MeasuredNoise model;
  double steepness = 1, floor = 1;
  bool nothing_to_go_by = false;
};

Measured measure(VolumeSource& source, VolumeSource* neighbour, std::int64_t apart, const Execution& execution) {
  constexpr double flattest = 0.03, may_be_flat = 0.3;  // of the object's bricks
  constexpr double calmest = 0.25;                      // of those of a difference
  constexpr double most_constant = 0.05;
  constexpr double most_below_tissue = 0.78;  // of sigma, that air is still the same noise
  Measured measured;
  MeasuredNoise& model = measured.model;
  Bricks bricks(source, neighbour, apart);
  check_stop(execution.stop);
  bricks.keep([&](std::int64_t i) {
    const float* const brick = bricks.brick(i);
    const auto missing =
        std::count_if(brick, brick + bricks.voxels(), [](float value) { return !std::isfinite(value); });
    return static_cast<double>(missing) <= Repair::most * static_cast<double>(bricks.voxels());
  });
  if ((bricks.count() == 0 && bricks.background().empty()) || bricks.size().slice() == 1) {
    measured.nothing_to_go_by = true;
    return measured;
  }
  const Survey found = survey(bricks);
  model.masked = found.masked;
  model.impulses = found.impulses.share;
  model.step = quantisation_step(bricks);
  const std::optional<double> air = neighbour == nullptr ? air_sigma(bricks, found.middle) : std::nullopt;
  bricks.keep([&](std::int64_t i) { return static_cast<bool>(found.object[static_cast<std::size_t>(i)]); });
  const std::int64_t object = bricks.count();
  if (object == 0 ||
      static_cast<double>(found.constant) > most_constant * static_cast<double>(object + found.constant)) {
    model.reason =
        "the flat parts of the object hold one value each: there is no noise, or less than a step of the values";
    return measured;
  }

  const Cosine cosine(bricks.size());
  std::vector<double> mended(static_cast<std::size_t>(object));
  parallel_for(execution.silent(), object, 256, [&](std::int64_t begin, std::int64_t end) {
    Repair repair(bricks.size());
    for (std::int64_t i = begin; i < end; ++i) {
      float* const brick = bricks.brick(i);
      const double share = std::min(repair.mend(brick, found.impulses), Repair::most);
      mended[static_cast<std::size_t>(i)] = share;
      cosine.energies(brick);
      const auto correction = static_cast<float>(1 / (1 - share));
      for (std::int64_t j = 0; j < bricks.voxels(); ++j) brick[j] *= correction;
    }
  });
  if (model.impulses > 0) {
    model.impulses = std::accumulate(mended.begin(), mended.end(), 0.0) / static_cast<double>(object);
  }
  check_stop(execution.stop);

  Estimator estimator(bricks, neighbour == nullptr ? flattest : calmest, neighbour == nullptr ? may_be_flat : 1,
                      model.impulses > 0);
  estimator.run();
  measured.steepness = estimator.steepness();
  model.sigma = std::sqrt(estimator.variance());
  model.spectrum = estimator.spectrum();
  model.map = estimator.map();
  model.places = std::ssize(estimator.chosen());
  if (air) {
    double signal = 0;
    for (const std::size_t i : estimator.chosen()) signal += bricks.mean(static_cast<std::int64_t>(i));
    correct_rician(model, signal / static_cast<double>(model.places));
  }
  judge(model, object, estimator.flatness(), estimator.floor());
  const bool is_uniform = model.map.values.size() == 1;
  measured.floor = estimator.floor();
  if (air.has_value() && is_uniform && model.confidence <= Confidence::low &&
      *air<model.sigma&& * air> most_below_tissue * model.sigma) {
    model.sigma = air.value();
    model.reason += "; the air was measured instead";
  }
  return measured;
}

/// Adds variance to the lowest frequencies, of which bricks with voxels side by side see little.
void add_low_frequencies(MeasuredNoise& model, double sigma) {
  const double gain = (sigma / model.sigma) * (sigma / model.sigma);
  const std::vector<bool> lowest = Bands(model.spectrum.size).lowest;
  const auto frequencies = static_cast<double>(lowest.size());
  const double more = (gain - 1) * frequencies / static_cast<double>(std::count(lowest.begin(), lowest.end(), true));
  for (std::size_t p = 0; p < lowest.size(); ++p) {
    const double power = static_cast<double>(model.spectrum.in_plane[p]) + (lowest[p] ? more : 0);
    model.spectrum.in_plane[p] = static_cast<float>(power / gain);
  }
  model.sigma = sigma;
}

MeasuredNoise measure(VolumeSource& source, VolumeSource* neighbour, const Execution& execution) {
  constexpr double steep = 5.5, least_between_neighbours = 0.1;
  constexpr std::int64_t least_extent = 64;
  Measured near = measure(source, neighbour, 1, execution);
  const Extent extent = source.extent();
  if (near.steepness > steep && near.model.confidence >= Confidence::medium && extent.x >= least_extent &&
      extent.y >= least_extent) {
    const Measured far = measure(source, neighbour, 2, execution);
    if (far.model.sigma > near.model.sigma) add_low_frequencies(near.model, far.model.sigma);
  }
  if (near.floor < kLeastFloor && estimate_noise(source) < least_between_neighbours * near.model.sigma) {
    near.model.sigma *= std::sqrt(near.floor);
    near.model.confidence = Confidence::none;
    near.model.reason = "neighbouring voxels show no noise, and few parts are as quiet as the quietest";
  }
  if (near.nothing_to_go_by) {
    near.model.sigma = estimate_noise(source);
    near.model.confidence = near.model.sigma > 0 ? Confidence::low : Confidence::none;
    near.model.reason = near.model.sigma > 0 ? "too much is missing for more than neighbouring voxels to be compared"
                                             : "there is no noise, or too much is missing";
  }
  return near.model;
}

}  // namespace

MeasuredNoise measure_noise(VolumeSource& source, const Execution& execution) {
  return measure(source, nullptr, execution);
}

MeasuredNoise measure_noise_of_series(VolumeSource& source, VolumeSource& neighbour, const Execution& execution) {
  const MeasuredNoise alone = measure(source, nullptr, execution);
  MeasuredNoise model = measure(source, &neighbour, execution);
  if (!(model.sigma > 0 && model.sigma < alone.sigma)) return alone;
  model.distribution = alone.distribution;
  model.step = alone.step;
  model.masked = alone.masked;
  return model;
}

}  // namespace quietvox
