// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/gaussian/kernel.hpp"

#include <algorithm>
#include <cmath>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/gaussian/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace quietvox::gaussian::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<double, wide>;
using Vector = hn::Vec<Tag>;
using FloatTag = hn::Rebind<float, Tag>;
using WideTag = hn::CappedTag<float, wide>;  // of the convolution

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

constexpr float quarter = 0.25F;

/// The values that are read of the voxels, times `factor`, stored by store(values, row).
template <class FloatTag, class Number, class Store>
HWY_INLINE bool read_values(FloatTag f, const float* voxels, std::int64_t count, Reading reading, Number* row,
                            Number factor, const Store& store) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
  const auto largest = hn::Set(f, hwy::HighestValue<float>()), one = hn::Set(f, 1.0F);
  bool complete = true;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto value = hn::LoadU(f, voxels + i);
    if (reading != Reading::plain) {
      const auto is_present = hn::Le(hn::Abs(value), largest);
      complete = complete && hn::AllTrue(f, is_present);
      value = hn::IfThenElseZero(is_present, reading == Reading::present ? value : one);
    }
    store(value, row + i);
  }
  for (; i < count; ++i) {
    const bool is_present = reading == Reading::plain || std::isfinite(voxels[i]);
    complete = complete && is_present;
    row[i] = factor * (!is_present ? 0 : reading == Reading::presence ? 1 : static_cast<Number>(voxels[i]));
  }
  return complete;
}

bool read_doubles(const float* voxels, std::int64_t count, Reading reading, double* row) {
  const Tag d;
  return read_values(FloatTag(), voxels, count, reading, row, 1.0,
                     [d](auto values, double* to) HWY_ATTR { hn::StoreU(hn::PromoteTo(d, values), d, to); });
}

bool read_floats(const float* voxels, std::int64_t count, Reading reading, float* row) {
  const WideTag d;
  return read_values(d, voxels, count, reading, row, quarter,
                     [d](auto values, float* to) HWY_ATTR { hn::StoreU(hn::Mul(values, hn::Set(d, quarter)), d, to); });
}

void write_row(const double* row, std::int64_t count, float* voxels) {
  const Tag d;
  const FloatTag f;
  constexpr double most = hwy::HighestValue<float>();
  const auto largest = hn::Set(d, most);
  std::int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) {
    const auto value = hn::Clamp(hn::LoadU(d, row + i), hn::Neg(largest), largest);
    hn::StoreU(hn::Add(hn::DemoteTo(f, value), hn::Zero(f)), f, voxels + i);
  }
  for (; i < count; ++i) voxels[i] = static_cast<float>(std::clamp(row[i], -most, most)) + 0.0F;
}

template <int Vectors>
HWY_INLINE void convolve_vectors(const double* centres, std::int64_t stride, std::span<const double> weights,
                                 double* results) {
  const Tag d;
  Vector sum[Vectors];
  const double* const weight_at = weights.data();  // operator[] of a span checks its bounds, which is slow here
  const auto own = hn::Set(d, weight_at[0]);
  for (int v = 0; v < Vectors; ++v) sum[v] = hn::Mul(own, hn::LoadU(d, centres + v * lanes()));
  for (std::size_t k = 1; k < weights.size(); ++k) {
    const auto weight = hn::Set(d, weight_at[k]);
    const double* before = centres - static_cast<std::int64_t>(k) * stride;
    const double* behind = centres + static_cast<std::int64_t>(k) * stride;
    for (int v = 0; v < Vectors; ++v) {
      const auto pair = hn::Add(hn::LoadU(d, before + v * lanes()), hn::LoadU(d, behind + v * lanes()));
      sum[v] = hn::MulAdd(weight, pair, sum[v]);
    }
  }
  for (int v = 0; v < Vectors; ++v) hn::StoreU(sum[v], d, results + v * lanes());
}

template <int Vectors>
HWY_INLINE void convolve_vectors(const float* centres, std::int64_t stride, std::span<const float> weights,
                                 float* results) {
  const WideTag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto largest = hn::Set(d, hwy::HighestValue<float>());
  hn::Vec<WideTag> sum[Vectors], twice[Vectors];
  const float* const weight_at = weights.data();  // as above
  for (int v = 0; v < Vectors; ++v) {
    const auto centre = hn::LoadU(d, centres + v * lanes);
    twice[v] = hn::Add(centre, centre);
    sum[v] = hn::Zero(d);
  }
  for (auto k = static_cast<std::int64_t>(weights.size()) - 1; k > 0; --k) {
    const auto weight = hn::Set(d, weight_at[k]);
    for (int v = 0; v < Vectors; ++v) {
      const float* place = centres + v * lanes;
      const auto pair = hn::Add(hn::LoadU(d, place - k * stride), hn::LoadU(d, place + k * stride));
      sum[v] = hn::MulAdd(weight, hn::Sub(pair, twice[v]), sum[v]);
    }
  }
  for (int v = 0; v < Vectors; ++v) {
    const auto mean = hn::Mul(hn::Add(hn::LoadU(d, centres + v * lanes), sum[v]), hn::Set(d, 1 / quarter));
    // Rounding may lead beyond the largest number.
    hn::StoreU(hn::Add(hn::Clamp(mean, hn::Neg(largest), largest), hn::Zero(d)), d, results + v * lanes);
  }
}

template <class Number>
HWY_INLINE void convolve_row(const Number* centres, std::int64_t stride, std::span<const Number> weights,
                             std::int64_t count, Number* results) {
  constexpr int together = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::CappedTag<Number, wide>()));
  std::int64_t i = 0;
  for (; i + together * lanes <= widened(count); i += together * lanes) {
    convolve_vectors<together>(centres + i, stride, weights, results + i);
  }
  for (; i < widened(count); i += lanes) convolve_vectors<1>(centres + i, stride, weights, results + i);
}

void convolve_doubles(const double* centres, std::int64_t stride, std::span<const double> weights, std::int64_t count,
                      double* results) {
  convolve_row(centres, stride, weights, count, results);
}

void convolve_floats(const float* centres, std::int64_t stride, std::span<const float> weights, std::int64_t count,
                     float* results) {
  convolve_row(centres, stride, weights, count, results);
}

/// Two sections for some vectors of lines, in their state after the voxel `last` of each has gone on for ever.
template <int Vectors>
class Runner {
 public:
  HWY_INLINE Runner(const Recursion& recursion, const double* last) {
    const Tag d;
    for (int s = 0; s < 2; ++s) {
      const Section& section = recursion.sections[static_cast<std::size_t>(s)];
      a1_[s] = hn::Set(d, section.a1);
      a2_[s] = hn::Set(d, section.a2);
      b0_[s] = hn::Set(d, section.b0);
      b1_[s] = hn::Set(d, section.b1);
      for (int v = 0; v < Vectors; ++v) {
        w1_[s][v] = w2_[s][v] = hn::Mul(hn::Set(d, section.steady), hn::LoadU(d, last + v * lanes()));
      }
    }
  }

  /// Takes the voxel of the next place.
  HWY_INLINE void step(const double* voxels) {
    const Tag d;
    for (int v = 0; v < Vectors; ++v) {
      const auto x = hn::LoadU(d, voxels + v * lanes());
      for (int s = 0; s < 2; ++s) {
        const auto w = hn::MulAdd(a1_[s], w1_[s][v], hn::MulAdd(a2_[s], w2_[s][v], x));
        w2_[s][v] = w1_[s][v];
        w1_[s][v] = w;
      }
    }
  }

  /// The output at the voxel taken last, added to `sum`.
  HWY_INLINE Vector output(int v, Vector sum) const {
    for (int s = 0; s < 2; ++s) sum = hn::MulAdd(b0_[s], w1_[s][v], hn::MulAdd(b1_[s], w2_[s][v], sum));
    return sum;
  }

 private:
  Vector a1_[2], a2_[2], b0_[2], b1_[2];
  Vector w1_[2][Vectors], w2_[2][Vectors];  // after the last step and the one before
};

template <int Vectors>
HWY_INLINE void recurse_vectors(const Lines& lines, std::int64_t from, std::int64_t begin, std::int64_t end,
                                std::int64_t until, const Recursion& recursion, const Lines& results) {
  const Tag d;
  const auto own = hn::Set(d, -recursion.own);
  Runner<Vectors> along(recursion, lines.row(from));
  for (std::int64_t n = from; n < begin; ++n) along.step(lines.row(n));
  for (std::int64_t n = begin; n < end; ++n) {
    along.step(lines.row(n));
    for (int v = 0; v < Vectors; ++v) {
      const auto voxel = hn::LoadU(d, lines.row(n) + v * lanes());
      hn::StoreU(along.output(v, hn::Mul(own, voxel)), d, results.row(n - begin) + v * lanes());
    }
  }
  Runner<Vectors> against(recursion, lines.row(until - 1));
  for (std::int64_t n = until - 1; n >= end; --n) against.step(lines.row(n));
  for (std::int64_t n = end - 1; n >= begin; --n) {
    against.step(lines.row(n));
    for (int v = 0; v < Vectors; ++v) {
      double* result = results.row(n - begin) + v * lanes();
      hn::StoreU(against.output(v, hn::LoadU(d, result)), d, result);
    }
  }
}

void recurse(const Lines& lines, std::int64_t from, std::int64_t begin, std::int64_t end, std::int64_t until,
             const Recursion& recursion, const Lines& results) {
  constexpr int together = 2;
  std::int64_t column = 0;
  const auto from_column = [&](const Lines& block) { return Lines{block.first + column, block.columns}; };
  for (; column + together * lanes() <= lines.columns; column += together * lanes()) {
    recurse_vectors<together>(from_column(lines), from, begin, end, until, recursion, from_column(results));
  }
  for (; column < lines.columns; column += lanes()) {
    recurse_vectors<1>(from_column(lines), from, begin, end, until, recursion, from_column(results));
  }
}

}  // namespace
}  // namespace quietvox::gaussian::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::gaussian {
namespace {
HWY_EXPORT(read_doubles);
HWY_EXPORT(read_floats);
HWY_EXPORT(write_row);
HWY_EXPORT(convolve_doubles);
HWY_EXPORT(convolve_floats);
HWY_EXPORT(recurse);
}  // namespace

bool read_row(const float* voxels, std::int64_t count, Reading reading, double* row) {
  return HWY_DYNAMIC_DISPATCH(read_doubles)(voxels, count, reading, row);
}

bool read_row(const float* voxels, std::int64_t count, Reading reading, float* row) {
  return HWY_DYNAMIC_DISPATCH(read_floats)(voxels, count, reading, row);
}

void write_row(const double* row, std::int64_t count, float* voxels) {
  HWY_DYNAMIC_DISPATCH(write_row)(row, count, voxels);
}

void convolve(const double* centres, std::int64_t stride, std::span<const double> weights, std::int64_t count,
              double* results) {
  HWY_DYNAMIC_DISPATCH(convolve_doubles)(centres, stride, weights, count, results);
}

void convolve(const float* centres, std::int64_t stride, std::span<const float> weights, std::int64_t count,
              float* results) {
  HWY_DYNAMIC_DISPATCH(convolve_floats)(centres, stride, weights, count, results);
}

void recurse(const Lines& lines, std::int64_t from, std::int64_t begin, std::int64_t end, std::int64_t until,
             const Recursion& recursion, const Lines& results) {
  HWY_DYNAMIC_DISPATCH(recurse)(lines, from, begin, end, until, recursion, results);
}

}  // namespace quietvox::gaussian
#endif  // HWY_ONCE
