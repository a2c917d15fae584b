// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/unfiltered_volumes.hpp"

#include "core/unsupported_kind.hpp"

namespace quietvox {

bool UnfilteredVolumes::leave_out(std::size_t volume, const VolumeSource& source) {
  const auto why = unsupported_kind(chain_, source.header());
  if (why) volumes_[why->problem().text()].insert(volume);
  return why.has_value();
}

void UnfilteredVolumes::warn(std::vector<Message>& warnings) const {
  for (const auto& [why, volumes] : volumes_) {
    std::string list;
    for (const std::size_t volume : volumes) list += (list.empty() ? "" : ", ") + std::to_string(volume + 1);
    warnings.push_back((volumes.size() == 1 ? "volume " + list + " is left as it is: "
                                            : "volumes " + list + " are left as they are: ") +
                       why);
  }
}

}  // namespace quietvox
