// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/filter.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The slow, readable definition of a filter, and how far an implementation may be from it.
struct Reference {
  std::string filter;
  std::function<Volume(const Volume&, const FilterConfig& resolved)> run;
  /// Largest absolute error; 0: equal in every voxel.
  std::function<double(const Volume& in, const FilterConfig& resolved)> tolerance;
  /// False where a volume of equal voxels becomes another, as the reference says.
  std::function<bool(const FilterConfig& resolved)> keeps_constants;
};

/// One line per filter. The parity suite fails for a filter that is missing here.
const std::vector<Reference>& references();

}  // namespace quietvox::test
