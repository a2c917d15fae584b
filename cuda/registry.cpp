// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/registry.hpp"

#include "filters/all.hpp"

namespace quietvox::cuda {
namespace {

template <FilterParams P>
BackendEntry<LaunchContext> cuda_filter(Kernels<P, LaunchContext> kernels) {
  return backend_entry(kernels);
}

}  // namespace

const std::vector<BackendEntry<LaunchContext>>& cuda_entries() {
  static const std::vector<BackendEntry<LaunchContext>> all{
      cuda_filter<MedianParams>({.f32 = median_cuda, .i16 = median_cuda, .u16 = median_cuda}),
      cuda_filter<BilateralParams>({.f32 = bilateral_cuda}),
      cuda_filter<GaussianParams>({.f32 = gaussian_cuda}),
      cuda_filter<AdaptiveBilateralParams>({.f32 = adaptive_bilateral_cuda}),
      cuda_filter<NlmParams>({.f32 = nlm_cuda}),
      cuda_filter<QuadraticParams>({.f32 = quadratic_cuda}),
      cuda_filter<DctParams>({.f32 = dct_cuda}),
      cuda_filter<PrinlmParams>({.f32 = prinlm_cuda}),
      cuda_filter<Bm4dParams>({.f32 = bm4d_cuda}),
  };
  return all;
}

}  // namespace quietvox::cuda
