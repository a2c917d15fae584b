// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/rounding_check.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <tuple>

#include "core/error.hpp"
#include "io/display_format.hpp"
#include "io/voxel_loops.hpp"

namespace quietvox {
namespace {

constexpr std::int64_t about_samples = 1 << 14;
constexpr double no_picture = 0.05;  // of a step: what filters make of equal values varies less

/// Removes the most frequent of the sorted values, which is a background.
void remove_most_frequent(std::vector<float>& sorted) {
  auto begin = sorted.end(), end = begin;
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    if (last - first > std::max<std::ptrdiff_t>(end - begin, 1)) std::tie(begin, end) = std::pair(first, last);
    first = last;
  }
  sorted.erase(begin, end);
}

std::string from_to(float low, float high) { return io::format_number(low) + " to " + io::format_number(high); }

}  // namespace

RoundingCheck::RoundingCheck(const std::filesystem::path& output, io::Format format, std::size_t volumes,
                             const Execution& execution)
    : output_(output), format_(format), volumes_(volumes), execution_(execution.silent()) {}

void RoundingCheck::begin_volume(const Extent& extent, const std::optional<io::StoredIntegers>& integers) {
  ++volume_;
  integers_ = integers;
  slice_ = extent.slice();
  stride_ = (extent.voxels() / about_samples) | 1;
  std::tie(least_, most_) = io::finite_range({});
  sample_.clear();
}

void RoundingCheck::look_at(VolumeView<const float> slices) {
  if (!integers_) return;
  constexpr std::int64_t piece = 1 << 18;
  std::mutex mutex;
  parallel_for(execution_, slices.extent.voxels(), piece, [&](std::int64_t begin, std::int64_t end) {
    const auto [least, most] = io::finite_range({slices.data + begin, static_cast<std::size_t>(end - begin)});
    const std::lock_guard lock(mutex);
    least_ = std::min(least_, least);
    most_ = std::max(most_, most);
  });
  const std::int64_t past = slices.origin.z * slice_ % stride_;
  for (std::int64_t i = (stride_ - past) % stride_; i < slices.extent.voxels(); i += stride_) {
    if (std::isfinite(slices.data[i])) sample_.push_back(slices.data[i]);
  }
}

void RoundingCheck::end_volume() {
  if (!integers_ || least_ > most_) return;
  if (!is_lost()) {
    is_picture_left_ = true;
    if (warning_.empty()) judge_sample();
  } else if (lost_.empty()) {
    lost_ = place() + "values from " + from_to(least_, most_) + " would all be stored as " +
            io::format_number(real(least_));
  }
}

void RoundingCheck::check() const {
  if (!lost_.empty() && !is_picture_left_) throw Error(Errc::invalid_argument, lost_, float_remedy(format_));
}

Message RoundingCheck::warning() const {
  return lost_.empty() ? warning_ : lost_ + "; to keep them, " + float_remedy(format_);
}

std::string RoundingCheck::place() const {
  return output_.string() + ": " + (volumes_ > 1 ? "volume " + std::to_string(volume_) + ": " : "");
}

double RoundingCheck::exact(float value) const { return (value - integers_->inter) / integers_->slope; }

double RoundingCheck::stored(float value) const {
  return std::clamp(std::round(exact(value)), integers_->lowest, integers_->highest);
}

double RoundingCheck::real(float value) const { return integers_->slope * stored(value) + integers_->inter; }

bool RoundingCheck::is_lost() const {
  if (stored(least_) != stored(most_)) return false;
  const bool is_clamped = std::abs(exact(least_) - stored(least_)) > 1;  // of which the user is told elsewhere
  return most_ - least_ > no_picture * std::abs(integers_->slope) ||
         (!is_clamped && real(least_) == 0 && (least_ != 0 || most_ != 0));
}

void RoundingCheck::judge_sample() {
  constexpr double enough_steps = 32, tail = 0.01;
  constexpr double same = 1e-3;  // of a step: values that filters left as they were
  constexpr std::size_t few = 100;
  const std::string of_mean = change_of_mean();
  std::sort(sample_.begin(), sample_.end());
  remove_most_frequent(sample_);
  const auto is_whole = [&](float value) { return std::abs(exact(value) - stored(value)) <= same; };
  if (sample_.size() < few || std::ranges::all_of(sample_, is_whole)) return;
  const auto rest = static_cast<std::size_t>(tail * static_cast<double>(sample_.size()));
  const float low = sample_[rest], high = sample_[sample_.size() - 1 - rest];
  const double step = std::abs(integers_->slope);
  const bool has_few_steps = high - low < enough_steps * step;
  if (high - low < no_picture * step || (!has_few_steps && of_mean.empty())) return;
  warning_ = place() + (has_few_steps ? "most values lie from " + from_to(low, high) + " and" : "values") +
             " were rounded to " + (step == 1 ? "whole numbers" : "steps of " + io::format_number(step)) + of_mean +
             "; to keep all digits, " + float_remedy(format_);
}

/// Where many values lie between the same two steps, rounding moves them all one way.
std::string RoundingCheck::change_of_mean() const {
  constexpr double least = 0.01, least_of_step = 0.02;
  double before = 0, change = 0;
  for (const float value : sample_) {
    before += value;
    change += integers_->slope * (std::round(exact(value)) - exact(value));
  }
  before /= static_cast<double>(sample_.size());
  change /= static_cast<double>(sample_.size());
  if (std::abs(change) < std::max(least * std::abs(before), least_of_step * std::abs(integers_->slope))) return "";
  return ", which changes the mean of the volume from about " + io::format_number(before) + " to " +
         io::format_number(before + change);
}

Message float_remedy(io::Format format) {
  return format == io::Format::dicom ? Message("write NIfTI") : "give " + Parameter{"output-type", "float32"};
}

}  // namespace quietvox
