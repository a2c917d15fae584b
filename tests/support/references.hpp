// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/filter.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The slow, readable definition of a filter, and how far an implementation may be from it.
struct Reference {
  std::string filter;
  Volume (*run)(const Volume&, const Settings& resolved);
  double (*tolerance)(const Volume& in, const Settings& resolved);  ///< largest absolute error; 0: equal in every voxel
  /// False where a volume of equal voxels becomes another, as the reference says.
  bool (*keeps_constants)(const Settings&) = [](const Settings&) { return true; };
};

/// One line per filter. The parity suite fails for a filter that is missing here.
const std::vector<Reference>& references();

}  // namespace quietvox::test
