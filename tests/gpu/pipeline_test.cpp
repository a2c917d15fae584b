// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "gpu/gpu_test.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {

using GpuPipeline = GpuTest;

std::vector<FilterConfig> chain_for(const Volume& volume) {
  return {resolved(settings("median", {{"radius", "1"}}), volume),
          resolved(settings("bilateral", {{"radius", "2x2x1"}}), volume),
          resolved(settings("median", {{"radius", "2x2x0"}}), volume)};
}

/// 100 MB: several pieces on the bus.
Volume large_volume() { return with_holes(busy_volume({509, 389, 127}, 1), 10'007); }

TEST_F(GpuPipeline, AChainIsItsFiltersOneAfterAnother) {
  const Volume volume = large_volume();
  const auto chain = chain_for(volume);
  Volume one_by_one = volume;
  for (const FilterConfig& step : chain) one_by_one = run(*backend, {step}, one_by_one);
  EXPECT_TRUE(same_bytes(run(*backend, chain, volume), one_by_one));
}

TEST_F(GpuPipeline, ChunksNeverChangeAByte) {
  const Volume volume = large_volume();
  const auto chain = chain_for(volume);
  const Volume whole = run(*backend, chain, volume);
  for (const std::size_t mebibytes : {20, 60, 150}) {
    EXPECT_TRUE(same_bytes(run(*backend, chain, volume, {.memory_limit = mebibytes << 20}), whole)) << mebibytes;
  }
}

TEST_F(GpuPipeline, TakesVeryManySmallSlices) {
  const Volume volume = busy_volume({5, 4, 70'000}, 3);
  const FilterConfig step = resolved(settings("median", {{"radius", "1x1x0"}}), volume);
  EXPECT_EQ(first_difference(reference("median").run(volume, step), run(*backend, {step}, volume)), "");
}

TEST_F(GpuPipeline, AllDevicesGiveWhatOneGives) {
  const Volume volume = large_volume();
  const auto chain = chain_for(volume);
  EXPECT_TRUE(same_bytes(run(*make_cuda_backend(-1), chain, volume), run(*backend, chain, volume)));
}

TEST_F(GpuPipeline, AllDevicesGiveWhatOneGivesOfBlocksToo) {
  const Volume volume = busy_volume({70, 60, 50}, 4);
  const auto all = make_cuda_backend(-1);
  for (const char* const filter : {"dct", "prinlm", "bm4d"}) {
    const std::vector<FilterConfig> chain{resolved(settings(filter, {{"sigma", "9"}}), volume)};
    EXPECT_TRUE(same_bytes(run(*all, chain, volume), run(*backend, chain, volume))) << filter;
  }
}

TEST_F(GpuPipeline, ServesManyThreads) {
  const Volume volume = with_holes(busy_volume({101, 67, 23}, 2), 301);
  const auto chain = chain_for(volume);
  const Volume expected = run(*backend, chain, volume);
  std::vector<Volume> results(4, Volume(volume.extent));
  {
    std::vector<std::jthread> threads;
    for (Volume& result : results) threads.emplace_back([&] { result = run(*backend, chain, volume); });
  }
  for (const Volume& result : results) EXPECT_TRUE(same_bytes(result, expected));
}

TEST_F(GpuPipeline, ReportsProgressUpToOne) {
  const Volume volume = large_volume();
  double last = 0;
  run(*backend, chain_for(volume), volume, {.memory_limit = {}, .progress = [&](double done) {
                                              EXPECT_GE(done, last);
                                              last = done;
                                            }});
  EXPECT_EQ(last, 1);
}

TEST_F(GpuPipeline, StopsOnRequest) {
  const Volume volume = large_volume();
  std::stop_source stop;
  const Execution execution{
      .memory_limit = {}, .stop = stop.get_token(), .progress = [&](double) { stop.request_stop(); }};
  expect_error(Errc::cancelled, "", [&] { run(*backend, chain_for(volume), volume, execution); });
  EXPECT_NO_THROW(run(*backend, chain_for(volume), volume));
}

}  // namespace
}  // namespace quietvox::test
