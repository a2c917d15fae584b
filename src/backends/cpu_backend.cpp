// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu_backend.hpp"

#include <vector>

#include "filters/registry.hpp"

namespace quietvox {
namespace {

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  bool has(const Filter& filter) const override { return find(filter) != nullptr; }
  bool has_integer(const Filter& filter) const override {
    const auto* entry = find(filter);
    return entry && entry->has_integer();
  }

  void run(std::span<const FilterConfig> chain, VolumeView<const float> in, VolumeView<float> out,
           const Execution& execution) const override {
    std::vector<float> between;  // owns `in` from the second filter on
    for (std::size_t step = 0; step < chain.size(); ++step) {
      const auto& kernel = find(chain[step].filter())->f32;
      const double share = 1.0 / static_cast<double>(chain.size());
      Execution piece = execution.part(static_cast<double>(step) * share, static_cast<double>(step + 1) * share);
      if (chain.size() > 1) piece.kept = nullptr;  // it belongs to one filter
      if (step + 1 == chain.size()) {
        kernel(in, out, chain[step].params(), piece);
        return;
      }
      VolumeView<float> next = expanded(out, total_halo(chain.subspan(step + 1)), in);
      std::vector<float> buffer(static_cast<std::size_t>(next.extent.voxels()));
      next.data = buffer.data();
      kernel(in, next, chain[step].params(), piece);
      between = std::move(buffer);
      in = next;
    }
  }

  void run(const FilterConfig& settings, VolumeView<const std::int16_t> in, VolumeView<std::int16_t> out,
           const Execution& execution) const override {
    find(settings.filter())->i16(in, out, settings.params(), execution);
  }
  void run(const FilterConfig& settings, VolumeView<const std::uint16_t> in, VolumeView<std::uint16_t> out,
           const Execution& execution) const override {
    find(settings.filter())->u16(in, out, settings.params(), execution);
  }

  void run(const FilterConfig& settings, std::span<const VolumeView<const float>> volumes,
           std::span<const VolumeView<float>> outputs, const Execution& execution) const override {
    find(settings.filter())->series(volumes, outputs, settings.params(), execution);
  }

 private:
  static const BackendEntry<Execution>* find(const Filter& filter) { return find_entry(cpu_entries(), filter); }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace quietvox
