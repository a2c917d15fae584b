// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The library from outside: one voxel of another value in a flat volume, which a median removes; a file that is none.
#include <iostream>
#include <quietvox/analysis/measure_noise.hpp>
#include <quietvox/backends/choice.hpp>
#include <quietvox/core/pipeline.hpp>
#include <quietvox/filters/median.hpp>
#include <quietvox/filters/registry.hpp>
#include <quietvox/io/image.hpp>
#include <vector>

namespace {

class FlatVolume final : public quietvox::VolumeSource {
 public:
  quietvox::Extent extent() const override { return {{8, 8, 8}}; }
  quietvox::Spacing spacing() const override { return {1, 1, 1}; }
  void read(quietvox::VolumeView<float> slices) override {
    for (std::int64_t z = 0; z < slices.extent.z; ++z) {
      for (std::int64_t i = 0; i < slices.extent.slice(); ++i) slices.row(0, z)[i] = 5;
      if (slices.origin.z + z == 4) slices.at(4, 4, z) = 1000;
    }
  }
};

}  // namespace

int main() {
  FlatVolume volume;
  const auto backend = quietvox::make_backend("cpu");
  const std::vector chain{quietvox::FilterConfig(quietvox::find_filter("median"), quietvox::MedianParams{})};
  const auto resolved = quietvox::resolve_chain(chain, volume, *backend, {}, quietvox::measure_noise);
  int voxels = 0, wrong = 0;
  quietvox::filter_volume(volume, resolved, *backend, {}, [&](quietvox::VolumeView<const float> slices) {
    for (std::int64_t i = 0; i < slices.extent.voxels(); ++i) wrong += slices.data[i] != 5;
    voxels += static_cast<int>(slices.extent.voxels());
  });
  bool refused = false;
  try {
    quietvox::io::open_image("no-such-file", {});
  } catch (const quietvox::Error& error) {
    refused = error.code() == quietvox::Errc::input_path;
  }
  std::cout << voxels << " voxels, " << wrong << " wrong\n";
  return voxels == 512 && wrong == 0 && refused ? 0 : 1;
}
