// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/nlm/kernel.hpp"

#include <algorithm>
#include <bit>

// Highway compiles what stands between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "filters/nlm/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "filters/simd/exp2.hpp"

HWY_BEFORE_NAMESPACE();
namespace quietvox::nlm_kernel::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

/// What is done with a sum before it is stored.
struct Keep {
  HWY_INLINE void operator()(Vector (&)[2]) const {}
};
/// A count of voxels becomes the factor that makes a sum over them one over all: exactly 1 where all are present.
struct OverPresent {
  float all;

  HWY_INLINE void operator()(Vector (&counts)[2]) const {
    const Tag d;
    for (auto& count : counts) count = hn::Div(hn::Set(d, all), hn::Max(count, hn::Set(d, 1.0F)));
  }
};
struct Weigh {
  const Weighting& weighting;
  float log2_weight;

  HWY_INLINE void operator()(Vector (&sums)[2]) const {
    const Tag d;
    for (auto& sum : sums) {
      sum = hn::NegMulAdd(sum, hn::Set(d, weighting.rate), hn::Set(d, weighting.bias));
      sum = hn::Add(hn::Min(sum, hn::Zero(d)), hn::Set(d, log2_weight));
    }
    vectors::HWY_NAMESPACE::exp2(d, sums);
  }
};

/// to[i] = finish(sum of from[k][i]), added in order.
template <int Terms, class Finish>
HWY_INLINE void add_terms(const float* const* from, std::int64_t count, float* to, const Finish& finish) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += 2 * lanes) {
    Vector sums[2] = {hn::LoadU(d, from[0] + i), hn::LoadU(d, from[0] + i + lanes)};
    for (int k = 1; k < Terms; ++k) {
      sums[0] = hn::Add(sums[0], hn::LoadU(d, from[k] + i));
      sums[1] = hn::Add(sums[1], hn::LoadU(d, from[k] + i + lanes));
    }
    finish(sums);
    hn::StoreU(sums[0], d, to + i);
    hn::StoreU(sums[1], d, to + i + lanes);
  }
}

template <class Finish>
HWY_INLINE void add_terms(const float* const* from, int terms, std::int64_t count, float* to, const Finish& finish) {
  switch (terms) {
    case 1: return add_terms<1>(from, count, to, finish);
    case 2: return add_terms<2>(from, count, to, finish);
    case 3: return add_terms<3>(from, count, to, finish);
    case 4: return add_terms<4>(from, count, to, finish);
    default: return add_terms<5>(from, count, to, finish);
  }
}

/// How a window of odd length is put together from sums of 1, 2, 4, ... neighbours, each of which serves many windows:
/// few terms for any length, and nothing is ever subtracted.
struct WindowPlan {
  int levels = 0;  ///< of sums of 2, 4, ... that are needed
  int terms = 0;
  struct Term {
    int level, shift;
  } term[5];

  explicit WindowPlan(int radius) {
    const unsigned length = 2 * static_cast<unsigned>(radius) + 1;
    const int top = std::bit_width(length) - 1;
    levels = std::max(top - 1, 0);
    int shift = 0;
    const auto add = [&](int level) {
      term[terms++] = {level, shift};
      shift += 1 << level;
    };
    if (top > 0) {
      add(top - 1);
      add(top - 1);
    }
    for (int level = top - 1; level > 0; --level) {
      if (length >> level & 1U) add(level);
    }
    add(0);  // lengths are odd
  }
};

/// Writes finish(sum over a window) to `to`, for `count` places. The values of a window lie `stride` apart. `from`
/// holds what the last window reaches, too.
template <class Finish>
HWY_INLINE void sum_windows(const WindowPlan& plan, const float* from, std::int64_t stride, std::int64_t count,
                            Scratch& scratch, float* to, const Finish& finish) {
  const std::int64_t reach = (plan.term[plan.terms - 1].shift) * stride;
  const float* level[3] = {from};
  for (int k = 1; k <= plan.levels; ++k) {
    const std::int64_t shift = stride << (k - 1);
    float* sums = scratch.partial[static_cast<std::size_t>(k - 1)].data();
    const float* pair[2] = {level[k - 1], level[k - 1] + shift};
    add_terms<2>(pair, count + reach - 2 * shift + stride, sums, Keep());
    level[k] = sums;
  }
  const float* terms[5];
  for (int k = 0; k < plan.terms; ++k) terms[k] = level[plan.term[k].level] + plan.term[k].shift * stride;
  add_terms(terms, plan.terms, count, to, finish);
}

/// One slice of `rows` rows: finishes the sums of patches over the slices that it ends.
struct SliceRing {
  Scratch& scratch;
  WindowPlan plan;
  std::int64_t length, voxels;

  float* at(int level, std::int64_t z) const {
    const auto slot = static_cast<std::size_t>((z % length) * (voxels + slack));
    return scratch.slices[static_cast<std::size_t>(level)].data() + slot;
  }
};

/// Sums over patches about the voxels of a box, a slice after another. `source(y, z, row)` writes a row of values: of
/// width size.x + 2 patch.x, the first of which belongs to the voxel patch.x before the box. Rows of `to` lie `pitch`
/// apart, slices follow one another.
template <class Source, class Finish>
HWY_INLINE void sum_patches(const Box& box, Radius3 patch, std::int64_t pitch, Scratch& scratch, float* to,
                            const Source& source, const Finish& finish) {
  const Extent size = box.size();
  const std::int64_t rows = size.y + 2 * patch.y, voxels = size.y * pitch;
  const WindowPlan along_x(patch.x), along_y(patch.y), along_z(patch.z);
  const SliceRing ring{scratch, along_z, 2 * patch.z + 1, voxels};
  float* columns = scratch.partial[2].data();
  for (std::int64_t z = 0; z < size.z + 2 * patch.z; ++z) {
    for (std::int64_t y = 0; y < rows; ++y) {
      source(box.first.y - patch.y + y, box.first.z - patch.z + z, scratch.plane.data() + y * pitch);
    }
    sum_windows(along_y, scratch.plane.data(), pitch, voxels, scratch, columns, Keep());
    if (patch.z == 0) {
      sum_windows(along_x, columns, 1, voxels, scratch, to + z * voxels, finish);
      continue;
    }
    sum_windows(along_x, columns, 1, voxels, scratch, ring.at(0, z), Keep());
    for (int level = 1; level <= along_z.levels; ++level) {
      const std::int64_t half = std::int64_t{1} << (level - 1), first = z + 1 - 2 * half;
      if (first < 0) break;
      const float* pair[2] = {ring.at(level - 1, first), ring.at(level - 1, first + half)};
      add_terms<2>(pair, voxels, ring.at(level, first), Keep());
    }
    const std::int64_t first = z - 2 * patch.z;
    if (first < 0) continue;
    const float* terms[5];
    for (int k = 0; k < along_z.terms; ++k) terms[k] = ring.at(along_z.term[k].level, first + along_z.term[k].shift);
    add_terms(terms, along_z.terms, voxels, to + first * voxels, finish);
  }
}

/// Calls body(vector index, u_p, u_q) along a row of pairs.
template <class Body>
HWY_INLINE void for_pairs(const float* p, const float* q, std::int64_t count, const Body& body) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < count; i += lanes) body(i, hn::LoadU(d, p + i), hn::LoadU(d, q + i));
}

/// Divides the factors of the sums of a box by the mean variance of the noise of each pair. Where no voxel is missing,
/// there are none yet, and they are 1.
HWY_INLINE void divide_by_noise(const Region& region, const Box& box, const Index3& step, std::int64_t pitch,
                                float* factors) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto two = hn::Set(d, 2.0F), one = hn::Set(d, 1.0F);
  const Extent size = box.size();
  for (std::int64_t z = 0; z < size.z; ++z) {
    for (std::int64_t y = 0; y < size.y; ++y) {
      const Index3 p{box.first.x, box.first.y + y, box.first.z + z};
      const float* here = region.variance_at(p);
      const float* there = region.variance_at({p.x + step.x, p.y + step.y, p.z + step.z});
      float* row = factors + (z * size.y + y) * pitch;
      for (std::int64_t x = 0; x < size.x; x += lanes) {
        const auto inside = hn::FirstN(d, static_cast<std::size_t>(size.x - x));
        const auto before = region.has_missing ? hn::LoadU(d, row + x) : one;
        const auto both = hn::Add(hn::LoadU(d, here + x), hn::LoadU(d, there + x));
        hn::StoreU(hn::IfThenElse(inside, hn::Mul(before, hn::Div(two, both)), before), d, row + x);
      }
    }
  }
}

/// The weights w(x, x + o) of the voxels x of a box into scratch.weights, rows `pitch` apart.
HWY_INLINE void weigh_box(const Region& region, const Box& box, const Offset& offset, const Weighting& weighting,
                          std::int64_t pitch, Scratch& scratch) {
  const Tag d;
  const Radius3 patch = weighting.patch;
  const Extent size = box.size();
  const auto pairs_of = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return std::pair(region.at({x, y, z}), region.at({x + offset.step.x, y + offset.step.y, z + offset.step.z}));
  };
  float* weights = scratch.weights.data();
  if (!region.has_missing && !region.variances) {
    const auto squares = [&](std::int64_t y, std::int64_t z, float* row) HWY_ATTR {
      const auto [p, q] = pairs_of(box.first.x - patch.x, y, z);
      for_pairs(p, q, size.x + 2 * patch.x, [&](std::int64_t i, Vector u, Vector v) HWY_ATTR {
        const auto difference = hn::Sub(u, v);
        hn::StoreU(hn::Mul(difference, difference), d, row + i);
      });
    };
    sum_patches(box, patch, pitch, scratch, weights, squares, Weigh{weighting, offset.log2_weight});
  } else {
    const auto squares = [&](std::int64_t y, std::int64_t z, float* row) HWY_ATTR {
      const auto [p, q] = pairs_of(box.first.x - patch.x, y, z);
      for_pairs(p, q, size.x + 2 * patch.x, [&](std::int64_t i, Vector u, Vector v) HWY_ATTR {
        const auto difference = hn::Sub(u, v);
        const auto square = hn::Mul(difference, difference);
        hn::StoreU(hn::IfThenElseZero(hn::Eq(difference, difference), square), d, row + i);
      });
    };
    const auto presence = [&](std::int64_t y, std::int64_t z, float* row) HWY_ATTR {
      const auto [p, q] = pairs_of(box.first.x - patch.x, y, z);
      for_pairs(p, q, size.x + 2 * patch.x, [&](std::int64_t i, Vector u, Vector v) HWY_ATTR {
        const auto difference = hn::Sub(u, v);
        hn::StoreU(hn::IfThenElseZero(hn::Eq(difference, difference), hn::Set(d, 1.0F)), d, row + i);
      });
    };
    sum_patches(box, patch, pitch, scratch, weights, squares, Keep());
    float* factors = scratch.factors.data();
    if (region.has_missing) {
      const auto all = static_cast<float>((2 * patch.x + 1) * (2 * patch.y + 1) * (2 * patch.z + 1));
      sum_patches(box, patch, pitch, scratch, factors, presence, OverPresent{all});
    }
    if (region.variances) divide_by_noise(region, box, offset.step, pitch, factors);
    const Weigh weigh{weighting, offset.log2_weight};
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < size.y * size.z * pitch; i += 2 * lanes) {
      Vector sums[2];
      for (int k = 0; k < 2; ++k) {
        const std::int64_t at = i + k * lanes;
        sums[k] = hn::Mul(hn::LoadU(d, weights + at), hn::LoadU(d, factors + at));
      }
      weigh(sums);
      for (int k = 0; k < 2; ++k) hn::StoreU(sums[k], d, weights + i + k * lanes);
    }
  }
  if (weighting.intensity_rate == 0 && !region.has_missing) return;
  const auto rate = hn::Set(d, -weighting.intensity_rate);
  for (std::int64_t z = 0; z < size.z; ++z) {
    for (std::int64_t y = 0; y < size.y; ++y) {
      float* row = weights + (z * size.y + y) * pitch;
      const auto [p, q] = pairs_of(box.first.x, box.first.y + y, box.first.z + z);
      for_pairs(p, q, size.x, [&](std::int64_t i, Vector u, Vector v) HWY_ATTR {
        const auto difference = hn::Sub(u, v);
        Vector factor[1] = {hn::Mul(hn::Mul(difference, difference), rate)};
        vectors::HWY_NAMESPACE::exp2(d, factor);
        const auto weight = hn::Mul(hn::LoadU(d, row + i), factor[0]);
        hn::StoreU(hn::IfThenElseZero(hn::Eq(difference, difference), weight), d, row + i);
      });
    }
  }
}

/// Adds one neighbour of a vector of outputs.
template <bool HasMissing>
HWY_INLINE void add_neighbour(Vector centre, Vector neighbour, Vector w, bool squares, Vector& sum, Vector& weight) {
  auto difference = hn::Sub(neighbour, centre);
  if (squares) difference = hn::Mul(difference, hn::Add(neighbour, centre));
  // The weight is 0, but 0 times NaN is not.
  if constexpr (HasMissing) difference = hn::IfThenElseZero(hn::Eq(difference, difference), difference);
  sum = hn::MulAdd(w, difference, sum);
  weight = hn::Add(weight, w);
}

std::int64_t box_pitch(const Box& box, Radius3 patch) {
  return (box.last.x - box.first.x + 2 * patch.x + 15) / 16 * 16;
}

void grow(std::vector<float>& buffer, std::int64_t size) {
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
}

/// Room for the weights of a box.
void prepare(const Box& box, Radius3 patch, std::int64_t pitch, bool has_factors, Scratch& scratch) {
  const Extent size = box.size();
  const std::int64_t rows = (size.y + 2 * patch.y) * pitch + slack, slice = size.y * pitch + slack;
  grow(scratch.plane, rows);
  for (auto& buffer : scratch.partial) grow(buffer, rows);
  for (auto& buffer : scratch.slices) grow(buffer, (2 * patch.z + 1) * slice);
  grow(scratch.weights, size.z * size.y * pitch + slack);
  if (has_factors) grow(scratch.factors, size.z * size.y * pitch + slack);
}

template <bool HasMissing>
HWY_INLINE void add_box(const Region& region, const Box& box, const Offset& offset, std::int64_t pitch, bool squares,
                        const Scratch& scratch, TileSums& sums) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Extent size = box.size();
  for (std::int64_t z = 0; z < size.z; ++z) {
    for (std::int64_t y = 0; y < size.y; ++y) {
      const Index3 p{box.first.x, box.first.y + y, box.first.z + z};
      const float* centres = region.at(p);
      const float* ahead = region.at({p.x + offset.step.x, p.y + offset.step.y, p.z + offset.step.z});
      const float* weights = scratch.weights.data() + (z * size.y + y) * pitch;
      float* difference = sums.difference.data() + sums.row(p.y, p.z) + p.x;
      float* weight = sums.weight.data() + sums.row(p.y, p.z) + p.x;
      for (std::int64_t x = 0; x < size.x; x += lanes) {
        const auto inside = hn::FirstN(d, static_cast<std::size_t>(size.x - x));
        auto sum = hn::LoadU(d, difference + x), total = hn::LoadU(d, weight + x);
        add_neighbour<HasMissing>(hn::LoadU(d, centres + x), hn::LoadU(d, ahead + x),
                                  hn::IfThenElseZero(inside, hn::LoadU(d, weights + x)), squares, sum, total);
        hn::StoreU(sum, d, difference + x);
        hn::StoreU(total, d, weight + x);
      }
    }
  }
}

template <bool HasMissing>
HWY_INLINE void add_pairs(const Region& region, const Box& box, const Offset& offset, std::int64_t pitch, bool squares,
                          const Scratch& scratch, TileSums& sums) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Extent size = box.size();
  const auto weights_at = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return scratch.weights.data() + ((z - box.first.z) * size.y + y - box.first.y) * pitch + x - box.first.x;
  };
  const Index3 o = offset.step;
  for (std::int64_t z = 0; z < sums.size.z; ++z) {
    for (std::int64_t y = 0; y < sums.size.y; ++y) {
      const float* centres = region.at({0, y, z});
      const float* ahead = region.at({o.x, y + o.y, z + o.z});
      const float* behind = region.at({-o.x, y - o.y, z - o.z});
      const float* weights_ahead = weights_at(0, y, z);
      const float* weights_behind = weights_at(-o.x, y - o.y, z - o.z);
      float* difference = sums.difference.data() + sums.row(y, z);
      float* weight = sums.weight.data() + sums.row(y, z);
      for (std::int64_t x = 0; x < sums.size.x; x += lanes) {
        const auto centre = hn::LoadU(d, centres + x);
        auto sum = hn::LoadU(d, difference + x), total = hn::LoadU(d, weight + x);
        add_neighbour<HasMissing>(centre, hn::LoadU(d, ahead + x), hn::LoadU(d, weights_ahead + x), squares, sum,
                                  total);
        add_neighbour<HasMissing>(centre, hn::LoadU(d, behind + x), hn::LoadU(d, weights_behind + x), squares, sum,
                                  total);
        hn::StoreU(sum, d, difference + x);
        hn::StoreU(total, d, weight + x);
      }
    }
  }
}

/// The weights of a box, in scratch memory; returns the length of their rows.
std::int64_t weigh(const Region& region, const Box& box, const Offset& offset, const Weighting& weighting,
                   Scratch& scratch) {
  const std::int64_t pitch = box_pitch(box, weighting.patch);
  prepare(box, weighting.patch, pitch, region.has_missing || region.variances, scratch);
  weigh_box(region, box, offset, weighting, pitch, scratch);
  return pitch;
}

void add_forward(const Region& region, const Box& box, const Offset& offset, const Weighting& weighting,
                 Scratch& scratch, TileSums& sums) {
  const std::int64_t pitch = weigh(region, box, offset, weighting, scratch);
  if (region.has_missing) {
    add_box<true>(region, box, offset, pitch, weighting.squares, scratch, sums);
  } else {
    add_box<false>(region, box, offset, pitch, weighting.squares, scratch, sums);
  }
}

void add_both(const Region& region, const Offset& offset, const Weighting& weighting, Scratch& scratch,
              TileSums& sums) {
  Box box;  // the tile and what lies one step behind it
  for (int axis = 0; axis < 3; ++axis) {
    box.first[axis] = std::min<std::int64_t>(0, -offset.step[axis]);
    box.last[axis] = sums.size[axis] + std::max<std::int64_t>(0, -offset.step[axis]);
  }
  const std::int64_t pitch = weigh(region, box, offset, weighting, scratch);
  if (region.has_missing) {
    add_pairs<true>(region, box, offset, pitch, weighting.squares, scratch, sums);
  } else {
    add_pairs<false>(region, box, offset, pitch, weighting.squares, scratch, sums);
  }
}

}  // namespace
}  // namespace quietvox::nlm_kernel::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quietvox::nlm_kernel {

void TileSums::reset(const Extent& tile) {
  constexpr std::int64_t widest = 64;  // vectors do not reach from one row into the next
  size = tile;
  pitch = (tile.x + widest - 1) / widest * widest;
  const auto count = static_cast<std::size_t>(pitch * tile.y * tile.z + slack);
  difference.assign(count, 0);
  weight.assign(count, 1);  // the voxel's own
}

namespace {
HWY_EXPORT(add_forward);
HWY_EXPORT(add_both);
}  // namespace

void add_forward(const Region& region, const Box& box, const Offset& offset, const Weighting& weighting,
                 Scratch& scratch, TileSums& sums) {
  HWY_DYNAMIC_DISPATCH(add_forward)(region, box, offset, weighting, scratch, sums);
}

void add_both(const Region& region, const Offset& offset, const Weighting& weighting, Scratch& scratch,
              TileSums& sums) {
  HWY_DYNAMIC_DISPATCH(add_both)(region, offset, weighting, scratch, sums);
}

}  // namespace quietvox::nlm_kernel
#endif  // HWY_ONCE
