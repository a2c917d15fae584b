// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/median.hpp"

#include <memory>
#include <mutex>

#include "filters/selection/network_block.hpp"
#include "filters/selection/window_median.hpp"

namespace quietvox {
namespace {

using selection::OutputBox;

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
const selection::RowCodec<T>& codec_of(const selection::Lanes& lanes) {
  if constexpr (std::is_same_v<T, float>) {
    return lanes.f32;
  } else if constexpr (std::is_signed_v<T>) {
    return lanes.i16;
  } else {
    return lanes.u16;
  }
}

/// The output volume in boxes of equal size, except at its far ends.
struct Boxes {
  Extent whole, size;

  std::int64_t along(int axis) const { return (whole[axis] + size[axis] - 1) / size[axis]; }
  std::int64_t count() const { return along(0) * along(1) * along(2); }
  OutputBox operator[](std::int64_t number) const {
    const Index3 place{number % along(0), number / along(0) % along(1), number / (along(0) * along(1))};
    OutputBox box;
    for (int axis = 0; axis < 3; ++axis) {
      box.first[axis] = place[axis] * size[axis];
      box.size[axis] = std::min(size[axis], whole[axis] - box.first[axis]);
    }
    return box;
  }
};

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
    const selection::Lanes lanes = selection::lanes();
    const auto plan = selection::plan_network(lanes, radius_, places_);
    if (plan) {
      run(*plan, codec_of<T>(lanes), execution);
    } else {
      run_without_network(execution);
    }
  }

 private:
  using Block = selection::NetworkBlock<T>;

  void run(const selection::NetworkPlan& plan, const selection::RowCodec<T>& codec, const Execution& execution) const {
    const Boxes boxes{out_.extent, block_size(plan, execution)};
    std::mutex mutex;
    std::vector<std::unique_ptr<Block>> idle;  // blocks go from task to task: their memory is costly to make
    parallel_for(execution, boxes.count(), 1, [&](std::int64_t begin, std::int64_t end) {
      std::unique_ptr<Block> block;
      {
        const std::lock_guard lock(mutex);
        if (!idle.empty()) {
          block = std::move(idle.back());
          idle.pop_back();
        }
      }
      if (!block) block = std::make_unique<Block>(plan, codec, in_, out_, radius_, border_, boxes.size);
      for (std::int64_t number = begin; number < end; ++number) {
        const OutputBox box = boxes[number];
        if (block->run(box)) mend(box);
        if (border_ == Border::copy) keep_edges(box);
      }
      const std::lock_guard lock(mutex);
      idle.push_back(std::move(block));
    });
  }

  /// Blocks fill about half of a common second-level cache, and there are a few for each thread.
  Extent block_size(const selection::NetworkPlan& plan, const Execution& execution) const {
    constexpr std::int64_t cache = 384 << 10, longest_row = 512;
    const Triple<int> tile = plan.tile();
    Extent size{{std::min(out_.extent.x, longest_row), tile.y, tile.z}};
    const std::int64_t enough = out_.extent.voxels() / (4 * thread_count(execution));
    for (;;) {
      int axis = 1;  // the one whose growth saves most
      if (size.y >= out_.extent.y || size.z * radius_.y < size.y * radius_.z) axis = 2;
      if (axis == 2 && size.z >= out_.extent.z) axis = 1;
      Extent larger = size;
      larger[axis] += tile[axis];
      if (size[axis] >= out_.extent[axis] || larger.voxels() > enough || Block::bytes(plan, radius_, larger) > cache) {
        return size;
      }
      size = larger;
    }
  }

  void run_without_network(const Execution& execution) const {
    parallel_for(execution, out_.extent.y * out_.extent.z, 4, [&](std::int64_t begin, std::int64_t end) {
      selection::WindowMedian<T> median(in_, border_, places_);
      for (std::int64_t row = begin; row < end; ++row) {
        const OutputBox box{{0, row % out_.extent.y, row / out_.extent.y}, {{out_.extent.x, 1, 1}}};
        for (std::int64_t x = 0; x < out_.extent.x; ++x) filter(median, {x, box.first.y, box.first.z});
        if (border_ == Border::copy) keep_edges(box);
      }
    });
  }

  Index3 in_input(Index3 p) const { return {p.x + shift_.x, p.y + shift_.y, p.z + shift_.z}; }

  void filter(selection::WindowMedian<T>& median, Index3 output) const {
    const Index3 p = in_input(output);
    const T centre = in_.at(p.x, p.y, p.z);
    out_.at(output.x, output.y, output.z) = is_missing(in_, centre) ? centre : median.at(p.x, p.y, p.z);
  }

  /// Filters anew the outputs of a box whose windows hold missing voxels.
  void mend(const OutputBox& box) const {
    const Extent seen{{box.size.x + 2 * radius_.x, box.size.y + 2 * radius_.y, box.size.z + 2 * radius_.z}};
    const Index3 start = in_input(box.first);
    std::vector<std::uint8_t> near;  // is a voxel missing; then, is one missing here or within a window's length
    near.reserve(static_cast<std::size_t>(seen.voxels()));
    for (std::int64_t z = start.z - radius_.z; z < start.z + box.size.z + radius_.z; ++z) {
      for (std::int64_t y = start.y - radius_.y; y < start.y + box.size.y + radius_.y; ++y) {
        const T* row = in_.row(border_index(border_, y, in_.extent.y), border_index(border_, z, in_.extent.z));
        for (std::int64_t x = start.x - radius_.x; x < start.x + box.size.x + radius_.x; ++x) {
          near.push_back(is_missing(in_, row[border_index(border_, x, in_.extent.x)]));
        }
      }
    }
    const Triple<std::size_t> stride{1, static_cast<std::size_t>(seen.x), static_cast<std::size_t>(seen.slice())};
    for (int axis = 0; axis < 3; ++axis) {
      const std::size_t reach = 2 * static_cast<std::size_t>(radius_[axis]) * stride[axis];
      for (std::size_t i = 0; i + reach < near.size(); ++i) {
        for (std::size_t n = stride[axis]; n <= reach; n += stride[axis]) near[i] |= near[i + n];
      }
    }
    selection::WindowMedian<T> median(in_, border_, places_);
    for (std::int64_t z = 0; z < box.size.z; ++z) {
      for (std::int64_t y = 0; y < box.size.y; ++y) {
        const std::uint8_t* row = near.data() + (z * seen.y + y) * seen.x;
        for (std::int64_t x = 0; x < box.size.x; ++x) {
          if (row[x]) filter(median, {box.first.x + x, box.first.y + y, box.first.z + z});
        }
      }
    }
  }

  /// Gives the voxels of a box whose windows leave the volume their input back.
  void keep_edges(const OutputBox& box) const {
    const auto inside = [&](std::int64_t at, int axis) {
      return at >= radius_[axis] && at + radius_[axis] < in_.extent[axis];
    };
    for (std::int64_t z = box.first.z; z < box.first.z + box.size.z; ++z) {
      for (std::int64_t y = box.first.y; y < box.first.y + box.size.y; ++y) {
        const bool row_inside = inside(y + shift_.y, 1) && inside(z + shift_.z, 2);
        for (std::int64_t x = box.first.x; x < box.first.x + box.size.x; ++x) {
          if (row_inside && inside(x + shift_.x, 0)) continue;
          out_.at(x, y, z) = selection::kept(in_.at(x + shift_.x, y + shift_.y, z + shift_.z));
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
