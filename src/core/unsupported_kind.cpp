// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/unsupported_kind.hpp"

namespace quietvox {
namespace {

/// An error if the filter would make nonsense of the numbers.
std::optional<Error> unsupported_kind(const Filter& filter, const HeaderFacts& header) {
  const auto refuse = [&](const std::string& why) {
    return Error(Errc::unsupported, filter.name + ": " + header.kind_source + "; " + why,
                 "use " + Parameter{"force-kind", "scalar"} + " to filter the numbers anyway");
  };
  switch (header.kind.value_or(DataKind::scalar)) {
    case DataKind::magnitude:
    case DataKind::scalar: return std::nullopt;
    case DataKind::phase:
      // Of the voxels of a window a rank filter takes one, and no mean.
      if (filter.commutes_with_rescale) return std::nullopt;
      return refuse(
          "a mean of phases is wrong where they jump from one end of their range to the other: filter the "
          "real and imaginary parts, or take the median");
    case DataKind::labels: return refuse("the numbers of labels are names, and cannot be averaged or ranked");
    case DataKind::vectors: return refuse("vectors cannot be filtered one component at a time");
    case DataKind::colours:
      return refuse("colours, and numbers that stand for them, cannot be filtered as intensities");
    case DataKind::lists: return refuse("what lies side by side in the file may lie far apart in space");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> unsupported_kind(std::span<const FilterConfig> chain, const HeaderFacts& header) {
  for (const FilterConfig& step : chain) {
    if (auto error = unsupported_kind(step.filter(), header)) return error;
  }
  return std::nullopt;
}

}  // namespace quietvox
