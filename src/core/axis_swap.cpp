// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/axis_swap.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace quietvox {

AxisSwap::AxisSwap(const VolumeFacts& facts) {
  int count = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (facts.extent[axis] > 1 && !facts.is_thick(axis)) continue;
    axis_ = axis;
    ++count;
  }
  if (count != 1 || !facts.header.slices_are_even) axis_ = 2;
}

std::vector<float> AxisSwap::swapped(const std::vector<float>& values, const Extent& extent) const {
  const Extent size = (*this)(extent);
  std::vector<float> result;
  result.reserve(values.size());
  for (std::int64_t z = 0; z < size.z; ++z) {
    for (std::int64_t y = 0; y < size.y; ++y) {
      for (std::int64_t x = 0; x < size.x; ++x) {
        const Index3 from = (*this)(Index3{x, y, z});
        result.push_back(values[static_cast<std::size_t>((from.z * extent.y + from.y) * extent.x + from.x)]);
      }
    }
  }
  return result;
}

CoarseField AxisSwap::operator()(const CoarseField& field) const {
  return {(*this)(field.size), swapped(field.values, field.size)};
}

NoiseModel AxisSwap::operator()(NoiseModel model) const {
  if (!*this) return model;
  model.map = (*this)(model.map);
  model.signal_map = (*this)(model.signal_map);
  model.spectrum.across_axis = model.spectrum.across_axis == axis_ ? 2 : axis_;
  if (model.pieces) {
    std::vector<VolumePiece> pieces;
    for (const VolumePiece& piece : *model.pieces) {
      pieces.push_back({(*this)(piece.origin), (*this)(piece.extent), swapped(piece.voxels, piece.extent)});
    }
    model.pieces = std::make_shared<const std::vector<VolumePiece>>(std::move(pieces));
  }
  return model;
}

VolumeFacts AxisSwap::operator()(VolumeFacts facts) const {
  facts.extent = (*this)(facts.extent);
  facts.spacing = (*this)(facts.spacing);
  if (facts.noise) {
    facts.noise = [swap = *this, noise = std::move(facts.noise)] { return swap(noise()); };
  }
  return facts;
}

std::vector<FilterConfig> AxisSwap::operator()(std::span<const FilterConfig> chain) const {
  std::vector<FilterConfig> swapped(chain.begin(), chain.end());
  if (!*this) return swapped;
  for (FilterConfig& step : swapped) {
    const bool is_resolved = step.is_resolved_;
    for (const FieldInfo& field : step.filter().fields) {
      if (field.kind != FieldKind::integer_triple && field.kind != FieldKind::real_triple) continue;
      using Values = FieldType<Triple<double>>;
      if (const auto values = Values::parse(step.get(field.name))) {
        step.set(field.name, Values::format((*this)(*values)));
      }
    }
    step.is_resolved_ = is_resolved;
  }
  return swapped;
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

AxisSwap axis_swap_for(std::span<const FilterConfig> chain, const VolumeFacts& facts) {
  return works_in_slices(chain) ? AxisSwap(facts) : AxisSwap();
}

}  // namespace quietvox
