// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline.hpp"

#include <algorithm>
#include <any>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>

#include "core/axis_swap.hpp"
#include "core/filled_source.hpp"
#include "core/input_limits.hpp"

namespace quietvox {
namespace {

constexpr std::int64_t block_voxels = std::int64_t{1} << 22;
constexpr std::int64_t least_blocks = 16;  // while the first is read and the last is written, little else is done

/// How a volume is cut: into slabs of so many slices, of which one is read and one written while another is filtered,
/// or each alone, where there is no room for that.
struct Plan {
  std::int64_t slices = 1;
  bool overlapped = false;
};

bool needs_whole_blocks(const FilterConfig& step) { return step.filter().needs_whole_blocks; }

/// Where the last part of a chain begins: a filter that needs whole blocks, or filters that do not.
std::size_t last_part(std::span<const FilterConfig> chain) {
  std::size_t first = chain.size() - 1;
  if (needs_whole_blocks(chain[first])) return first;
  while (first > 0 && !needs_whole_blocks(chain[first - 1])) --first;
  return first;
}

std::int64_t parts_of(std::span<const FilterConfig> chain) {
  return chain.empty() ? 0 : 1 + parts_of(chain.first(last_part(chain)));
}

/// The filters of the longest part.
std::int64_t longest_part(std::span<const FilterConfig> chain) {
  if (chain.empty()) return 0;
  const std::size_t first = last_part(chain);
  return std::max(static_cast<std::int64_t>(chain.size() - first), longest_part(chain.first(first)));
}

/// Refuses filters that give maps or take all volumes of a series.
void check_is_by_volume(std::span<const FilterConfig> chain) {
  for (const FilterConfig& step : chain) {
    if (step.filter().maps.empty() && !step.filter().takes_all_volumes) continue;
    throw Error(Errc::unsupported, step.filter().name + ": it gives maps or takes all volumes of a series",
                "filter the volumes of the series together");
  }
}

void check_can_run(std::span<const FilterConfig> chain) {
  if (chain.empty()) throw Error(Errc::invalid_argument, "there is no filter", "give one or more");
  for (const FilterConfig& step : chain) step.check_resolved();
}

/// How many slices are held in memory, for slabs of a given thickness.
class Demand {
 public:
  Demand(Extent extent, std::span<const FilterConfig> chain, const Execution& execution)
      : extent_(extent),
        halo_(std::min<std::int64_t>(total_halo(chain).z, extent.z)),
        longest_part_(longest_part(chain)),
        parts_(parts_of(chain)),
        threads_(thread_count(execution)) {
    for (const FilterConfig& step : chain) besides_ = std::max<std::int64_t>(besides_, step.filter().slabs_besides);
  }

  /// Inputs with their halos, outputs, the buffers between the filters of a part, and between parts of a chain.
  std::int64_t buffers(Plan plan) const {
    const std::int64_t input = std::min(plan.slices + 2 * halo_, extent_.z);
    const std::int64_t between = std::clamp<std::int64_t>(longest_part_ - 1, 0, 2) + parts_ - 1;
    return (plan.overlapped ? 2 : 1) * (input + plan.slices) + between * input;
  }
  /// Slices being decoded or encoded: for each, reader and writer hold the file twice and the cells twice.
  std::int64_t under_way(Plan plan) const { return 2 * std::min<std::int64_t>(threads_, plan.slices); }

  /// The most slices up to `most` that `fits`; 0 where not even one does.
  template <class Fits>
  static std::int64_t most_slices(std::int64_t most, const Fits& fits) {
    while (most > 0 && !fits(most)) --most;
    return most;
  }

  std::int64_t bytes(Plan plan) const {
    const std::int64_t slices = buffers(plan) + under_way(plan) + besides_ * plan.slices;
    return slices * extent_.slice() * static_cast<std::int64_t>(sizeof(float));
  }
  /// As many slabs as with `most` slices each, of about the same size.
  std::int64_t even_slab(std::int64_t most) const {
    const std::int64_t slabs = (extent_.z + most - 1) / most;
    return (extent_.z + slabs - 1) / slabs;
  }
  /// One slice at a time.
  std::int64_t least_bytes() const { return bytes({1, false}); }

  Plan plan(const std::optional<std::size_t>& memory_limit) const {
    const std::int64_t limit = static_cast<std::int64_t>(memory_limit.value_or(0));
    // Without a limit twice the volume, which one filter needs when it takes the volume whole; see below for chains.
    const auto fits = [&](Plan plan) { return memory_limit ? bytes(plan) <= limit : buffers(plan) <= 2 * extent_.z; };

    // Enough for all threads, and not much besides what is computed twice: the reach of a chain's later filters, and on
    // a GPU what several passes reach.
    const std::int64_t voxels = std::min(block_voxels, extent_.voxels() / least_blocks);
    const std::int64_t block = std::max({voxels / extent_.slice(), threads_, 2 * halo_, std::int64_t{1}});
    const std::int64_t overlapped = most_slices(std::min(block, extent_.z / 4), [&](std::int64_t slices) {
      return fits({slices, true});
    });
    if (overlapped >= std::max<std::int64_t>(halo_, 1)) return {overlapped, true};
    const std::int64_t alone = most_slices(extent_.z, [&](std::int64_t slices) { return fits({slices, false}); });
    // Slabs shorter than what they reach would make a chain compute most of the volume again and again.
    if (!memory_limit && alone < halo_) return {extent_.z, false};
    if (memory_limit) check_limit("filtering one slice", static_cast<std::uint64_t>(least_bytes()), *memory_limit);
    return {even_slab(std::max<std::int64_t>(alone, 1)), false};
  }

 private:
  Extent extent_;
  std::int64_t halo_, longest_part_, parts_, threads_;
  std::int64_t besides_ = 0;  ///< slabs that a filter holds
};

/// Room for voxels, whatever stands in it.
class Buffer {
 public:
  explicit Buffer(std::int64_t voxels = 0)
      : voxels_(voxels), data_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(voxels))) {}

  float* data() const { return data_.get(); }
  std::int64_t voxels() const { return voxels_; }

 private:
  std::int64_t voxels_;
  std::unique_ptr<float[]> data_;
};

/// Consecutive slices of a source in memory.
class SliceWindow {
 public:
  SliceWindow(VolumeSource& source, std::int64_t slices)
      : source_(&source), extent_(source.extent()), buffer_(slices * extent_.slice()) {}

  /// Holds the slices [first, last) from now on. Slices that `before`, which may be this window, holds are copied, not
  /// read again.
  void move_to(std::int64_t first, std::int64_t last, const SliceWindow& before) {
    const std::int64_t slice = extent_.slice();
    const std::int64_t kept =
        first < before.first_ ? 0 : std::clamp<std::int64_t>(before.last_ - first, 0, last - first);
    if (kept > 0) {
      const float* const from = before.buffer_.data() + (first - before.first_) * slice;
      std::memmove(buffer_.data(), from, sizeof(float) * static_cast<std::size_t>(kept * slice));
    }
    first_ = first;
    last_ = last;
    if (last - first > kept) source_->read(view().slices(kept, last - first - kept));
  }

  VolumeView<float> view() const {
    return {buffer_.data(), {{extent_.x, extent_.y, last_ - first_}}, source_->spacing(), {0, 0, first_}};
  }
  std::int64_t room() const { return buffer_.voxels() / extent_.slice(); }

 private:
  VolumeSource* source_;
  Extent extent_;
  Buffer buffer_;
  std::int64_t first_ = 0, last_ = 0;
};

/// What a stage has to do for a slab.
struct StageJob {
  StageTimes::Stage& stage;
  std::function<void()> run;
};

/// Runs jobs side by side and notes how long each took, and how long the others waited for the last of them.
void run_timed(const Execution& execution, std::span<const StageJob> jobs) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  std::vector<Clock::time_point> starts(jobs.size()), ends(jobs.size());
  std::vector<std::function<void()>> timed;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    timed.emplace_back([&, i] {
      starts[i] = Clock::now();
      jobs[i].run();
      ends[i] = Clock::now();
      jobs[i].stage.busy += seconds(ends[i] - starts[i]);
    });
  }
  if (timed.size() == 1) {
    timed.front()();
  } else {
    parallel_invoke(execution, timed);
  }
  const auto last = std::ranges::max_element(ends);
  const auto slowest = static_cast<std::size_t>(last - ends.begin());
  const Clock::time_point end = std::exchange(*last, starts[slowest]);  // it may start when the others have ended
  jobs[slowest].stage.awaited += seconds(end - std::ranges::max(ends));
}

/// The slices that filtering [first, last) reaches.
std::pair<std::int64_t, std::int64_t> reached(std::int64_t first, std::int64_t last,
                                              std::span<const FilterConfig> chain, Extent extent) {
  const std::int64_t halo = total_halo(chain).z;
  return {std::max<std::int64_t>(first - halo, 0), std::min(last + halo, extent.z)};
}

/// The last part of a chain, and the source as the filters before it leave it. If it needs whole blocks, missing voxels
/// are filled in before it, and made missing again after it.
class LastPart {
 public:
  /// `executions`: one for each part, in order; the parts before the last run when the source is read.
  LastPart(VolumeSource& source, std::span<const FilterConfig> chain, const Backend& backend,
           std::span<const Execution> executions);

  VolumeSource& source() const { return filled_ ? *filled_ : before_ ? *before_ : source_; }
  std::span<const FilterConfig> filters() const { return filters_; }
  /// Makes missing voxels missing again in the results of slices that were read.
  void restore(VolumeView<float> slices) const {
    if (filled_) filled_->restore(slices);
  }

 private:
  VolumeSource& source_;
  std::span<const FilterConfig> filters_;
  std::unique_ptr<VolumeSource> before_;  ///< null where the chain has one part
  std::unique_ptr<FilledSource> filled_;
};

/// A source seen through filters.
class FilteredVolume final : public VolumeSource {
 public:
  FilteredVolume(VolumeSource& source, std::span<const FilterConfig> chain, const Backend& backend,
                 std::span<const Execution> executions)
      : source_(source),
        part_(source, chain, backend, executions),
        window_(part_.source(), 0),
        backend_(backend),
        execution_(executions.back()) {}

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }

  void read(VolumeView<float> slices) override {
    const std::span<const FilterConfig> filters = part_.filters();
    const std::int64_t begin = slices.origin.z, end = begin + slices.extent.z, all = extent().z;
    const auto [first, last] = reached(begin, end, filters, extent());
    if (last - first > window_.room()) {
      SliceWindow larger(part_.source(), std::min(slices.extent.z + 2 * total_halo(filters).z, all));
      larger.move_to(first, last, window_);
      window_ = std::move(larger);
    } else {
      window_.move_to(first, last, window_);
    }
    const auto fraction = [&](std::int64_t z) { return static_cast<double>(z) / static_cast<double>(all); };
    Execution execution = execution_.part(fraction(begin), fraction(end));
    execution.kept = &kept_;
    backend_.run(filters, window_.view(), slices, execution);
    if (end == all) kept_.reset();
    part_.restore(slices);
  }

 private:
  VolumeSource& source_;
  LastPart part_;
  SliceWindow window_;
  const Backend& backend_;
  Execution execution_;
  std::any kept_;
};

LastPart::LastPart(VolumeSource& source, std::span<const FilterConfig> chain, const Backend& backend,
                   std::span<const Execution> executions)
    : source_(source), filters_(chain.subspan(last_part(chain))) {
  if (const auto before = chain.first(last_part(chain)); !before.empty())
    before_ = std::make_unique<FilteredVolume>(source, before, backend, executions.first(executions.size() - 1));
  if (needs_whole_blocks(filters_.back()))
    filled_ = std::make_unique<FilledSource>(before_ ? *before_ : source_, filters_.back(), executions.back());
}

/// Executions for parts that run at the same time; they report the mean of their progress.
std::vector<Execution> executions_of_parts(std::int64_t parts, const Execution& execution) {
  std::vector<Execution> executions(static_cast<std::size_t>(parts), execution);
  if (!execution.progress || parts == 1) return executions;
  struct Shared {
    std::mutex mutex;
    std::vector<double> done;
  };
  const auto shared = std::make_shared<Shared>();
  shared->done.resize(executions.size());
  for (std::size_t i = 0; i < executions.size(); ++i) {
    executions[i].progress = [shared, i, report = execution.progress](double fraction) {
      const std::lock_guard lock(shared->mutex);
      shared->done[i] = std::max(shared->done[i], fraction);
      report(std::accumulate(shared->done.begin(), shared->done.end(), 0.0) / static_cast<double>(shared->done.size()));
    };
  }
  return executions;
}

}  // namespace

void for_each_slab(VolumeSource& source, const std::function<void(VolumeView<float>)>& body) {
  // As few reads as memory allows: a source that filters may compute the reach of its windows anew for each.
  constexpr std::int64_t most_slices = 16, most_voxels = std::int64_t{1} << 22;
  const Extent extent = source.extent();
  const std::int64_t together =
      std::min(std::clamp<std::int64_t>(most_voxels / extent.slice(), 1, most_slices), extent.z);
  std::vector<float> buffer(static_cast<std::size_t>(together * extent.slice()));
  for (std::int64_t first = 0; first < extent.z; first += together) {
    const std::int64_t slices = std::min(together, extent.z - first);
    const VolumeView<float> slab{buffer.data(), {extent.x, extent.y, slices}, source.spacing(), {0, 0, first}};
    source.read(slab);
    body(slab);
  }
}

double middle_if_far(const Range<double>& range) {
  constexpr double far = 1024;  // half ranges: a thousandth of one is 8 steps of a float there
  const double middle = range.min / 2 + range.max / 2, half = range.max / 2 - range.min / 2;
  return half > 0 && std::abs(middle) > far * half ? middle : 0;
}

Range<double> intensities(VolumeSource& source) {
  float min = std::numeric_limits<float>::infinity(), max = -min;
  for_each_slab(source, [&](VolumeView<const float> slab) {
    for (std::int64_t i = 0; i < slab.extent.voxels(); ++i) {
      if (is_missing(slab, slab.data[i])) continue;
      min = std::min(min, slab.data[i]);
      max = std::max(max, slab.data[i]);
    }
  });
  return min <= max ? Range<double>{min, max} : Range<double>{0, 0};
}

VolumeFacts header_facts(const VolumeSource& source) {
  return {.extent = source.extent(), .spacing = source.spacing(), .header = source.header()};
}

std::vector<FilterConfig> resolve_by_facts(std::span<const FilterConfig> chain, const VolumeFacts& facts) {
  const AxisSwap swap = axis_swap_for(chain, facts);
  std::vector<FilterConfig> resolved;
  for (const FilterConfig& step : swap(chain)) resolved.push_back(step.resolved(swap(facts)));
  return swap(resolved);
}

std::vector<FilterConfig> resolve_by_header(std::span<const FilterConfig> chain, const VolumeSource& source) {
  return resolve_by_facts(chain, header_facts(source));
}

std::vector<FilterConfig> resolve_chain(std::span<const FilterConfig> chain, VolumeSource& source,
                                        const Backend& backend, const Execution& execution,
                                        const NoiseMeasure& measure) {
  check_is_by_volume(chain);
  std::vector<FilterConfig> resolved;
  for (const FilterConfig& step : chain) {
    const auto ask = [&](const auto& question) {
      if (resolved.empty()) return question(source);
      const std::vector<Execution> silent(static_cast<std::size_t>(parts_of(resolved)), execution.silent());
      FilteredVolume filtered(source, resolved, backend, silent);
      return question(filtered);
    };
    VolumeFacts facts = header_facts(source);
    facts.execution = execution.silent();
    facts.noise = found_once([&] {
      NoiseModel model = ask([&](VolumeSource& volume) { return measure(volume, execution.silent()); });
      if (!resolved.empty()) model.pieces = nullptr;  // what a filter leaves depends on the signal
      return model;
    });
    facts.intensities = found_once([&] { return ask(intensities); });
    resolved.push_back(step.resolved(facts));
  }
  return resolved;
}

std::size_t least_memory(const Extent& extent, std::span<const FilterConfig> chain, const Execution& execution) {
  return static_cast<std::size_t>(Demand(extent, chain, execution).least_bytes());
}

StageTimes filter_volume(VolumeSource& source, std::span<const FilterConfig> chain, const Backend& backend,
                         const Execution& execution, const std::function<void(VolumeView<const float>)>& consume) {
  check_is_by_volume(chain);
  check_can_run(chain);
  const Extent extent = source.extent();
  const Demand demand(extent, chain, execution);
  const std::vector<Execution> executions = executions_of_parts(parts_of(chain), execution);
  const LastPart part(source, chain, backend, executions);
  Plan plan = demand.plan(execution.memory_limit);
  const auto bytes = [](std::int64_t count) { return static_cast<std::uint64_t>(count); };
  if (!execution.memory_limit && bytes(demand.bytes(plan)) > memory_budget(execution)) {
    check_memory("filtering one slice", bytes(demand.least_bytes()), execution);
    plan = demand.plan(memory_budget(execution));
  }
  const std::int64_t slabs = (extent.z + plan.slices - 1) / plan.slices;
  const std::int64_t window = std::min(plan.slices + 2 * total_halo(part.filters()).z, extent.z);
  std::vector<SliceWindow> inputs;
  std::vector<Buffer> outputs;
  for (int i = 0; i < (plan.overlapped ? 2 : 1); ++i) {
    inputs.emplace_back(part.source(), window);
    outputs.emplace_back(plan.slices * extent.slice());
  }
  const auto of = [](auto& buffers, std::int64_t slab) -> auto& {
    return buffers[static_cast<std::size_t>(slab) % buffers.size()];
  };
  const auto output = [&](std::int64_t slab) {
    const std::int64_t first = slab * plan.slices;
    return VolumeView<float>{of(outputs, slab).data(),
                             {{extent.x, extent.y, std::min(plan.slices, extent.z - first)}},
                             source.spacing(),
                             {0, 0, first}};
  };
  const auto read = [&](std::int64_t slab) {
    const VolumeView<float> wanted = output(slab);
    const auto [first, last] = reached(wanted.origin.z, wanted.origin.z + wanted.extent.z, part.filters(), extent);
    of(inputs, slab).move_to(first, last, of(inputs, slab + 1));
  };
  std::any kept;
  const auto filter = [&](std::int64_t slab) {
    const VolumeView<float> out = output(slab);
    const auto fraction = [&](std::int64_t z) { return static_cast<double>(z) / static_cast<double>(extent.z); };
    Execution of_slab = executions.back().part(fraction(out.origin.z), fraction(out.origin.z + out.extent.z));
    of_slab.kept = &kept;
    backend.run(part.filters(), of(inputs, slab).view(), out, of_slab);
    if (slab + 1 == slabs) kept.reset();
    part.restore(out);
  };
  StageTimes times;
  const auto reading = [&](std::int64_t slab) { return StageJob{times.read, [&, slab] { read(slab); }}; };
  const auto filtering = [&](std::int64_t slab) { return StageJob{times.filter, [&, slab] { filter(slab); }}; };
  const auto consuming = [&](std::int64_t slab) {
    return StageJob{times.consume, [&, slab] { consume(output(slab)); }};
  };
  if (!plan.overlapped) {
    for (std::int64_t slab = 0; slab < slabs; ++slab) {
      for (const StageJob& job : {reading(slab), filtering(slab), consuming(slab)}) run_timed(execution, {&job, 1});
    }
    return times;
  }
  for (std::int64_t step = 0; step < slabs + 2; ++step) {
    check_stop(execution.stop);
    std::vector<StageJob> jobs;
    if (step < slabs) jobs.push_back(reading(step));
    if (step >= 2) jobs.push_back(consuming(step - 2));
    if (step >= 1 && step <= slabs) jobs.push_back(filtering(step - 1));
    run_timed(execution, jobs);
  }
  return times;
}

}  // namespace quietvox
