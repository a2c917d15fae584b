// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "filters/median/network_block.hpp"
#include "filters/median/sliding_median.hpp"
#include "filters/median/window_median.hpp"

namespace quietvox {
namespace {

using selection::OutputTile;
using selection::OutputTiles;

/// The voxels of the window, counted from its centre.
std::vector<Triple<int>> window_places(const MedianParams& params) {
  const Radius3 r = params.halo();
  std::vector<Triple<int>> result;
  for (int z = -r.z; z <= r.z; ++z) {
    for (int y = -r.y; y <= r.y; ++y) {
      for (int x = -r.x; x <= r.x; ++x) {
        if (params.shape != MedianShape::cross || (x != 0) + (y != 0) + (z != 0) <= 1) result.push_back({x, y, z});
      }
    }
  }
  return result;
}

template <class T>
const auto& codec_of(const selection::SimdFunctions& simd) {
  if constexpr (std::is_same_v<T, float>) {
    return simd.f32;
  } else if constexpr (std::is_signed_v<T>) {
    return simd.i16;
  } else {
    return simd.u16;
  }
}

template <class T>
class Median {
 public:
  Median(VolumeView<const T> in, VolumeView<T> out, const MedianParams& params)
      : in_(in),
        out_(out),
        border_(params.border),
        radius_(params.halo()),
        shift_{out.origin.x - in.origin.x, out.origin.y - in.origin.y, out.origin.z - in.origin.z},
        places_(window_places(params)) {}

  void run(const Execution& execution) const {
    // A few boxes for each thread.
    const std::int64_t outputs = out_.extent.voxels() / (4 * thread_count(execution));
    const selection::SimdFunctions simd = selection::simd_functions();
    if (const auto plan = selection::plan_network(simd, radius_, places_)) {
      const OutputTiles boxes{out_.extent, Block<>::box_size(*plan, radius_, out_.extent, outputs)};
      const auto block = [&](const auto& codec) {
        using Codec = std::decay_t<decltype(codec)>;
        return std::make_unique<Block<typename Codec::Key>>(*plan, codec, in_, out_, radius_, border_, boxes.size);
      };
      const auto worker = [&] {
        Blocks blocks;
        if constexpr (std::is_same_v<T, float>) blocks.whole = block(simd.whole_f32);
        return blocks;
      };
      run(boxes, execution, worker, [&](Blocks& blocks, const OutputTile& box) {
        if (blocks.whole) {
          if (blocks.whole->run(box)) return recompute_missing(box, *blocks.whole);
          blocks.whole.reset();
        }
        if (!blocks.any) blocks.any = block(codec_of<T>(simd));
        blocks.any->run(box);
        recompute_missing(box, *blocks.any);
      });
    } else if (is_box() && places_.size() > 1) {
      using SlidingMedian = selection::SlidingMedian<T>;
      const OutputTiles boxes{out_.extent, SlidingMedian::box_size(radius_, out_.extent, outputs)};
      run(
          boxes, execution, [&] { return SlidingMedian(in_, out_, radius_, border_); },
          [&](SlidingMedian& sliding, const OutputTile& box) { sliding.run(box); });
    } else {
      const OutputTiles boxes{out_.extent, {{out_.extent.x, 1, 1}}};
      run(
          boxes, execution, [&] { return selection::WindowMedian<T>(in_, border_, places_); },
          [&](auto& median, const OutputTile& box) {
            for (std::int64_t x = 0; x < box.size.x; ++x) filter(median, {x, box.first.y, box.first.z});
          });
    }
  }

 private:
  bool is_box() const { return static_cast<double>(places_.size()) == window_voxels(radius_); }

  /// Calls body(worker, box) for all boxes in parallel.
  template <class Make, class Body>
  void run(const OutputTiles& boxes, const Execution& execution, const Make& make, const Body& body) const {
    parallel_for_with_scratch(execution, boxes.count(), make, [&](auto& worker, std::int64_t number) {
      body(worker, boxes[number]);
      if (border_ == Border::copy) keep_edges(boxes[number]);
    });
  }

  template <class K = selection::Key<T>>
  using Block = selection::NetworkBlock<T, K>;

  /// For floats, `whole` serves as long as all voxels are whole numbers of 16 bits.
  struct Blocks {
    std::unique_ptr<Block<>> any{};
    std::unique_ptr<Block<std::int16_t>> whole{};
  };

  Index3 in_input(Index3 p) const { return {p.x + shift_.x, p.y + shift_.y, p.z + shift_.z}; }

  void filter(selection::WindowMedian<T>& median, Index3 output) const {
    const Index3 p = in_input(output);
    const T centre = in_.at(p.x, p.y, p.z);
    out_.at(output.x, output.y, output.z) = is_missing(in_, centre) ? centre : median.at(p.x, p.y, p.z);
  }

  /// Filters anew the outputs of a box whose windows hold missing voxels.
  void recompute_missing(const OutputTile& box, const auto& block) const {
    selection::WindowMedian<T> median(in_, border_, places_);
    const Index3 first = in_input(box.first);
    // In the windows of a row, per column that they reach.
    std::vector<std::uint8_t> missing(static_cast<std::size_t>(box.size.x + 2 * radius_.x));
    for (std::int64_t z = 0; z < box.size.z; ++z) {
      for (std::int64_t y = 0; y < box.size.y; ++y) {
        if (!block.sees_missing(y, z)) continue;
        std::fill(missing.begin(), missing.end(), 0);
        for (std::int64_t k = first.z + z - radius_.z; k <= first.z + z + radius_.z; ++k) {
          for (std::int64_t j = first.y + y - radius_.y; j <= first.y + y + radius_.y; ++j) {
            const T* row = in_.row(border_index(border_, j, in_.extent.y), border_index(border_, k, in_.extent.z));
            for (std::size_t i = 0; i < missing.size(); ++i) {
              const std::int64_t x = first.x - radius_.x + static_cast<std::int64_t>(i);
              missing[i] |= is_missing(in_, row[border_index(border_, x, in_.extent.x)]);
            }
          }
        }
        for (std::int64_t x = 0; x < box.size.x; ++x) {
          const auto window = std::span(missing).subspan(static_cast<std::size_t>(x),
                                                         static_cast<std::size_t>(std::int64_t{2} * radius_.x + 1));
          if (std::ranges::find(window, 1) == window.end()) continue;
          filter(median, {box.first.x + x, box.first.y + y, box.first.z + z});
        }
      }
    }
  }

  /// Gives the voxels of a box whose windows leave the volume their input back.
  void keep_edges(const OutputTile& box) const {
    const auto inside = [&](std::int64_t at, int axis) {
      return at >= radius_[axis] && at + radius_[axis] < in_.extent[axis];
    };
    for (std::int64_t z = box.first.z; z < box.first.z + box.size.z; ++z) {
      for (std::int64_t y = box.first.y; y < box.first.y + box.size.y; ++y) {
        const bool row_inside = inside(y + shift_.y, 1) && inside(z + shift_.z, 2);
        for (std::int64_t x = box.first.x; x < box.first.x + box.size.x; ++x) {
          if (row_inside && inside(x + shift_.x, 0)) continue;
          out_.at(x, y, z) = canonical_zero(in_.at(x + shift_.x, y + shift_.y, z + shift_.z));
        }
      }
    }
  }

  VolumeView<const T> in_;
  VolumeView<T> out_;
  Border border_;
  Radius3 radius_;
  Index3 shift_;
  std::vector<Triple<int>> places_;
};

}  // namespace

MedianParams MedianParams::resolved(const VolumeFacts& facts) const {
  MedianParams params = *this;
  params.radius = radius ? flattened(*radius, facts.extent) : facts.default_radius(1, 1);
  return params;
}

double MedianParams::cpu_ns_per_voxel(const Extent&) const {
  const Radius3 r = halo();
  const std::vector<Triple<int>> places = window_places(*this);
  const auto voxels = static_cast<double>(places.size());
  if (selection::plan_network(selection::simd_functions(), r, places)) return 0.1 * voxels;
  // A histogram that takes up a face of the window at each step, or a search in each window.
  return voxels == window_voxels(r) ? 200 + 7 * window_voxels({0, r.y, r.z}) : 5 * voxels;
}

void median_cpu(VolumeView<const float> in, VolumeView<float> out, const MedianParams& params, const Execution& e) {
  Median(in, out, params).run(e);
}
void median_cpu(VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out, const MedianParams& params,
                const Execution& e) {
  Median(in, out, params).run(e);
}
void median_cpu(VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out, const MedianParams& params,
                const Execution& e) {
  Median(in, out, params).run(e);
}

}  // namespace quietvox
