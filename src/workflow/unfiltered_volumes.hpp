// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/pipeline.hpp"

namespace quietvox {

/// `volume 3`, `volumes 1, 4 to 9`: volumes by their numbers, counted from 0, as people count them.
std::string describe_volumes(const std::set<std::size_t>& volumes);

/// The volumes whose numbers cannot be filtered, such as phases beside magnitudes: they stay as they are. Each is
/// judged only when its turn comes, because looking at it may mean unpacking all volumes before it.
class UnfilteredVolumes {
 public:
  explicit UnfilteredVolumes(std::span<const FilterConfig> chain) : chain_(chain) {}

  /// True where `source`, which delivers that volume, is to stay as it is.
  bool leave_out(std::size_t volume, const VolumeSource& source);
  /// Adds a warning that says which volumes are left as they are, and why.
  void warn(std::vector<Message>& warnings) const;

 private:
  std::span<const FilterConfig> chain_;
  std::map<std::string, std::set<std::size_t>> volumes_;  // by the reason
};

}  // namespace quietvox
