// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/filters/filter_support.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/axis_swap.hpp"
#include "core/filled_source.hpp"
#include "core/memory_volume.hpp"
#include "itk_adapters/filters/setter_names.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/resource_error.hpp"

namespace quietvox {

namespace {

/// A volume that lives longer than its readers.
class BorrowedVolume final : public VolumeSource {
 public:
  explicit BorrowedVolume(VolumeSource& volume) : volume_(volume) {}
  Extent extent() const override { return volume_.extent(); }
  Spacing spacing() const override { return volume_.spacing(); }
  HeaderFacts header() const override { return volume_.header(); }
  void read(VolumeView<float> slices) override { volume_.read(slices); }

 private:
  VolumeSource& volume_;
};

}  // namespace

std::string itk_message(const std::exception& exception) {
  if (const auto* const error = dynamic_cast<const Error*>(&exception)) return with_setters(error->message());
  if (const auto error = resource_error(exception)) return error->problem().text();
  return exception.what();
}

bool swaps_axes(const FilterConfig& settings, const VolumeFacts& facts) {
  return static_cast<bool>(axis_swap_for(std::span(&settings, 1), facts));
}

std::unique_ptr<VolumeFilter> volume_filter(const FilterConfig& settings, Stabilise stabilise, VolumeSource& volume,
                                            const Backend& backend, const Execution& execution,
                                            std::vector<Message>& warnings) {
  LostSlices lost;
  const auto measure = [&](VolumeSource& reaching, const Execution& silent) {
    BlankSlices slices(std::make_unique<BorrowedVolume>(reaching), silent);
    NoiseModel model = measure_noise_for(stabilise, slices, silent);
    if (&reaching == &volume) lost.add(slices, [](std::int64_t) { return ""; });
    return model;
  };
  auto filter = std::make_unique<VolumeFilter>(VolumeChain{std::span(&settings, 1), stabilise}, volume, backend,
                                               execution, measure);
  std::ranges::move(filter->warnings(), std::back_inserter(warnings));
  lost.warn(warnings, "not measured, but filtered like others, which are filtered with it");
  return filter;
}

FilledSlices::FilledSlices(const VolumeView<const float>& slices, const FilterConfig& resolved,
                           const Execution& execution)
    : slices_({slices.data, slices.extent, slices.spacing}),
      source_(std::make_unique<FilledSource>(slices_, resolved, execution)),
      voxels_(static_cast<std::size_t>(slices.extent.voxels())),
      filled_{voxels_.data(), slices.extent, slices.spacing} {
  source_->read(filled_);
  filled_.origin = slices.origin;
}

FilledSlices::~FilledSlices() = default;

void FilledSlices::restore(VolumeView<float> results) const {
  for (int axis = 0; axis < 3; ++axis) results.origin[axis] -= filled_.origin[axis];
  source_->restore(results);
}

}  // namespace quietvox
