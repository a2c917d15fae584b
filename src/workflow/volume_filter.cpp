// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/volume_filter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/measure_noise.hpp"
#include "core/axis_swap.hpp"
#include "core/cut_out_background.hpp"
#include "core/swapped_volume.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/masked_source.hpp"

namespace quietvox {
namespace {

/// The standard deviation that noise gives the difference of neighbours within a slice.
double difference_of_neighbours(const NoiseModel& noise) {
  double correlation = 0;
  for (int axis = 0; axis < 3; ++axis) {
    Triple<double> step{};
    step[axis] = 1;
    if (axis != noise.spectrum.across_axis) correlation += noise.spectrum.correlation(step) / 2;
  }
  return noise.sigma * std::sqrt(2 * std::max(1 - correlation, 0.0));
}

void mark_too(std::vector<bool>& marks, const std::vector<bool>& others) {
  marks.resize(others.size());
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = marks[i] || others[i];
}

/// A volume that remembers where its background was cut out, or lies a panel of one value, as it is read, and in a
/// single slice what is written there: in a volume, what is as small may be the top of an object. The background is
/// missing, so that the object's rim is not drawn towards it, unless the voxels are counts, which may well be 0 there.
class MarkedSource final : public VolumeSource {
 public:
  /// `values`: of the background and of panels; NaN where it is missing.
  MarkedSource(VolumeSource& source, std::vector<float> values, const NoiseModel& noise, const Execution& execution)
      : source_(source),
        values_(std::move(values)),
        background_(noise.masked ? noise.background : std::numeric_limits<float>::quiet_NaN()),
        is_missing_(noise.distribution != NoiseDistribution::poisson),
        difference_(difference_of_neighbours(noise)),
        execution_(execution.silent()),
        slices_(static_cast<std::size_t>(source.extent().z)) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override {
    source_.read(slices);
    parallel_for(execution_, slices.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t z = begin; z < end; ++z) {
        Slice& slice = slices_[static_cast<std::size_t>(slices.origin.z + z)];
        float* const voxels = slices.row(0, z);
        slice = {};
        std::vector<bool> background;
        for (const float value : values_) {
          const auto is_of_it = [&](float voxel) { return is_same(voxel, value); };
          if (std::none_of(voxels, voxels + slices.extent.slice(), is_of_it)) continue;
          const bool is_panel = !std::isnan(value) && value != background_;
          const std::vector<bool> marks = marks_of(value, is_panel, voxels, slices.extent);
          mark_too(slice.marks, marks);
          if (!is_panel) mark_too(background, marks);
        }
        for (std::size_t i = 0; i < slice.marks.size(); ++i) {
          if (!slice.marks[i]) continue;
          if (slice.values.empty() || !is_same(slice.values.back().second, voxels[i])) {
            slice.values.emplace_back(i, voxels[i]);
          }
          if (is_missing_ && !background.empty() && background[i]) voxels[i] = std::numeric_limits<float>::quiet_NaN();
        }
      }
    });
  }
  /// Gives what was marked in slices that were read its values back.
  void restore(VolumeView<float> slices) const {
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      float* const voxels = slices.row(0, z);
      const Slice& slice = slices_[static_cast<std::size_t>(slices.origin.z + z)];
      auto next = slice.values.begin();
      float value = 0;
      for (std::size_t i = 0; i < slice.marks.size(); ++i) {
        if (!slice.marks[i]) continue;
        if (next != slice.values.end() && next->first == i) value = (next++)->second;
        voxels[i] = value;
      }
    }
  }

 private:
  struct Slice {
    std::vector<bool> marks{};
    std::vector<std::pair<std::size_t, float>> values{};  ///< of marked voxels, from this place on
  };

  /// Of an area of this value, and what is written in it.
  std::vector<bool> marks_of(float value, bool is_panel, const float* voxels, const Extent& extent) const {
    std::vector<bool> marks = cut_out_background(voxels, extent.x, extent.y, value);
    if (slices_.size() > 1) return marks;
    // In a panel steep things may be parts of a picture that lies on it: only what has few values is writing there.
    const double steep = is_panel ? std::numeric_limits<double>::infinity() : difference_;
    const std::vector<bool> writing = writing_in_background(voxels, extent.x, extent.y, value, marks, steep);
    mark_too(marks, writing);
    return marks;
  }

  VolumeSource& source_;
  std::vector<float> values_;
  float background_;
  bool is_missing_;
  double difference_;
  Execution execution_;
  std::vector<Slice> slices_;  // of their own, as one may be read while another is written
};

}  // namespace

MemoryDemand memory_demand(const VolumeChain& of, const VolumeSource& source, const Backend& backend,
                           const Execution& execution) {
  const Extent extent = source.extent();
  const auto voxels = static_cast<std::size_t>(extent.voxels());
  const int threads = thread_count(execution);
  const AxisSwap swap = axis_swap_for(of.filters, header_facts(source));
  const std::vector<FilterConfig> chain = swap(of.filters);
  const Extent swapped = swap(extent);
  std::size_t bytes = 0;
  if (may_stabilise(chain, of.stabilise, source) || of.is_chosen) bytes += block_bytes(extent);
  if (of.is_chosen) {  // marks
    const std::int64_t at_once = swapped.z == 1 ? 32 : std::int64_t{24} * threads;
    bytes += voxels / 8 + static_cast<std::size_t>(swapped.slice() * at_once);
  }
  if (swap) bytes += 2 * voxels * sizeof(float);  // the volume, and the result
  std::size_t working = 0;  // filters of blocks keep some from slab to slab; others run one after another
  for (const FilterConfig& step : chain) {
    const std::size_t of_step = backend.name() == "cpu" ? step.working_bytes(swapped, threads) : 0;
    if (step.filter().needs_whole_blocks) {
      bytes += of_step + voxels / 8 + static_cast<std::size_t>(swapped.slice() * 6 * (threads + 1));  // what fills in
    } else {
      working = std::max(working, of_step);
    }
  }
  bytes += working;
  // Blank slices are found, and the noise is measured, before any of that is taken.
  const std::size_t before =
      std::max(BlankSlices::least_memory(source),
               may_measure_noise(of.filters, of.stabilise, source) ? memory_to_measure_noise(extent) : 0);
  return {.besides = bytes,
          .least = std::max(least_memory(swapped, chain, execution), before - std::min(before, bytes))};
}

VolumeFilter::VolumeFilter(const VolumeChain& chain, VolumeSource& source, const Backend& backend,
                           const Execution& execution, const NoiseMeasure& measure)
    : frame_(std::make_unique<FilterFrame>(chain.filters, source, execution)),
      backend_(backend),
      execution_(execution),
      by_header_(resolve_by_header(frame_->chain(), frame_->source())),
      stabilise_(chain.stabilise),
      is_chosen_(chain.is_chosen),
      is_masked_(chain.is_masked) {
  const std::span<const FilterConfig> filters = frame_->chain();
  VolumeSource& filtered = frame_->source();
  is_mixed_ = stabilise_ == Stabilise::automatic && filters.size() > 1 && waits_for_noise(by_header_.front()) &&
              !may_stabilise(filters, stabilise_, filtered) && may_stabilise(filters.first(1), stabilise_, filtered);
  const auto remember = [&](VolumeSource& reaching, const Execution& step_execution) {
    const NoiseModel model = measure(frame_->as_it_is(reaching), step_execution);
    noise_.push_back(frame_->by_volume(model));
    noise_.back().pieces = nullptr;
    return frame_->by_filters(model);
  };
  std::optional<NoiseModel> of_first;  // of what reaches the first filter
  const auto measure_first = [&] {
    is_first_measured_ = true;
    return of_first.emplace(remember(filtered, execution.silent()));
  };
  stabilisation_ = find_stabilisation(filters, chain.stabilise, filtered, measure_first);
  std::optional<StabilisedSource> stabilised;
  if (stabilisation_) {
    stabilised.emplace(filtered, *stabilisation_, execution);
    of_first = stabilisation_->noise_after();
  }
  VolumeSource& first = stabilised ? static_cast<VolumeSource&>(*stabilised) : filtered;
  resolved_ = resolve_chain(filters, first, backend, execution, [&](VolumeSource& reaching, const Execution& of_step) {
    if (&reaching != &first) return remember(reaching, of_step);
    return of_first ? *of_first : measure_first();
  });
}

VolumeFilter::~VolumeFilter() = default;

std::vector<FilterConfig> VolumeFilter::resolved() const { return frame_->by_volume(resolved_); }

std::vector<Message> VolumeFilter::warnings() const {
  std::vector<Message> warnings;
  std::size_t measured = 0;
  for (std::size_t step = 0; step < resolved_.size(); ++step) {
    const bool asks = waits_for_noise(by_header_[step]);
    // Where sigma was given, nothing was measured, although other parameters wait for the noise.
    if (step == 0 ? !is_first_measured_ : !asks || measured == noise_.size()) continue;
    const NoiseModel& noise = noise_[measured++];
    const auto of_step = noise_warnings(by_header_[step], resolved_[step], noise, is_chosen_);
    warnings.insert(warnings.end(), of_step.begin(), of_step.end());
    if (step == 0 && is_mixed_ && Stabilisation::helps(noise)) {
      warnings.emplace_back(
          "the noise follows the value, and is not made Gaussian for this chain: run the filters that go by the noise "
          "first, and the others on their result");
    }
    if (step == 0 && is_asked_for(stabilise_) && !stabilisation_ && of_step.empty()) {
      warnings.push_back(nothing_is_stabilised(noise));
    }
  }
  return warnings;
}

std::vector<float> VolumeFilter::kept_values() const {
  if (!is_chosen_ || noise_.empty()) return {};
  constexpr double fine = 0.5;  // of sigma: noise hardly ever makes one value of squares of voxels then
  const NoiseModel& noise = noise_.front();
  std::vector<float> values;
  if (noise.step < fine * noise.sigma) {
    values = noise.uniform_values;
    if (noise.masked) values.push_back(noise.background);
  }
  // What is written in one that is missing, by pixel padding, is kept too.
  const bool may_be_missing = frame_->source().extent().z == 1 && !is_masked_;
  if (may_be_missing) values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

void VolumeFilter::run(const std::function<void(VolumeView<const float> slices)>& consume) const {
  frame_->run([&](const auto& take) { run_in_frame(take); }, consume);
}

void VolumeFilter::run_in_frame(const std::function<void(VolumeView<const float> slices)>& consume) const {
  std::optional<MarkedSource> marked;
  if (std::vector<float> values = kept_values(); !values.empty()) {
    marked.emplace(frame_->source(), std::move(values), noise_.front(), execution_);
  }
  VolumeSource& source = marked ? *marked : frame_->source();
  std::optional<StabilisedSource> stabilised;
  if (stabilisation_) stabilised.emplace(source, *stabilisation_, execution_);
  VolumeSource& filtered = stabilised ? static_cast<VolumeSource&>(*stabilised) : source;
  if (!marked && !stabilised) {
    filter_volume(filtered, resolved_, backend_, execution_, consume);
    return;
  }
  std::vector<float> block;
  filter_volume(filtered, resolved_, backend_, execution_, [&](VolumeView<const float> slices) {
    const std::int64_t together = slices_in_block(slices.extent);
    for (std::int64_t z = 0; z < slices.extent.z; z += together) {
      const VolumeView<const float> some = slices.slices(z, std::min(together, slices.extent.z - z));
      block.assign(some.data, some.data + some.extent.voxels());
      const VolumeView<float> result{block.data(), some.extent, some.spacing, some.origin};
      if (stabilised) stabilisation_->undo(result, execution_);
      if (marked) marked->restore(result);
      consume(result);
    }
  });
}

}  // namespace quietvox
