// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/filter.hpp"

namespace quietvox {

/// The measure of the noise, and filters that work in slices, take z for the axis across slices. Where programs have
/// reordered axes, slices may lie along x or y instead; such a volume is swapped: that axis and z are exchanged.
///
/// operator() takes a fact of a volume to that of the swapped volume, and that one back.
class AxisSwap {
 public:
  AxisSwap() = default;  ///< of nothing
  /// Swaps the axis that is thick or has one voxel. If there is none, or several, or if it is z, nothing is swapped.
  explicit AxisSwap(const VolumeFacts&);

  /// True where there is something to swap.
  explicit operator bool() const { return axis_ != 2; }
  int axis() const { return axis_; }

  template <class T>
  Triple<T> operator()(Triple<T> values) const {
    std::swap(values[axis_], values.z);
    return values;
  }
  Extent operator()(const Extent& extent) const { return {(*this)(static_cast<const Triple<std::int64_t>&>(extent))}; }
  CoarseField operator()(const CoarseField&) const;
  NoiseModel operator()(NoiseModel) const;
  VolumeFacts operator()(VolumeFacts) const;
  /// Swaps the parts of parameters that have a value per axis. What resolved filters hold besides their parameters
  /// stays as it is.
  std::vector<FilterConfig> operator()(std::span<const FilterConfig> chain) const;

 private:
  /// Of values in a box of this extent, x fastest.
  std::vector<float> swapped(const std::vector<float>& values, const Extent& extent) const;

  int axis_ = 2;
};

/// True where a filter of the chain takes z for the axis across slices, and none tells rows from columns.
bool works_in_slices(std::span<const FilterConfig> chain);

/// How a chain is filtered: swapped where it works in slices that do not lie along z.
AxisSwap axis_swap_for(std::span<const FilterConfig> chain, const VolumeFacts&);

}  // namespace quietvox
