// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "io/format_text.hpp"

namespace quietvox {
namespace {

constexpr double enough_steps = 50;  // between the least and the greatest value

/// The least and the greatest of the values that are finite; infinities the wrong way round where none is.
std::pair<float, float> finite_range(std::span<const float> values) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float least = infinity, most = -infinity;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return {least, most};
}

}  // namespace

Rounding::Rounding(const std::filesystem::path& output, io::Format format,
                   const std::optional<io::StoredIntegers>& integers, const Execution& execution)
    : output_(output), format_(format), integers_(integers), execution_(execution.silent()) {}

void Rounding::look_at(VolumeView<const float> slices) {
  if (!is_wanted()) return;
  constexpr std::int64_t piece = 1 << 18;
  std::mutex mutex;
  parallel_for(execution_, slices.extent.voxels(), piece, [&](std::int64_t begin, std::int64_t end) {
    const std::span values(slices.data + begin, static_cast<std::size_t>(end - begin));
    const auto [least, most] = finite_range(values);
    const std::lock_guard lock(mutex);
    least_ = std::min(least_, least);
    most_ = std::max(most_, most);
  });
  // What becomes of single values matters only where there are few numbers for them.
  if (is_lossy_ || !is_coarse()) return;
  const float* const end = slices.data + slices.extent.voxels();
  is_lossy_ = std::any_of(slices.data, end, [this](float value) {
    constexpr double same = 1e-3;  // of a step: real values that filters left as they were
    return std::isfinite(value) && std::abs(exact(value) - stored(value)) > same;
  });
}

bool Rounding::is_coarse() const { return most_ - least_ < enough_steps * std::abs(integers_->slope); }

double Rounding::stored(float value) const {
  return std::clamp(std::round(exact(value)), integers_->lowest, integers_->highest);
}

double Rounding::exact(float value) const { return (value - integers_->inter) / integers_->slope; }

double Rounding::real(float value) const { return integers_->slope * stored(value) + integers_->inter; }

bool Rounding::is_lost() const {
  constexpr double variation = 0.05;  // of a step: less is what filters make of equal values
  const double step = std::abs(integers_->slope);
  if (least_ > most_ || stored(least_) != stored(most_)) return false;
  const bool is_clamped = std::abs(exact(least_) - stored(least_)) > 1;  // of which voxels are counted
  return most_ - least_ > variation * step || (!is_clamped && real(least_) == 0 && (least_ != 0 || most_ != 0));
}

void Rounding::check() const {
  if (!is_wanted() || !is_lost()) return;
  throw Error(Errc::invalid_argument,
              output_.string() + ": " + range() + " would all be stored as " + io::format_text(real(least_)), remedy());
}

Message Rounding::warning() const {
  if (!is_wanted() || !is_lossy_ || !is_coarse()) return {};
  const double step = std::abs(integers_->slope);
  return output_.string() + ": " + range() + " were rounded to " +
         (step == 1 ? "whole numbers" : "steps of " + io::format_text(step)) + "; to keep all digits, " + remedy();
}

std::string Rounding::range() const {
  return "values from " + io::format_text(least_) + " to " + io::format_text(most_);
}

Message Rounding::remedy() const {
  return format_ == io::Format::dicom ? Message("write NIfTI") : "give " + Parameter{"output-type", "float32"};
}

}  // namespace quietvox
