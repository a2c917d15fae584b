// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/unfiltered_volumes.hpp"

#include <iterator>

#include "core/unsupported_kind.hpp"

namespace quietvox {

std::string describe_volumes(const std::set<std::size_t>& volumes) {
  std::string list;
  for (auto first = volumes.begin(); first != volumes.end();) {
    auto last = first;
    for (auto next = std::next(first); next != volumes.end() && *next == *last + 1; ++next) last = next;
    if (*last < *first + 2) last = first;  // two in a row are no range
    list += (list.empty() ? "" : ", ") + std::to_string(*first + 1);
    if (last != first) list += " to " + std::to_string(*last + 1);
    first = std::next(last);
  }
  return (volumes.size() == 1 ? "volume " : "volumes ") + list;
}

bool UnfilteredVolumes::leave_out(std::size_t volume, const VolumeSource& source) {
  const auto why = unsupported_kind(chain_, source.header());
  if (why) volumes_[why->problem().text()].insert(volume);
  return why.has_value();
}

void UnfilteredVolumes::warn(std::vector<Message>& warnings) const {
  for (const auto& [why, volumes] : volumes_) {
    warnings.push_back(describe_volumes(volumes) +
                       (volumes.size() == 1 ? " is left as it is: " : " are left as they are: ") + why);
  }
}

}  // namespace quietvox
