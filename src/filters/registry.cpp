// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/registry.hpp"

#include "core/nearest_word.hpp"
#include "filters/all.hpp"

namespace quietvox {
namespace {

struct CpuFilter {
  Filter filter;
  BackendEntry<Execution> cpu;
};

template <FilterParams P>
CpuFilter cpu_filter(Kernels<P, Execution> kernels) {
  return {describe_filter<P>(), backend_entry(kernels)};
}

const std::vector<CpuFilter>& cpu_filters() {
  static const std::vector<CpuFilter> all{
      cpu_filter<MedianParams>({.f32 = median_cpu, .i16 = median_cpu, .u16 = median_cpu}),
      cpu_filter<BilateralParams>({.f32 = bilateral_cpu}),
      cpu_filter<AdaptiveBilateralParams>({.f32 = adaptive_bilateral_cpu}),
      cpu_filter<GaussianParams>({.f32 = gaussian_cpu}),
      cpu_filter<NlmParams>({.f32 = nlm_cpu}),
      cpu_filter<QuadraticParams>({.f32 = quadratic_cpu}),
      cpu_filter<DctParams>({.f32 = dct_cpu}),
      cpu_filter<PrinlmParams>({.f32 = prinlm_cpu}),
      cpu_filter<Bm4dParams>({.f32 = bm4d_cpu}),
  };
  return all;
}

}  // namespace

const std::vector<Filter>& filters() {
  static const std::vector<Filter> all = [] {
    std::vector<Filter> list;
    for (const auto& entry : cpu_filters()) list.push_back(entry.filter);
    return list;
  }();
  return all;
}

const Filter& find_filter(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& filter : filters()) {
    if (filter.name == name) return filter;
    names.push_back(filter.name);
  }
  const std::string meant = nearest_word(name, names);
  throw Error(Errc::invalid_argument, "no filter is called '" + std::string(name) + "'",
              (meant.empty() ? "there are " : "did you mean '" + meant + "'? There are ") + joined(names));
}

const std::vector<BackendEntry<Execution>>& cpu_entries() {
  static const std::vector<BackendEntry<Execution>> all = [] {
    std::vector<BackendEntry<Execution>> list;
    for (const auto& entry : cpu_filters()) list.push_back(entry.cpu);
    return list;
  }();
  return all;
}

}  // namespace quietvox
