// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/voxel_kind.hpp"

#include <array>

namespace quietvox::io {
namespace {

/// What `look` finds, or nothing where voxels cannot be read: whoever filters them will say what is wrong with them.
template <class Look>
auto unless_broken(const Look& look) -> decltype(look()) {
  try {
    return look();
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
    return {};
  }
}

}  // namespace

HeaderFacts KindByVoxels::get(std::size_t volume, HeaderFacts said, Rescale to_real, const StoredVolume& stored) {
  const auto look = [&]() -> NumberLooks {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = looks_.find(volume); known != looks_.end()) return known->second;
    }
    const NumberLooks looks = unless_broken([&] { return looks_of(*stored(volume), to_real); });
    const std::lock_guard lock(mutex_);
    return looks_.emplace(volume, looks).first->second;
  };
  const NumberLooks looks = look();
  const auto with_kind = [&](DataKind kind, std::string source) {
    said.kind = kind;
    said.kind_source = std::move(source);
    return said;
  };
  if (!looks.why_labels.empty()) {
    return with_kind(DataKind::labels, "the voxels look like labels: " + looks.why_labels);
  }
  if (said.kind) return said;
  if (are_vectors(volume, stored)) {
    return with_kind(DataKind::vectors, "three volumes look like the parts of vectors");
  }
  if (!looks.why_phases.empty()) {
    return with_kind(DataKind::phase, "the voxels look like phases: " + looks.why_phases);
  }
  return said;
}

bool KindByVoxels::are_vectors(std::size_t volume, const StoredVolume& stored) {
  constexpr std::size_t most_volumes = 9;  // three directions
  if (volumes_ % 3 != 0 || volumes_ > most_volumes) return false;
  const std::lock_guard lock(mutex_);
  const std::size_t first = volume / 3 * 3;
  if (const auto known = vectors_.find(first); known != vectors_.end()) return known->second;
  return vectors_[first] = unless_broken([&] {
           const std::array parts{stored(first), stored(first + 1), stored(first + 2)};
           return io::are_vectors({parts[0].get(), parts[1].get(), parts[2].get()});
         });
}

}  // namespace quietvox::io
