// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/lazy_facts.hpp"

namespace quietvox::io {

HeaderFacts LazyFacts::get(std::size_t volume,
                           const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored) {
  if (header_.kind) return header_;
  const auto look = [&](std::size_t which) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = looks_.find(which); known != looks_.end()) return known->second;
    }
    NumberLooks looks;
    try {
      looks = looks_of(*stored(which), to_real_);
    } catch (const Error& error) {  // whoever filters the voxels will say what is wrong with them
      if (error.code() == Errc::cancelled) throw;
    }
    const std::lock_guard lock(mutex_);
    return looks_.emplace(which, looks).first->second;
  };
  const NumberLooks looks = look(volume);
  if (!looks.why_labels.empty()) {
    return {.kind = DataKind::labels, .kind_source = "the voxels look like labels: " + looks.why_labels};
  }
  HeaderFacts beside = beside_.of_volume(volume);
  if (beside.kind) return beside;
  if (!looks.why_phases.empty()) {
    return {.kind = DataKind::phase, .kind_source = "the voxels look like phases: " + looks.why_phases};
  }
  if (volumes_ == 3 && look_at_vectors(stored)) {
    return {.kind = DataKind::vectors, .kind_source = "the three volumes look like the parts of unit vectors"};
  }
  return beside;
}

bool LazyFacts::look_at_vectors(const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored) {
  const std::lock_guard lock(mutex_);
  if (!are_vectors_) {
    are_vectors_ = false;
    try {
      const std::array parts{stored(0), stored(1), stored(2)};
      are_vectors_ = are_unit_vectors({parts[0].get(), parts[1].get(), parts[2].get()});
    } catch (const Error& error) {  // as above
      if (error.code() == Errc::cancelled) throw;
    }
  }
  return *are_vectors_;
}

}  // namespace quietvox::io
