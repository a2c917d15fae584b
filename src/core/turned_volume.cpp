// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/turned_volume.hpp"

#include <algorithm>

#include "core/input_limits.hpp"

namespace quietvox {
namespace {

std::vector<float> room_for(const Extent& extent, const Execution& execution) {
  const auto voxels = static_cast<std::size_t>(extent.voxels());
  check_memory("the volume, which is needed whole since its slices do not lie along z,", voxels * sizeof(float),
               execution);
  return std::vector<float>(voxels);
}

/// Calls move(voxel of some turned slices, the same voxel of the whole volume as it was).
template <class Some, class Whole, class Move>
void for_pairs(const VolumeView<Some>& turned, const VolumeView<Whole>& whole, const Turning& turning,
               const Move& move) {
  const Index3 step = turning(Index3{1, whole.extent.x, whole.extent.slice()});
  for (std::int64_t y = 0; y < turned.extent.y; ++y) {  // what a cache holds of the whole for one y serves many slices
    for (std::int64_t z = 0; z < turned.extent.z; ++z) {
      Some* const some = turned.row(y, z);
      Whole* const others = whole.data + y * step.y + (z + turned.origin.z) * step.z;
      for (std::int64_t x = 0; x < turned.extent.x; ++x) move(some[x], others[x * step.x]);
    }
  }
}

}  // namespace

Turning::Turning(const VolumeFacts& facts) : axis_(2) {
  int count = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (facts.extent[axis] > 1 && !facts.is_thick(axis)) continue;
    axis_ = axis;
    ++count;
  }
  if (count != 1 || !facts.header.slices_are_even) axis_ = 2;
}

CoarseField Turning::operator()(const CoarseField& field) const {
  CoarseField turned{(*this)(field.size), {}};
  turned.values.reserve(field.values.size());
  for (std::int64_t z = 0; z < turned.size.z; ++z) {
    for (std::int64_t y = 0; y < turned.size.y; ++y) {
      for (std::int64_t x = 0; x < turned.size.x; ++x) {
        const Index3 node = (*this)(Index3{x, y, z});
        turned.values.push_back(
            field.values[static_cast<std::size_t>((node.z * field.size.y + node.y) * field.size.x + node.x)]);
      }
    }
  }
  return turned;
}

NoiseModel Turning::operator()(NoiseModel model) const {
  model.map = (*this)(model.map);
  model.signal_map = (*this)(model.signal_map);
  model.spectrum.across_axis = model.spectrum.across_axis == axis_ ? 2 : axis_;
  return model;
}

VolumeFacts Turning::operator()(VolumeFacts facts) const {
  facts.extent = (*this)(facts.extent);
  facts.spacing = (*this)(facts.spacing);
  if (facts.noise) {
    facts.noise = [turning = *this, noise = std::move(facts.noise)] { return turning(noise()); };
  }
  return facts;
}

std::vector<FilterConfig> Turning::operator()(std::span<const FilterConfig> chain) const {
  std::vector<FilterConfig> turned(chain.begin(), chain.end());
  for (FilterConfig& step : turned) {
    for (const FieldInfo& field : step.filter().fields) {
      if (field.kind != FieldKind::integer_triple && field.kind != FieldKind::real_triple) continue;
      using Values = FieldType<Triple<double>>;
      if (const auto values = Values::parse(step.get(field.name))) {
        step.set(field.name, Values::format((*this)(*values)));
      }
    }
  }
  return turned;
}

bool works_in_slices(std::span<const FilterConfig> chain) {
  const auto tells_rows_from_columns = [](const FilterConfig& step) {
    return std::ranges::any_of(step.filter().fields, [&](const FieldInfo& field) {
      const std::string value = step.get(field.name);
      return value == "row" || value == "column";
    });
  };
  return std::ranges::any_of(chain, [](const FilterConfig& step) { return step.filter().works_in_slices; }) &&
         std::ranges::none_of(chain, tells_rows_from_columns);
}

void TurnedVolume::read(VolumeView<float> slices) {
  if (voxels_.empty()) {
    voxels_ = room_for(source_.extent(), execution_);
    source_.read({voxels_.data(), source_.extent(), source_.spacing()});
  }
  for_pairs(slices, VolumeView<const float>{voxels_.data(), source_.extent()}, turning_,
            [](float& to, float from) { to = from; });
}

void turn_back(const Turning& turning, const Extent& extent, const Spacing& spacing, const Execution& execution,
               const std::function<void(const std::function<void(VolumeView<const float> slices)>& take)>& run,
               const std::function<void(VolumeView<const float> slices)>& consume) {
  std::vector<float> voxels = room_for(extent, execution);
  const VolumeView<float> whole{voxels.data(), extent, spacing};
  run([&](VolumeView<const float> turned) {
    for_pairs(turned, whole, turning, [](float from, float& to) { to = from; });
  });
  consume(whole);
}

}  // namespace quietvox
