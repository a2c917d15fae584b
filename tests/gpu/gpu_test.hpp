// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cuda/backend.hpp"
#include "filters/registry.hpp"
#include "support/difference.hpp"
#include "support/references.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// Tests that need a CUDA device; skipped, saying so, where there is none.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend = make_cuda_backend(0);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Errc::device);
      GTEST_SKIP() << "no CUDA device: " << error.what();
    }
  }

  std::unique_ptr<Backend> backend;
};

/// Settings from words: `settings("median", {{"radius", "1x1x0"}})`.
inline FilterConfig settings(const std::string& filter,
                             const std::vector<std::pair<std::string, std::string>>& values = {}) {
  FilterConfig result(find_filter(filter));
  for (const auto& [field, value] : values) result.set(field, value);
  return result;
}

/// `radius` along every axis that is long enough for it, 0 along the others.
inline std::string fitting_radius(const Extent& extent, int radius) {
  Radius3 fitting;
  for (int axis = 0; axis < 3; ++axis) fitting[axis] = extent[axis] > 2 * radius ? radius : 0;
  return FieldType<Radius3>::format(fitting);
}

inline FilterConfig resolved(const FilterConfig& from, const Volume& volume,
                             Range<double> intensities = {-1000, 3000}) {
  return from.resolved(
      {volume.extent, volume.spacing, [] { return NoiseModel{.sigma = 25}; }, [&] { return intensities; }});
}

/// By noise that varies along each axis.
inline FilterConfig resolved_by_map(const FilterConfig& from, const Volume& volume) {
  NoiseModel noise{.sigma = 25, .map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}}};
  return from.resolved({volume.extent, volume.spacing, [&] { return noise; }, [] { return Range<double>{0, 3000}; }});
}

inline Volume run(const Backend& backend, const std::vector<FilterConfig>& chain, const Volume& in,
                  const Execution& execution = {}) {
  Volume out(in.extent, in.spacing);
  backend.run(chain, in.view(), out.view(), execution);
  return out;
}

/// The slow, readable definition of a filter.
const Reference& reference(const std::string& filter);

/// A few missing voxels, alone and in clusters.
Volume with_holes(Volume volume, int every);

}  // namespace quietvox::test
