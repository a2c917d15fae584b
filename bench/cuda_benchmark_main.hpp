// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "cuda/device.hpp"
#include "filters/registry.hpp"

/// What the programs have in common that measure CUDA filters and write what they found.
namespace quietvox::bench {

/// Parameters of a filter and their values, as text.
using Options = std::vector<std::pair<std::string, std::string>>;

inline FilterConfig resolved_filter(const std::string& filter, const Options& options, const Extent& extent) {
  FilterConfig settings(find_filter(filter));
  for (const auto& [name, value] : options) settings.set(name, value);
  return settings.resolved({extent,
                            {1, 1, 1},
                            [] { return NoiseModel{.sigma = 50}; },
                            [] {
                              return Range<double>{0, 2000};
                            }});
}

/// Writes what was measured, and on which GPU, to the file argv[1], if there is one; argv[2] is the commit.
inline void write_result(int argc, char** argv, const cuda::Device& device, nlohmann::json measured) {
  if (argc < 2) return;
  int driver = 0;
  QV_CUDA(cudaDriverGetVersion(&driver));
  measured["gpu"] = device.name;
  measured["cuda_driver"] = driver;
  measured["cuda_runtime"] = CUDART_VERSION;
  measured["commit"] = argc > 2 ? argv[2] : "unknown";
  std::ofstream(argv[1]) << measured.dump(1) << '\n';
}

/// What main() does: `run(argc, argv)`, unless the build is one whose speed says nothing.
template <class Run>
int run_program(const char* name, int argc, char** argv, const Run& run) {
#ifndef NDEBUG
  std::fprintf(stderr, "%s: this is a Debug build; build with CMAKE_BUILD_TYPE=Release\n", name);
  return 1;
#endif
  try {
    run(argc, argv);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace quietvox::bench
