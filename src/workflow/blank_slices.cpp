// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/blank_slices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/swapped_volume.hpp"
#include "workflow/masked_source.hpp"

namespace quietvox {
namespace {

constexpr std::size_t most_named = 5;

constexpr std::size_t share_to_swap = 2;  // swapped slices take one in so many of the bytes of a memory limit

/// Bytes of swapped slices that are kept at a time.
std::size_t room_to_swap(const Execution& execution) {
  constexpr std::size_t enough = std::size_t{64} << 20;
  return execution.memory_limit ? std::min(enough, *execution.memory_limit / share_to_swap) : enough;
}

bool is_there(float voxel) { return std::isfinite(voxel); }

/// The value of all voxels that are not missing; none if they have several, or if all are missing.
std::optional<float> value_of(const float* voxels, std::int64_t count) {
  const float* const end = voxels + count;
  const float* const first = std::find_if(voxels, end, is_there);
  if (first == end) return std::nullopt;
  const bool is_one = std::all_of(first, end, [&](float voxel) { return voxel == *first || !is_there(voxel); });
  return is_one ? std::optional(*first) : std::nullopt;
}

bool is_all_missing(const float* voxels, std::int64_t count) { return std::none_of(voxels, voxels + count, is_there); }

/// True for voxels that are neither missing nor of this value.
auto differs_from(float value) {
  return [value](float voxel) { return is_there(voxel) && voxel != value; };
}

/// Fills those voxels of a slice along x or y that lie in `some` slices along z. `at` gives the value for a place in
/// the swapped slice.
template <class At>
void fill_slice(VolumeView<float> some, int axis, std::int64_t number, const At& at) {
  for (std::int64_t z = 0; z < some.extent.z; ++z) {
    if (axis == 1) {
      for (std::int64_t x = 0; x < some.extent.x; ++x) some.row(number, z)[x] = at(x, some.origin.z + z);
    } else {
      for (std::int64_t y = 0; y < some.extent.y; ++y) some.row(y, z)[number] = at(some.origin.z + z, y);
    }
  }
}

}  // namespace

std::size_t BlankSlices::least_memory(const VolumeSource& source) {
  const AxisSwap swap({.extent = source.extent(), .spacing = source.spacing()});
  return swap ? share_to_swap * (block_bytes(source.extent()) + block_bytes(swap(source.extent()))) : 0;
}

BlankSlices::BlankSlices(std::unique_ptr<VolumeSource> source, const Execution& execution)
    : source_(std::move(source)),
      execution_(execution.silent()),
      swap_({.extent = source_->extent(), .spacing = source_->spacing()}),
      slices_(static_cast<std::size_t>(source_->extent()[swap_.axis()])) {}

void BlankSlices::read(VolumeView<float> slices) {
  judge_ahead();
  source_->read(slices);
  if (swap_) {
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (!slices_[i].is_missing()) continue;
      fill_slice(slices, axis(), static_cast<std::int64_t>(i),
                 [](std::int64_t, std::int64_t) { return std::numeric_limits<float>::quiet_NaN(); });
    }
    return;
  }
  const std::int64_t voxels = slices.extent.slice();
  for (std::int64_t z = 0; z < slices.extent.z; ++z) {
    float* const slice = slices.row(0, z);
    Slice& known = slices_[static_cast<std::size_t>(slices.origin.z + z)];
    if (known.state == State::unknown) {
      if (const auto value = value_of(slice, voxels)) {
        judge(slices.origin.z + z, *value, slice);
      } else {
        known.state = State::image;
      }
    }
    if (known.is_missing()) std::fill_n(slice, voxels, std::numeric_limits<float>::quiet_NaN());
  }
}

void BlankSlices::judge_ahead() {
  if (!swap_ || slices_.front().state != State::unknown) return;
  BlankSlices along_z(std::make_unique<SwappedVolume>(*source_, swap_, room_to_swap(execution_), execution_),
                      execution_);
  for_each_slab(along_z, [](VolumeView<const float>) {});
  slices_ = std::move(along_z.slices_);
}

void BlankSlices::judge(std::int64_t z, float value, const float* voxels) {
  const auto next_image = [&](std::int64_t at, std::int64_t step, std::vector<float>& image) {
    const Extent size = extent();
    image.resize(static_cast<std::size_t>(size.slice()));
    for (at += step; at >= 0 && at < size.z; at += step) {
      source_->read({image.data(), {{size.x, size.y, 1}}, spacing(), {0, 0, at}});
      if (!value_of(image.data(), size.slice()) && !is_all_missing(image.data(), size.slice())) return at;
    }
    image.clear();
    return at;
  };
  if (z <= below_ || z >= above_) {
    below_ = next_image(z, -1, voxels_below_);
    above_ = next_image(z, 1, voxels_above_);
  }
  Slice& slice = slices_[static_cast<std::size_t>(z)];
  slice = {State::background, value, {}};
  // What is left of a slice is to be no less than half of what the slices beside it hold.
  const float* const end = voxels + extent().slice();
  const auto present = std::count_if(voxels, end, is_there);
  for (const auto* const beside : {&voxels_below_, &voxels_above_}) {
    if (2 * present < std::ranges::count_if(*beside, is_there)) return;
  }
  const auto differs = differs_from(value);
  const auto below = std::ranges::count_if(voxels_below_, differs),
             above = std::ranges::count_if(voxels_above_, differs);
  if (!voxels_below_.empty() && !voxels_above_.empty()) {
    std::ptrdiff_t both = 0;
    for (std::size_t i = 0; i < voxels_below_.size(); ++i)
      both += differs(voxels_below_[i]) && differs(voxels_above_[i]);
    if (both > 0 && 2 * both >= std::min(below, above)) slice.state = State::lost;
  } else if (2 * std::max(below, above) > std::ssize(voxels_below_) + std::ssize(voxels_above_)) {
    slice.state = State::added;
  }
  if (slice.is_missing() && std::any_of(voxels, end, [&](float voxel) { return voxel != value; }))
    slice.voxels.assign(voxels, end);
}

void BlankSlices::with_values(VolumeView<const float> slices,
                              const std::function<void(VolumeView<const float> slices)>& consume) const {
  if (swap_) {
    if (std::ranges::none_of(slices_, &Slice::is_missing)) return consume(slices);
    std::vector<float> voxels(slices.data, slices.data + slices.extent.voxels());
    for (std::size_t i = 0; i < slices_.size(); ++i) {
      if (!slices_[i].is_missing()) continue;
      const Slice& slice = slices_[i];
      const std::int64_t columns = swap_(extent()).x;
      fill_slice({voxels.data(), slices.extent, slices.spacing, slices.origin}, axis(), static_cast<std::int64_t>(i),
                 [&](std::int64_t x, std::int64_t y) {
                   return slice.voxels.empty() ? slice.value : slice.voxels[static_cast<std::size_t>(y * columns + x)];
                 });
    }
    slices.data = voxels.data();
    return consume(slices);
  }
  const auto at = [&](std::int64_t z) -> const Slice& {
    return slices_[static_cast<std::size_t>(slices.origin.z + z)];
  };
  std::vector<float> blank;
  for (std::int64_t z = 0, end = 0; z < slices.extent.z; z = end) {
    for (end = z + 1; end < slices.extent.z && !at(z).is_missing() && !at(end).is_missing();) ++end;
    VolumeView<const float> some = slices.slices(z, end - z);
    if (at(z).is_missing()) {
      blank.assign(static_cast<std::size_t>(some.extent.voxels()), at(z).value);
      some.data = at(z).voxels.empty() ? blank.data() : at(z).voxels.data();
    }
    consume(some);
  }
}

std::vector<std::int64_t> BlankSlices::lost() const {
  std::vector<std::int64_t> lost;
  for (std::size_t z = 0; z < slices_.size(); ++z) {
    if (slices_[z].state == State::lost) lost.push_back(static_cast<std::int64_t>(z));
  }
  return lost;
}

void LostSlices::add(const BlankSlices& slices, const std::function<std::string(std::int64_t z)>& name) {
  for (const std::int64_t z : slices.lost()) {
    if (++count_ > most_named) continue;
    const char* const axis = slices.axis() == 0 ? " along x" : slices.axis() == 1 ? " along y" : "";
    names_ += (names_.empty() ? "" : ", ") + std::to_string(z + 1) + axis + name(z);
  }
}

void LostSlices::add(const BlankSlices& slices, const io::Image& image, std::size_t volume) {
  add(slices, [&](std::int64_t z) {
    const std::string name = slices.axis() == 2 ? image.name_of_slice(volume, z) : "";
    return (image.volume_count() > 1 ? " of volume " + std::to_string(volume + 1) : "") +
           (name.empty() ? "" : " (" + name + ")");
  });
}

void LostSlices::warn(std::vector<Message>& warnings, const std::string& what_came) const {
  if (count_ == 0) return;
  const std::string more = count_ > most_named ? " and " + std::to_string(count_ - most_named) + " more" : "";
  warnings.push_back((count_ == 1
                          ? "slice " + names_ + " holds one value, although the slices beside it hold"
                          : "slices " + names_ + more + " hold one value each, although the slices beside them hold") +
                     " an image: " + what_came);
}

}  // namespace quietvox
