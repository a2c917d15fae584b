// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// CPU non-local means. `nlm_and_dipy.py` compares it with a peer.
#include "filters/nlm.hpp"

#include <cmath>

#include "support.hpp"

namespace quietvox::bench {
namespace {

struct Case {
  std::string name;
  Radius3 patch, search;
  Extent extent;
};

NlmParams params(const Case& c) {
  NlmParams result;
  result.patch_radius = c.patch;
  result.search_radius = c.search;
  result.sigma = 25;
  result.strength = 1.2;
  result.noise_bias = 0;
  return result;
}

/// The voxel in the middle by the formula. Its windows do not reach the edge.
void check(const Case& c) {
  Volume<float> in = noise_volume<float>({{37, 37, 2 * (c.patch.z + c.search.z) + 1}}), out(in.extent);
  const NlmParams nlm = params(c);
  nlm_cpu(in.view(), out.view(), nlm, {});
  const Index3 p{18, 18, in.extent.z / 2};
  const auto voxel = [&](const Index3& at, const Radius3& n) {
    return static_cast<double>(in.view().at(at.x + n.x, at.y + n.y, at.z + n.z));
  };
  const auto for_box = [](const Radius3& r, const auto& body) {
    for (int z = -r.z; z <= r.z; ++z) {
      for (int y = -r.y; y <= r.y; ++y) {
        for (int x = -r.x; x <= r.x; ++x) body(Radius3{x, y, z});
      }
    }
  };
  double sum = 0, weights = 0;
  for_box(c.search, [&](const Radius3& o) {
    const Index3 q{p.x + o.x, p.y + o.y, p.z + o.z};
    double squares = 0, count = 0;
    for_box(c.patch, [&](const Radius3& n) {
      squares += std::pow(voxel(p, n) - voxel(q, n), 2);
      ++count;
    });
    const double weight = std::exp(-squares / count / (nlm.h() * nlm.h()));
    sum += weight * voxel(q, {});
    weights += weight;
  });
  const double error = std::abs(out.view().at(p.x, p.y, p.z) - sum / weights);
  require(error <= 1e-5 * 2100, c.name + " is off by " + std::to_string(error));
}

void run_ours(benchmark::State& state, const Case& c) {
  Volume<float> in = noise_volume<float>(c.extent), out(c.extent);
  for ([[maybe_unused]] auto _ : state) nlm_cpu(in.view(), out.view(), params(c), {});
  count_voxels(state, c.extent);
  const Radius3 v = c.search;
  const std::int64_t offsets = std::int64_t{2 * v.x + 1} * (2 * v.y + 1) * (2 * v.z + 1);
  state.counters["voxel-offset/s"] = benchmark::Counter(static_cast<double>(c.extent.voxels() * offsets),
                                                        benchmark::Counter::kIsIterationInvariantRate);
}

void add(const Case& c) {
  check(c);
  add_row("nlm/" + c.name + "/quietvox", run_ours, c);
}

void add_all() {
  add({"2d_f1_v5", {1, 1, 0}, {5, 5, 0}, {{512, 512, 1}}});
  add({"2d_f3_v10", {3, 3, 0}, {10, 10, 0}, {{512, 512, 1}}});
  add({"3d_f1_v2", {1, 1, 1}, {2, 2, 2}, {{128, 128, 32}}});
  add({"3d_f1_v5", {1, 1, 1}, {5, 5, 5}, {{128, 128, 32}}});
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) { return quietvox::bench::run_benchmarks(argc, argv, quietvox::bench::add_all); }
