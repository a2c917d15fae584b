// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/filter.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/axis_swap.hpp"
#include "core/unsupported_kind.hpp"

namespace quietvox {

FilterConfig FilterConfig::with_content_hashes() const {
  FilterConfig result = *this;
  if (filter_->with_content_hashes) result.params_ = filter_->with_content_hashes(params_);
  return result;
}

void FilterConfig::check_resolved() const {
  if (is_resolved_ && waiting_.empty()) return;
  throw Error(Errc::invalid_argument, filter_->name + ": its parameters are not yet those of a volume",
              "call resolve_chain() first");
}

FilterConfig FilterConfig::resolved(const VolumeFacts& facts) const {
  with_error_context(filter_->name, [&] { check_volume(facts.extent, facts.spacing); });
  if (const auto error = unsupported_kind(std::span(this, 1), facts.header)) throw *error;
  FilterConfig result = *this;
  result.is_resolved_ = true;
  result.waiting_.clear();
  VolumeFacts watched = facts;
  watched.waiting = &result.waiting_;
  result.params_ = filter_->resolved(params_, watched);
  const std::string field(filter_->window_field(params_));
  if (field.empty()) return result;
  const Radius3 reach = result.reach().radius;
  std::string remedy;
  if (const auto given = FieldType<Radius3>::parse(result.get(field))) {
    Radius3 fitting;
    for (int axis = 0; axis < 3; ++axis) {
      const int patch = std::max(0, reach[axis] - (*given)[axis]);  // what the window has beside what the field says
      const std::int64_t room = (facts.extent[axis] - 1) / 2;
      fitting[axis] = static_cast<int>(std::min<std::int64_t>(reach[axis], room)) - patch;
    }
    const bool fits = fitting.x >= 0 && fitting.y >= 0 && fitting.z >= 0;
    remedy = fits ? "a half width of " + FieldType<Radius3>::format(fitting) + " fits" : "its patches alone are wider";
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t window = 2 * std::int64_t{reach[axis]} + 1;
    if (window <= facts.extent[axis]) continue;
    throw Error(Errc::invalid_argument,
                filter_->name + ": " + Parameter{field} + " = " + get(field) + " makes a window of " +
                    std::to_string(window) + " voxels along " + std::string(1, "xyz"[axis]) + ", but the volume has " +
                    std::to_string(facts.extent[axis]),
                remedy);
  }
  return result;
}

std::string thick_axis_warning(const FilterConfig& resolved, const VolumeFacts& facts) {
  const auto mm = [](double distance) {
    std::ostringstream text;
    text << distance << " mm";  // six digits are enough
    return text.str();
  };
  const AxisSwap swap = axis_swap_for(std::span(&resolved, 1), facts);
  const VolumeFacts along = swap(VolumeFacts{.extent = facts.extent, .spacing = facts.spacing, .header = facts.header});
  const Radius3 halo = swap(std::span(&resolved, 1)).front().halo(),
                by_default = FilterConfig(resolved.filter()).resolved(along).halo();
  for (int axis = 0; axis < 3; ++axis) {
    if (!along.is_thick(axis) || halo[axis] == 0 || by_default[axis] > 0) continue;
    const std::string name(1, swap(Triple<char>{'x', 'y', 'z'})[axis]);
    return resolved.filter().name + ": the window extends along " + name + ", where voxels lie " +
           mm(along.spacing[axis]) + " apart, against " + mm(facts.in_plane_spacing()) +
           " within a slice: it mixes in what other slices show; 0 along " + name + " leaves them out";
  }
  return {};
}

std::vector<Message> noise_warnings(const FilterConfig& by_header, const FilterConfig& resolved,
                                    const NoiseModel& model, bool is_chosen) {
  std::vector<Message> warnings;
  const std::string filter = resolved.filter().name + ": ";
  for (const Waiting& waiting : by_header.waiting()) {
    if (waiting.fact != VoxelFact::noise || resolved.get(waiting.field) != "0") continue;
    warnings.push_back(filter + model.why_untrusted() +
                       (is_chosen ? ", so nothing was changed; the filter '" + resolved.filter().name +
                                        "' with a number for " + Parameter{waiting.field} + " filters anyway"
                                  : ", so " + Parameter{waiting.field} +
                                        " = auto became 0 and changes nothing; give a number to filter anyway"));
  }
  if (is_chosen && model.impulses >= 0.0005) {
    warnings.push_back(filter + FieldType<double>::format(std::round(1000 * model.impulses) / 10) +
                       " % of the voxels are impulses, or fine structure of one value, and may stay; the filter "
                       "'median' takes out both");
  }
  if (model.confidence == Confidence::low) {
    warnings.push_back(filter + "the noise was measured with low confidence (" + model.reason +
                       "); look at the result");
  }
  return warnings;
}

}  // namespace quietvox
