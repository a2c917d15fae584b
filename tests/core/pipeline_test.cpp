// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <any>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "analysis/measure_noise.hpp"
#include "backends/cpu_backend.hpp"
#include "core/filled_source.hpp"
#include "core/provenance.hpp"
#include "filters/bilateral.hpp"
#include "filters/registry.hpp"
#include "support/expect_error.hpp"
#include "support/volumes.hpp"

namespace quietvox {
namespace {

using test::busy_volume;
using test::expect_error;
using test::MemorySource;
using test::Volume;

FilterConfig median(const std::string& radius) {
  FilterConfig settings(find_filter("median"));
  settings.set("radius", radius);
  return settings;
}

FilterConfig bilateral(const std::string& radius) {
  FilterConfig settings(find_filter("bilateral"));
  settings.set("radius", radius);
  return settings;
}

class Pipeline : public testing::Test {
 protected:
  Volume run(const Volume& volume, const std::vector<FilterConfig>& chain, const Execution& execution = {}) {
    MemorySource source(volume);
    const auto resolved = resolve_chain(chain, source, *backend, execution, measure_noise);
    MemorySource counted(volume);
    Volume result(volume.extent, volume.spacing);
    slabs = 0;
    std::int64_t next = 0;
    filter_volume(counted, resolved, *backend, execution, [&](VolumeView<const float> slices) {
      EXPECT_EQ(slices.origin.z, next);
      std::copy_n(slices.data, slices.extent.voxels(), result.view().row(0, next));
      next += slices.extent.z;
      ++slabs;
    });
    EXPECT_EQ(next, volume.extent.z);
    reads = counted.reads();
    return result;
  }

  /// Filter after filter, each over the whole volume at once.
  Volume run_whole(const Volume& volume, const std::vector<FilterConfig>& chain) {
    MemorySource source(volume);
    Volume result = volume;
    for (const FilterConfig& step : resolve_chain(chain, source, *backend, {}, measure_noise)) {
      Volume before = result, after(volume.extent, volume.spacing);
      MemorySource reached(result);
      std::optional<FilledSource> filled;
      if (step.filter().needs_whole_blocks) filled.emplace(reached, step, Execution{}).read(before.view());
      backend->run(std::vector{step}, before.view(), after.view(), {});
      if (filled) filled->restore(after.view());
      result = after;
    }
    return result;
  }

  static Execution limited_to_slices(double slices, const Volume& volume) {
    return {.memory_limit = static_cast<std::size_t>(slices * static_cast<double>(volume.extent.slice() * 4))};
  }

  std::unique_ptr<Backend> backend = make_cpu_backend();
  int slabs = 0;
  std::vector<int> reads;
};

TEST_F(Pipeline, OnlyAResolvedChainRuns) {
  const Volume volume = busy_volume({12, 12, 6}, 1);
  const auto run_as_it_is = [&](const std::vector<FilterConfig>& chain) {
    MemorySource source(volume);
    filter_volume(source, chain, *backend, {}, [](VolumeView<const float>) {});
  };
  for (const Filter& filter : filters()) {
    SCOPED_TRACE(filter.name);
    const FilterConfig settings(filter);
    const char* const why = "its parameters are not yet those of a volume; call resolve_chain() first";
    expect_error(Errc::invalid_argument, why, [&] { run_as_it_is({settings}); });
    const FilterConfig by_header = settings.resolved({.extent = volume.extent, .spacing = volume.spacing});
    if (by_header.waiting().empty()) {
      run_as_it_is({by_header});
    } else {
      expect_error(Errc::invalid_argument, why, [&] { run_as_it_is({by_header}); });
    }
  }
  FilterConfig changed =
      FilterConfig(find_filter("gaussian")).resolved({.extent = volume.extent, .spacing = {1, 1, 1}});
  for (const char* const text : {"2", "6", "auto", "AUTO"}) {
    changed.set("sigma", text);
    expect_error(Errc::invalid_argument, "call resolve_chain() first", [&] { run_as_it_is({changed}); });
  }
  expect_error(Errc::invalid_argument, "there is no filter", [&] { run_as_it_is({}); });
}

TEST_F(Pipeline, WhatIsNoVolumeIsRefused) {
  const auto expect = [&](const Volume& volume, const std::string& why) {
    MemorySource source(volume);
    for (const Filter& filter : filters()) {
      expect_error(Errc::invalid_argument, filter.name + ": " + why,
                   [&] { resolve_chain(std::vector{FilterConfig(filter)}, source, *backend, {}, measure_noise); });
    }
    expect_error(Errc::invalid_argument, why, [&] { measure_noise(source, {}); });
  };
  for (const double distance : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    expect(Volume({{8, 8, 8}}, {1, distance, 1}),
           "the spacing " + FieldType<double>::format(distance) + " is no length");
  }
  expect(Volume(Extent{{8, 0, 8}}), "the volume is empty");
}

TEST_F(Pipeline, SlabsNeverChangeAVoxel) {
  const Volume volume = busy_volume({23, 17, 29}, 1);
  const std::vector<std::vector<FilterConfig>> chains{
      {median("1x1x1")},
      {median("1x2x0")},
      {bilateral("2x1x3")},
      {median("1x1x2"), bilateral("1x1x1")},
      {bilateral("1x1x1"), median("0x0x2"), median("1x1x1")},
  };
  for (const auto& chain : chains) {
    Volume whole(volume.extent, volume.spacing);
    MemorySource source(volume);
    backend->run(resolve_chain(chain, source, *backend, {}, measure_noise), volume.view(), whole.view(), {});
    for (const double slices : {30.0, 40.0, 60.0, 90.0, 1000.0}) {
      const Volume pieces = run(volume, chain, limited_to_slices(slices, volume));
      EXPECT_TRUE(pieces == whole) << describe_chain(chain) << " within " << slices << " slices";
      EXPECT_EQ(reads, std::vector<int>(29, 1)) << "slices are read once";
    }
    run(volume, chain, limited_to_slices(30, volume));
    EXPECT_GT(slabs, 1);
  }
}

TEST_F(Pipeline, AChainIsItsFiltersOneAfterAnother) {
  const Volume volume = busy_volume({19, 13, 11}, 2);
  const Volume once = run(volume, {median("1x1x1")});
  EXPECT_TRUE(run(volume, {median("1x1x1"), bilateral("1x1x1")}) == run(once, {bilateral("1x1x1")}));
}

/// Filters of blocks get what is missing filled in, wherever they stand in a chain.
TEST_F(Pipeline, AChainIsItsFiltersOneAfterAnotherWhereVoxelsAreMissing) {
  Volume volume = busy_volume({32, 32, 21}, 2);
  for (std::size_t i = 0; i < volume.voxels.size(); i += 11) volume.voxels[i] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < 3 * 32 * 32; ++i) volume.voxels[i] = std::numeric_limits<float>::quiet_NaN();
  const auto same = [](const Volume& a, const Volume& b) {
    return std::memcmp(a.voxels.data(), b.voxels.data(), sizeof(float) * a.voxels.size()) == 0;
  };
  const FilterConfig dct(find_filter("dct")), gaussian(find_filter("gaussian"));
  FilterConfig bm4d(find_filter("bm4d"));
  bm4d.set("quality", "fast");
  const std::vector<std::vector<FilterConfig>> chains{
      {median("1x1x1"), dct}, {bm4d, dct}, {dct, gaussian, bm4d}, {bm4d, median("1x1x0"), gaussian}};
  for (const auto& chain : chains) {
    Volume expected = volume;
    for (const FilterConfig& step : chain) {
      const Volume result = run(expected, {step});
      for (std::size_t i = 0; i < result.voxels.size(); ++i)
        ASSERT_EQ(std::isnan(result.voxels[i]), std::isnan(volume.voxels[i]));
      EXPECT_FALSE(same(result, expected)) << step.filter().name << " of " << describe_chain(chain);
      expected = result;
    }
    EXPECT_TRUE(same(run(volume, chain), expected)) << describe_chain(chain);
    EXPECT_TRUE(same(run(volume, chain, limited_to_slices(300, volume)), expected)) << describe_chain(chain);
  }
}

TEST_F(Pipeline, NumbersThatStandForNoValueStayAndCountForNobody) {
  Volume missing = busy_volume({24, 24, 9}, 4);
  Volume volume = missing;
  constexpr float values[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::max(), 1e20F, 1e20F};
  for (std::size_t i = 0; i < volume.voxels.size(); i += 13) {
    missing.voxels[i] = std::numeric_limits<float>::quiet_NaN();
    volume.voxels[i] = values[i / 13 % 4];
  }
  for (const char* const name : {"dct", "bm4d", "prinlm"}) {
    FilterConfig filter(find_filter(name));
    filter.set("sigma", "20");
    const Volume expected = run(missing, {filter}), result = run(volume, {filter});
    for (std::size_t i = 0; i < volume.voxels.size(); ++i)
      ASSERT_EQ(result.voxels[i], i % 13 == 0 ? volume.voxels[i] : expected.voxels[i]) << name << ", voxel " << i;
  }
}

/// As where a fit of a map failed.
TEST_F(Pipeline, ANumberFarBeyondAllOthersOfItsSliceStaysAndCountsForNobody) {
  Volume missing = busy_volume({24, 24, 9}, 4);
  Volume volume = missing;
  constexpr float values[] = {1e9F, -1e12F, 3e15F};
  for (std::size_t i = 0, count = 0; i < volume.voxels.size(); i += 300) {
    missing.voxels[i] = std::numeric_limits<float>::quiet_NaN();
    volume.voxels[i] = values[count++ % 3];
  }
  for (const char* const name : {"dct", "bm4d", "prinlm"}) {
    FilterConfig filter(find_filter(name));
    filter.set("sigma", "20");
    const Volume expected = run(missing, {filter}), result = run(volume, {filter});
    for (std::size_t i = 0; i < volume.voxels.size(); ++i)
      ASSERT_EQ(result.voxels[i], std::isnan(missing.voxels[i]) ? volume.voxels[i] : expected.voxels[i])
          << name << ", voxel " << i;
  }
}

/// As beside the rim of a skull, in magnitudes.
TEST_F(Pipeline, WhatIsNeverNegativeDoesNotBecomeSo) {
  Volume volume = busy_volume({32, 32, 16}, 5);
  for (float& voxel : volume.voxels) voxel = std::max(voxel + 780, 0.0F);
  const float greatest = std::ranges::max(volume.voxels);
  for (const char* const name : {"dct", "bm4d", "prinlm"}) {
    FilterConfig filter(find_filter(name));
    filter.set("sigma", "60");
    const Volume result = run(volume, {filter});
    EXPECT_GE(std::ranges::min(result.voxels), 0) << name;
    EXPECT_LE(std::ranges::max(result.voxels), greatest) << name;
    EXPECT_FALSE(result == volume) << name;
  }
}

/// A small object among what resampling leaves of nothing, a profile of single voxels, and voxels far from 0 are
/// filtered like others.
TEST_F(Pipeline, SmallObjectsAndSmallSlicesAndNumbersFarFromZeroAreFiltered) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise(800, 20);
  Volume object({160, 160, 12}, {1, 1, 1}, 1e-4F), profile({1, 1, 400}), far({24, 24, 9});
  for (std::int64_t z = 0; z < 12; ++z) {
    for (std::int64_t y = 70; y < 82; ++y) {
      for (std::int64_t x = 70; x < 82; ++x) object.view().at(x, y, z) = noise(random);
    }
  }
  std::ranges::generate(profile.voxels, [&] { return noise(random); });
  std::ranges::generate(far.voxels, [&] { return 8e6F + noise(random); });
  for (const char* const name : {"dct", "bm4d", "prinlm"}) {
    FilterConfig filter(find_filter(name));
    filter.set("sigma", "20");
    const auto mean_change = [&](const Volume& volume, double voxels) {
      const Volume filtered = run(volume, {filter});
      double change = 0;
      for (std::size_t i = 0; i < volume.voxels.size(); ++i) change += std::abs(filtered.voxels[i] - volume.voxels[i]);
      return change / voxels;
    };
    EXPECT_GT(mean_change(object, 12 * 12 * 12), 5) << name;
    EXPECT_GT(mean_change(profile, 400), 5) << name;
    EXPECT_GT(mean_change(far, 24 * 24 * 9), 5) << name;
  }
}

TEST_F(Pipeline, WhatAFilterEstimatesItEstimatesOnWhatReachesIt) {
  const Volume volume = busy_volume({32, 32, 8}, 3);
  const std::vector<FilterConfig> chain{median("1x1x1"), bilateral("1x1x1")};
  MemorySource source(volume);
  const auto resolved = resolve_chain(chain, source, *backend, {}, measure_noise);
  const Volume once = run(volume, {median("1x1x1")});
  MemorySource filtered(once);
  const NoiseModel noise = measure_noise(filtered, {});
  ASSERT_GT(noise.trusted_sigma(), 0);
  EXPECT_EQ(resolved[1].get("range-sigma"), FieldType<double>::format(range_sigma_for(noise)));
}

TEST(Intensities, AreTheSmallestAndTheLargestPresentVoxel) {
  Volume volume = busy_volume({9, 8, 40}, 5);
  volume.voxels[700] = -5000;
  volume.voxels.back() = 7000;
  volume.voxels[3] = std::numeric_limits<float>::infinity();
  volume.voxels[4] = std::numeric_limits<float>::quiet_NaN();
  MemorySource source(volume);
  EXPECT_EQ(intensities(source).min, -5000);
  EXPECT_EQ(intensities(source).max, 7000);
  std::fill(volume.voxels.begin(), volume.voxels.end(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(intensities(source).min, 0);
  EXPECT_EQ(intensities(source).max, 0);
}

TEST_F(Pipeline, TheEstimateDoesNotDependOnTheMemoryLimit) {
  const Volume volume = busy_volume({32, 32, 16}, 4);
  const std::vector<FilterConfig> chain{median("1x1x1"), bilateral("1x1x1")};
  EXPECT_TRUE(run(volume, chain) == run(volume, chain, limited_to_slices(24, volume)));
}

TEST_F(Pipeline, WithoutALimitASlabIsASixteenthOfAVolume) {
  const Volume volume = busy_volume({512, 512, 48}, 3);
  Execution one_thread;
  one_thread.threads = 1;
  run(volume, {median("1x1x0")}, one_thread);
  EXPECT_EQ(slabs, 16);
  for (const int times : reads) EXPECT_EQ(times, 1);
}

TEST_F(Pipeline, SlabsOfFiltersOfTwoPassesNeverChangeAVoxel) {
  const Volume volume = busy_volume({24, 16, 320}, 3);
  FilterConfig bm4d(find_filter("bm4d"));
  bm4d.set("sigma", "9");
  FilterConfig guided(find_filter("prinlm"));
  guided.set("sigma", "9");
  guided.set("guide", "bm4d");
  guided.set("search-radius", "1");
  for (const FilterConfig& filter : {bm4d, guided}) {
    const Volume whole = run_whole(volume, {filter});
    for (const double slices : {80.0, 200.0, 500.0, 1000.0}) {
      EXPECT_TRUE(run(volume, {filter}, limited_to_slices(slices, volume)) == whole) << slices;
      EXPECT_GT(slabs, 1);
    }
  }
}

/// A filter that goes on from slab to slab: it notes in what it keeps which slice comes next.
class GoingOn final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  bool has(const Filter&) const override { return true; }
  bool has_integer(const Filter&) const override { return false; }
  void run(std::span<const FilterConfig>, VolumeView<const float> in, VolumeView<float> out,
           const Execution& execution) const override {
    ASSERT_NE(execution.kept, nullptr);
    const auto* const next = std::any_cast<std::int64_t>(execution.kept);
    EXPECT_EQ(next ? *next : 0, out.origin.z);
    starts += next ? 0 : 1;
    *execution.kept = out.origin.z + out.extent.z;
    for (std::int64_t z = 0; z < out.extent.z; ++z) {
      std::copy_n(in.row(0, out.origin.z + z - in.origin.z), out.extent.slice(), out.row(0, z));
    }
  }
  void run(const FilterConfig&, VolumeView<const std::int16_t>, VolumeView<std::int16_t>,
           const Execution&) const override {}
  void run(const FilterConfig&, VolumeView<const std::uint16_t>, VolumeView<std::uint16_t>,
           const Execution&) const override {}
  mutable std::atomic<int> starts = 0;
};

/// What one filter of a chain keeps is not given to the next, which has the same halo and other parameters.
TEST_F(Pipeline, WhatAFilterKeepsIsItsOwn) {
  const Volume volume = busy_volume({24, 16, 30}, 3);
  std::vector<FilterConfig> chain;
  for (const char* const sigma : {"9", "200"}) {
    FilterConfig& dct = chain.emplace_back(find_filter("dct"));
    dct.set("sigma", sigma);
    dct.set("block", "8x8x1");
  }
  MemorySource source(volume);
  chain = resolve_chain(chain, source, *backend, {}, measure_noise);
  Volume whole(volume.extent, volume.spacing), pieces = whole;
  backend->run(chain, volume.view(), whole.view(), {});
  std::any kept;
  Execution execution;
  execution.kept = &kept;
  for (const std::int64_t z : {0, 10, 20}) {
    backend->run(chain, VolumeView<const float>(volume.view()), pieces.view().slices(z, 10), execution);
  }
  EXPECT_TRUE(pieces == whole);
}

TEST_F(Pipeline, EachPartOfAChainGoesOnFromSlabToSlab) {
  const Volume volume = busy_volume({24, 16, 320}, 3);
  FilterConfig bm4d(find_filter("bm4d"));
  bm4d.set("sigma", "9");
  for (const double slices : {700.0, 2000.0}) {
    backend = std::make_unique<GoingOn>();
    EXPECT_TRUE(run(volume, {bm4d, median("1x1x1"), bm4d}, limited_to_slices(slices, volume)) == volume);
    EXPECT_GT(slabs, 1);
    EXPECT_EQ(static_cast<const GoingOn&>(*backend).starts, 3);
  }
}

TEST_F(Pipeline, AChainThatReachesAcrossMostOfTheVolumeTakesItWhole) {
  const Volume volume = busy_volume({16, 12, 10}, 3);
  run(volume, {median("1x1x3"), bilateral("1x1x2")});
  EXPECT_EQ(slabs, 1);
}

/// Says how far it has been read.
class AnnouncingSource final : public VolumeSource {
 public:
  explicit AnnouncingSource(const Volume& volume) : source_(volume) {}
  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  void read(VolumeView<float> slices) override {
    source_.read(slices);
    end = slices.origin.z + slices.extent.z;
  }
  std::atomic<std::int64_t> end = 0;

 private:
  MemorySource source_;
};

TEST_F(Pipeline, OneSlabIsConsumedWhileAnotherIsRead) {
  const Volume volume = busy_volume({16, 16, 40}, 3);
  AnnouncingSource source(volume);
  const auto chain = resolve_chain(std::vector{median("1x1x0")}, source, *backend, {}, measure_noise);
  Execution threads;
  threads.threads = 3;
  source.end = 0;
  bool overlapped = true;
  filter_volume(source, chain, *backend, threads, [&](VolumeView<const float> slices) {
    // Held back until the slab after the next one has been read, which would not be if each waited for its turn.
    const std::int64_t wanted = std::min(slices.origin.z + 3 * slices.extent.z, volume.extent.z);
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (overlapped && source.end < wanted) overlapped = std::chrono::steady_clock::now() < patience;
  });
  EXPECT_TRUE(overlapped);
}

/// As many slabs as it holds where voxels are missing.
TEST_F(Pipeline, WhatAFilterHoldsBesidesCountsForTheLimit) {
  const Volume volume = busy_volume({{16, 12, 40}}, 1);
  const std::vector<FilterConfig> gaussian{
      FilterConfig(find_filter("gaussian")).resolved({.extent = volume.extent, .spacing = volume.spacing})};
  const Radius3 reach = gaussian.front().halo();
  const std::vector<FilterConfig> other{median(FieldType<Radius3>::format(reach))};
  EXPECT_EQ(least_memory(volume.extent, gaussian, {}) - least_memory(volume.extent, other, {}),
            static_cast<std::size_t>(2 * volume.extent.slice() * 4));
  const auto slabs_of = [&](const std::vector<FilterConfig>& chain, double slices) {
    Execution execution = limited_to_slices(slices, volume);
    execution.threads = 1;
    run(volume, chain, execution);
    return slabs;
  };
  EXPECT_EQ(slabs_of(other, 24), 5);
  EXPECT_EQ(slabs_of(gaussian, 24), 10);
}

TEST_F(Pipeline, ATooSmallLimitIsRefusedWithWhatIsNeeded) {
  const Volume volume = busy_volume({600, 600, 9}, 5);
  // Three slices of input, one of output, and as much as two while a slice is read or written.
  expect_error(Errc::out_of_memory,
               "too small: it leaves 8 MiB, filtering one slice needs 9 MiB; raise memory-limit by at least 1 MiB",
               [&] { run(volume, {median("1x1x1")}, limited_to_slices(5.9, volume)); });
  EXPECT_NO_THROW(run(volume, {median("1x1x1")}, limited_to_slices(6, volume)));
}

TEST_F(Pipeline, ProgressRisesToOneAcrossSlabsAndFilters) {
  const Volume volume = busy_volume({23, 17, 29}, 6);
  Execution execution = limited_to_slices(40, volume);
  std::vector<double> seen;
  execution.progress = [&](double done) { seen.push_back(done); };
  run(volume, {median("1x1x1"), median("1x1x1")}, execution);
  ASSERT_GT(slabs, 1);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_DOUBLE_EQ(seen.back(), 1);
}

TEST_F(Pipeline, ProgressOfTwoPassesRisesToOne) {
  const Volume volume = busy_volume({23, 17, 40}, 6);
  for (const char* const name : {"bm4d", "dct", "prinlm"}) {
    FilterConfig filter(find_filter(name));
    filter.set("sigma", "9");
    for (const double slices : {60.0, 1000.0}) {
      Execution execution = limited_to_slices(slices, volume);
      std::vector<double> seen;
      execution.progress = [&](double done) { seen.push_back(done); };
      run(volume, {filter}, execution);
      EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end())) << name;
      EXPECT_DOUBLE_EQ(seen.back(), 1) << name;
    }
  }
}

/// Filters of blocks are parts of a chain: the filters before them are at work while they are.
TEST_F(Pipeline, PartsOfAChainReadOnceAndReportTogether) {
  const Volume volume = busy_volume({23, 17, 96}, 6);
  const FilterConfig dct(find_filter("dct"));
  for (const std::vector<FilterConfig>& chain :
       {std::vector{median("1x1x6"), dct}, {dct, median("1x1x1")}, {dct, median("1x1x1"), dct}}) {
    const Volume whole = run_whole(volume, chain);
    for (const double slices : {200.0, 300.0, 1000.0}) {
      Execution execution = limited_to_slices(slices, volume);
      std::vector<double> seen;
      execution.progress = [&](double done) { seen.push_back(done); };
      EXPECT_TRUE(run(volume, chain, execution) == whole) << describe_chain(chain) << " within " << slices;
      EXPECT_EQ(reads, std::vector<int>(96, 1)) << describe_chain(chain) << " within " << slices;
      EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
      EXPECT_DOUBLE_EQ(seen.back(), 1);
      EXPECT_LT(seen.front(), 0.5);
    }
  }
}

TEST_F(Pipeline, AStopRequestEndsTheRunBetweenSlabs) {
  const Volume volume = busy_volume({23, 17, 29}, 7);
  std::stop_source stop;
  Execution execution = limited_to_slices(8, volume);
  execution.stop = stop.get_token();
  MemorySource source(volume);
  const auto chain = resolve_chain(std::vector{median("1x1x1")}, source, *backend, execution, measure_noise);
  int consumed = 0;
  expect_error(Errc::cancelled, "stopped", [&] {
    filter_volume(source, chain, *backend, execution, [&](VolumeView<const float>) {
      ++consumed;
      stop.request_stop();
    });
  });
  EXPECT_EQ(consumed, 1);
}

TEST_F(Pipeline, AnErrorOfTheConsumerComesThrough) {
  const Volume volume = busy_volume({9, 9, 9}, 8);
  MemorySource source(volume);
  const auto chain = resolve_chain(std::vector{median("1x1x1")}, source, *backend, {}, measure_noise);
  expect_error(Errc::not_writable, "disk full", [&] {
    filter_volume(source, chain, *backend, {},
                  [](VolumeView<const float>) { throw Error(Errc::not_writable, "out.nii: disk full"); });
  });
}

/// A volume that no machine can hold a slice of.
class HugeSource final : public VolumeSource {
 public:
  Extent extent() const override { return {{std::int64_t{1} << 30, std::int64_t{1} << 22, 3}}; }
  Spacing spacing() const override { return {1, 1, 1}; }
  void read(VolumeView<float>) override { FAIL(); }
};

TEST_F(Pipeline, WithoutALimitMemoryIsNotTakenThatTheMachineDoesNotHave) {
  HugeSource source;
  const std::vector chain = resolve_by_header(std::vector{median("1x1x0")}, source);
  expect_error(Errc::out_of_memory, "filtering one slice would take",
               [&] { filter_volume(source, chain, *backend, {}, [](const auto&) {}); });
}

TEST(ExpandedBox, IsCutAtTheVolume) {
  VolumeView<const float> whole{nullptr, {10, 10, 10}, {1, 1, 1}, {0, 0, 4}};
  VolumeView<float> box{nullptr, {10, 10, 2}, {1, 1, 1}, {0, 0, 5}};
  const auto result = expanded(box, {1, 2, 3}, whole);
  EXPECT_EQ(result.origin, (Index3{0, 0, 4}));
  EXPECT_EQ(result.extent.z, 6);
  EXPECT_EQ(result.extent.x, 10);
}

}  // namespace
}  // namespace quietvox
