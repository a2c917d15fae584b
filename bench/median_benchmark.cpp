// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The CPU median beside itk::MedianImageFilter, both on all cores.
#include <cstring>
#include <type_traits>

#include "filters/median.hpp"
#include "itk_adapters/peers/itk_filters.hpp"
#include "support.hpp"

namespace quietvox::bench {
namespace {

struct Case {
  std::string name;
  Radius3 radius;
  Extent extent;        ///< of ours
  std::int64_t peer_z;  ///< slices that the peer, being slow, is given
};

MedianParams params(const Case& c) {
  MedianParams result;
  result.radius = c.radius;
  return result;
}

template <class T>
Volume<T> noise(Extent extent, float added) {
  Volume<T> volume = noise_volume<T>(extent);
  for (T& voxel : volume.voxels) voxel = static_cast<T>(static_cast<float>(voxel) + added);
  return volume;
}

/// Equal in every voxel, on a volume small enough for the peer.
template <class T>
void check(const Case& c, float added) {
  Volume<T> in = noise<T>({61, 33, 2 * c.radius.z + 3}, added), out(in.extent);
  median_cpu(in.view(), out.view(), params(c), {});
  const auto peer = peers::itk_median<T>(in.view(), c.radius);
  require(std::memcmp(peer.get(), out.voxels.data(), sizeof(T) * out.voxels.size()) == 0,
          c.name + " differs from itk::MedianImageFilter");
}

template <class T>
void run_ours(benchmark::State& state, const Case& c, float added) {
  Volume<T> in = noise<T>(c.extent, added), out(c.extent);
  for ([[maybe_unused]] auto _ : state) median_cpu(in.view(), out.view(), params(c), {});
  count_voxels(state, c.extent);
}

template <class T>
void run_peer(benchmark::State& state, const Case& c) {
  const Volume<T> in = noise_volume<T>({c.extent.x, c.extent.y, c.peer_z});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(peers::itk_median<T>(in.view(), c.radius));
  count_voxels(state, in.extent);
}

template <class T>
void add(const Case& c, const std::string& type, bool with_peer) {
  check<T>(c, 0);
  const std::string name = "median/" + c.name + "/" + type;
  add_row(name + "/quietvox", run_ours<T>, c, 0.0F);
  if (std::is_same_v<T, float>) {
    check<T>(c, 0.25F);
    add_row(name + ", no whole numbers/quietvox", run_ours<T>, c, 0.25F);
  }
  if (with_peer) add_row(name + "/itk", run_peer<T>, c);
}

void add_all() {
  const Extent flat{{512, 512, 64}}, deep{{256, 256, 128}};
  for (const int r : {1, 2, 3, 4, 5, 6, 7, 10, 15}) {
    const int k = 2 * r + 1;
    add<float>({std::to_string(k) + "x" + std::to_string(k), {r, r, 0}, flat, 2}, "float", true);
    add<std::int16_t>({std::to_string(k) + "x" + std::to_string(k), {r, r, 0}, flat, 2}, "int16", false);
  }
  for (const Radius3 r : {Radius3{1, 1, 1}, {2, 2, 1}, {2, 2, 2}, {3, 3, 1}, {3, 3, 3}}) {
    const auto k = [](int radius) { return std::to_string(2 * radius + 1); };
    const Case c{k(r.z) + "x" + k(r.y) + "x" + k(r.x), r, deep, 8};
    add<float>(c, "float", true);
    add<std::int16_t>(c, "int16", false);
  }
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) { return quietvox::bench::run_benchmarks(argc, argv, quietvox::bench::add_all); }
