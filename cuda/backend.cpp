// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/backend.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/pipeline.hpp"
#include "cuda/registry.hpp"

namespace quietvox {
namespace cuda {
namespace {

const BackendEntry<LaunchContext>* find(const Filter& filter) { return find_entry(cuda_entries(), filter); }

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(std::vector<std::unique_ptr<Device>> devices) : devices_(std::move(devices)) {}

  std::string name() const override {
    if (devices_.size() == 1) {
      return "cuda:" + std::to_string(devices_.front()->index) + " (" + devices_.front()->name + ")";
    }
    return "cuda (" + std::to_string(devices_.size()) + " x " + devices_.front()->name + ")";
  }
  bool has(const Filter& filter) const override { return find(filter) != nullptr; }
  bool has_integer(const Filter& filter) const override {
    const auto* entry = find(filter);
    return entry && entry->has_integer();
  }

  void run(std::span<const FilterConfig> chain, VolumeView<const float> in, VolumeView<float> out,
           const Execution& execution) const override {
    run_on_all(chain, in, out, execution);
  }
  void run(const FilterConfig& settings, VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out,
           const Execution& execution) const override {
    run_on_all({&settings, 1}, in, out, execution);
  }
  void run(const FilterConfig& settings, VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out,
           const Execution& execution) const override {
    run_on_all({&settings, 1}, in, out, execution);
  }

 private:
  /// Every device takes a share of the slices.
  template <class T>
  void run_on_all(std::span<const FilterConfig> chain, VolumeView<const T> in, VolumeView<T> out,
                  const Execution& execution) const {
    const std::int64_t count = std::min<std::int64_t>(std::ssize(devices_), out.extent.z);
    if (count == 1) {
      run_chain(*devices_.front(), chain, in, out, execution);
      return;
    }
    const Radius3 halo = total_halo(chain);
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<double> done(static_cast<std::size_t>(count));
    const auto run_share = [&](std::int64_t share) {
      const std::int64_t first = share * out.extent.z / count, last = (share + 1) * out.extent.z / count;
      const VolumeView<T> to = out.slices(first, last - first);
      Execution part = execution;
      part.progress = [&](double fraction) {
        const std::lock_guard lock(mutex);
        done[static_cast<std::size_t>(share)] = fraction;
        if (execution.progress) execution.progress(std::reduce(done.begin(), done.end()) / static_cast<double>(count));
      };
      try {
        run_chain(*devices_[static_cast<std::size_t>(share)], chain, halo_slices(in, to, halo), to, part);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::int64_t share = 1; share < count; ++share) threads.emplace_back(run_share, share);
      run_share(0);
    }
    if (failure) std::rethrow_exception(failure);
  }

  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(int device) {
  return std::make_unique<cuda::CudaBackend>(cuda::open_devices(device));
}

std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices) {
  std::vector<std::unique_ptr<cuda::Device>> opened;
  for (const int device : devices) opened.push_back(std::move(cuda::open_devices(device).front()));
  return std::make_unique<cuda::CudaBackend>(std::move(opened));
}

}  // namespace quietvox
