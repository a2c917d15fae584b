// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/default_filters.hpp"

#include <algorithm>
#include <span>

#include "backends/cpu_backend.hpp"
#include "core/error.hpp"
#include "filters/registry.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/volume_filter.hpp"

namespace quietvox {

std::vector<FilterConfig> default_filters(const io::Image& image, const std::optional<NoiseModel>& noise,
                                          const Execution& execution) {
  BlankSlices source(image.volume(0, io::VoxelDomain::real_less_offset), execution);
  const auto backend = make_cpu_backend();
  const auto asks = [](const Waiting& waiting) { return waiting.fact == VoxelFact::intensities; };
  std::vector<FilterConfig> defaults;
  for (const Filter& filter : filters()) {
    const FilterConfig step(filter);
    const std::span chain(&step, 1);
    try {
      FilterConfig by_header = resolve_by_header(chain, source).front();
      const bool is_resolved = !noise || std::ranges::any_of(by_header.waiting(), asks);
      defaults.push_back(is_resolved ? std::move(by_header)
                                     : VolumeFilter({chain, Stabilise::automatic}, source, *backend, execution,
                                                    [&](VolumeSource&, const Execution&) { return *noise; })
                                           .resolved()
                                           .front());
    } catch (const Error& error) {  // not for this image, as a run would say
      if (error.code() != Errc::unsupported && error.code() != Errc::invalid_argument) throw;
    }
  }
  return defaults;
}

}  // namespace quietvox
