// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/filled_source.hpp"
#include "core/pipeline.hpp"
#include "core/provenance.hpp"
#include "cuda/backend.hpp"
#include "filters/registry.hpp"
#include "parity/cases.hpp"
#include "support/instruction_sets.hpp"

namespace quietvox::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

bool small(const Extent& extent) { return extent.voxels() < 10'000; }

/// A busy volume with missing voxels of all sorts, also next to one another and at the edge.
Volume volume_with_holes(const Extent& extent, std::uint32_t seed) {
  Volume volume = busy_volume(extent, seed);
  const float infinite = std::numeric_limits<float>::infinity();
  const auto marked = std::bit_cast<float>(std::bit_cast<std::uint32_t>(nan) | 0x1234U);  // NaN that says more
  const float holes[] = {nan, infinite, -infinite, marked, nan};
  for (std::size_t i = 0; i < volume.voxels.size(); i += 11) {
    for (std::size_t n = 0; n < 1 + i % 3 && i + n < volume.voxels.size(); ++n)
      volume.voxels[i + n] = holes[(i + n) % 5];
  }
  return volume;
}

class Parity : public testing::TestWithParam<ParityCase> {
 protected:
  void SetUp() override {
    const auto [found, reason] = find_backend(GetParam().backend);
    if (!found) GTEST_SKIP() << "no CUDA device: " << reason;
    backend = found;
    filter = &find_filter(GetParam().filter);
    extent = GetParam().extent;
    if (!backend->has(*filter)) {
      ASSERT_NE(GetParam().backend, "cpu") << "every filter runs on the CPU";
      GTEST_SKIP() << filter->name << " is not on " << GetParam().backend << " yet";
    }
    reference = find_reference(filter->name);
    ASSERT_NE(reference, nullptr) << filter->name << " has no line in tests/support/references.cpp";
  }

  /// Calls body() with each instruction set of the CPU; once on other backends.
  template <class Body>
  void on_every_instruction_set(const Body& body) const {
    if (GetParam().backend != "cpu") return body();
    for_each_instruction_set(body);
  }

  const Backend* backend = nullptr;
  const Filter* filter = nullptr;
  const Reference* reference = nullptr;
  Extent extent;
};

TEST_P(Parity, EqualsTheReference) {
  auto variants = fitting_settings(*filter, extent);
  if (!small(extent)) variants.resize(1, variants.front());
  for (const FilterConfig& settings : variants) {
    for (const Volume& volume : {busy_volume(extent, 1), busy_volume(extent, 2, true), volume_with_holes(extent, 3)}) {
      const FilterConfig resolved = resolved_for(settings, volume, *backend);
      const Volume expected = reference->run(volume, resolved);
      on_every_instruction_set([&] {
        EXPECT_EQ(
            first_difference(expected, filtered(*backend, resolved, volume), reference->tolerance(volume, resolved)),
            "")
            << describe_chain(std::vector{resolved});
      });
    }
  }
}

/// What is `auto` comes from another volume: a constant has no noise, where a filter may just copy.
TEST_P(Parity, KeepsConstants) {
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    const FilterConfig resolved = resolved_for(settings, busy_volume(extent, 10), *backend);
    for (const float value : {0.0F, -1024.0F, 37.25F, 3e30F}) {
      const Volume volume(extent, {1, 1, 1}, value);
      const Volume expected = reference->keeps_constants(resolved) ? volume : reference->run(volume, resolved);
      EXPECT_EQ(
          first_difference(expected, filtered(*backend, resolved, volume), reference->tolerance(volume, resolved)), "")
          << value << ", " << describe_chain(std::vector{resolved});
    }
  }
}

TEST_P(Parity, WritesEveryVoxelAndNothingElse) {
  constexpr std::size_t guard = 1000;
  const auto marker = std::bit_cast<float>(0x7fc0beefU);
  const Volume volume = busy_volume(extent, 4);
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    const FilterConfig resolved = resolved_for(settings, volume, *backend);
    std::vector<float> buffer(volume.voxels.size() + 2 * guard, marker);
    backend->run(std::vector{resolved}, volume.view(), VolumeView<float>{buffer.data() + guard, extent, volume.spacing},
                 {});
    const auto untouched = [](float v) { return std::bit_cast<std::uint32_t>(v) == 0x7fc0beefU; };
    EXPECT_TRUE(std::all_of(buffer.begin(), buffer.begin() + guard, untouched));
    EXPECT_TRUE(std::all_of(buffer.end() - guard, buffer.end(), untouched));
    EXPECT_TRUE(std::all_of(buffer.begin() + guard, buffer.end() - guard, [](float v) { return std::isfinite(v); }))
        << describe_chain(std::vector{resolved});
  }
}

TEST_P(Parity, MissingVoxelsKeepTheirValue) {
  const Volume volume = volume_with_holes(extent, 5);
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    const FilterConfig resolved = resolved_for(settings, volume, *backend);
    const Volume result = filtered(*backend, resolved, volume);
    for (std::size_t i = 0; i < volume.voxels.size(); ++i) {
      const float before = volume.voxels[i], after = result.voxels[i];
      if (std::isfinite(before)) {
        ASSERT_TRUE(std::isfinite(after)) << i << ", " << describe_chain(std::vector{resolved});
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(before), std::bit_cast<std::uint32_t>(after))
            << i << ", " << describe_chain(std::vector{resolved});
      }
    }
  }
}

TEST_P(Parity, NegativeZeroIsReadAsZero) {
  Volume volume(extent, {1, 1, 1}, -0.0F);
  for (std::size_t i = 0; i < volume.voxels.size(); i += 5) volume.voxels[i] = -1;
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    const FilterConfig resolved = resolved_for(settings, volume, *backend);
    const Volume result = filtered(*backend, resolved, volume);
    EXPECT_TRUE(std::none_of(result.voxels.begin(), result.voxels.end(), [](float v) {
      return v == 0 && std::signbit(v);
    })) << describe_chain(std::vector{resolved});
  }
}

TEST_P(Parity, ThreadsNeverChangeAByte) {
  const Volume volume = volume_with_holes(extent, 6);
  const FilterConfig resolved = resolved_for(fitting_settings(*filter, extent).front(), volume, *backend);
  on_every_instruction_set([&] {
    const Volume one = filtered(*backend, resolved, volume, 1);
    EXPECT_TRUE(same_bytes(one, filtered(*backend, resolved, volume, 2)));
    EXPECT_TRUE(same_bytes(one, filtered(*backend, resolved, volume, 7)));
  });
}

/// At once, with what is missing filled in for filters of blocks.
Volume filtered_whole(const Backend& backend, const FilterConfig& resolved, const Volume& volume) {
  if (!resolved.filter().needs_whole_blocks) return filtered(backend, resolved, volume);
  MemorySource source(volume);
  FilledSource filled(source, resolved, {});
  Volume whole = volume;
  filled.read(whole.view());
  Volume result = filtered(backend, resolved, whole);
  filled.restore(result.view());
  return result;
}

/// So many slices at a time, and as many more as their windows see.
void expect_slabs_as_whole(const Backend& backend, const FilterConfig& resolved, const Volume& volume, int slices) {
  const std::int64_t halos = std::min<std::int64_t>(2 * resolved.halo().z, volume.extent.z);
  const std::int64_t held = 1 + resolved.filter().slabs_besides;
  Volume pieces(volume.extent, volume.spacing);
  MemorySource source(volume);
  const Execution execution{.memory_limit =
                                static_cast<std::size_t>((held * slices + halos) * volume.extent.slice() * 4)};
  filter_volume(source, std::vector{resolved}, backend, execution, [&](VolumeView<const float> part) {
    std::copy_n(part.data, part.extent.voxels(), pieces.view().row(0, part.origin.z));
  });
  EXPECT_TRUE(same_bytes(filtered_whole(backend, resolved, volume), pieces)) << describe_chain(std::vector{resolved});
}

void expect_no_byte_changed_by_slabs(const Backend& backend, const Filter& filter, const Extent& extent, int slices) {
  const Volume volume = volume_with_holes(extent, 7);
  for (const FilterConfig& settings : fitting_settings(filter, extent)) {
    expect_slabs_as_whole(backend, resolved_for(settings, volume, backend), volume, slices);
  }
}

TEST_P(Parity, SlabsNeverChangeAByte) { expect_no_byte_changed_by_slabs(*backend, *filter, extent, 12); }

TEST_P(Parity, SlabsOfAnOddNumberOfSlicesNeverChangeAByte) {
  expect_no_byte_changed_by_slabs(*backend, *filter, extent, 17);
}

/// A box inside the volume comes out as it does in the whole.
void expect_box_as_in_whole(const Backend& backend, const FilterConfig& resolved, const Volume& volume) {
  Index3 origin;
  Extent size;
  for (int axis = 0; axis < 3; ++axis) {
    origin[axis] = volume.extent[axis] / 4;
    size[axis] = std::max<std::int64_t>(1, volume.extent[axis] / 2);
  }
  const Volume whole = filtered(backend, resolved, volume);
  const Volume box = filtered_box(volume, origin, size, resolved.halo(),
                                  [&](auto from, auto to) { backend.run(std::vector{resolved}, from, to, {}); });
  EXPECT_TRUE(same_bytes(box, box_of(whole, origin, size))) << describe_chain(std::vector{resolved});
}

/// What ITK regions and device tiles rest on.
TEST_P(Parity, ABoxIsThatPartOfTheWhole) {
  const Volume volume = volume_with_holes(extent, 8);
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    const FilterConfig resolved = resolved_for(settings, volume, *backend);
    on_every_instruction_set([&] { expect_box_as_in_whole(*backend, resolved, volume); });
  }
}

/// Each voxel is filtered by the noise at its place in the whole volume, whatever part of that is at hand.
TEST_P(Parity, NoiseThatVaries) {
  NoiseModel noise{
      .sigma = 60,
      .map = {{{2, 3, 2}}, {0.4F, 1.5F, 1, 0.2F, 0.7F, 1, 1.2F, 0.9F, 1, 1.7F, 0.5F, 1}},
      .contrast = 150,
  };
  auto variants = fitting_settings(*filter, extent);
  if (!small(extent)) variants.resize(1, variants.front());
  const Volume volume = volume_with_holes(extent, 11);
  for (const FilterConfig& settings : variants) {
    const FilterConfig resolved =
        resolved_for(settings, volume, *backend, [&](VolumeSource&, const Execution&) { return noise; });
    const Volume expected = reference->run(volume, resolved);
    const Volume one = filtered(*backend, resolved, volume, 1);
    EXPECT_EQ(first_difference(expected, one, reference->tolerance(volume, resolved)), "")
        << describe_chain(std::vector{resolved});
    EXPECT_TRUE(same_bytes(one, filtered(*backend, resolved, volume, 7)));
    expect_slabs_as_whole(*backend, resolved, volume, 5);
    expect_box_as_in_whole(*backend, resolved, volume);
  }
}

template <class T>
void expect_integers_as_floats(const Backend& backend, const FilterConfig& settings, const Extent& extent,
                               float offset) {
  Volume volume = busy_volume(extent, 9, true);
  for (float& voxel : volume.voxels) voxel += offset;
  const auto missing = static_cast<T>(volume.voxels[volume.voxels.size() / 2]);
  std::vector<T> in(volume.voxels.size()), out(in.size());
  std::transform(volume.voxels.begin(), volume.voxels.end(), in.begin(), [](float v) { return static_cast<T>(v); });
  for (float& voxel : volume.voxels) {
    if (voxel == static_cast<float>(missing)) voxel = nan;
  }
  const FilterConfig resolved = resolved_for(settings, volume, backend);
  backend.run(resolved, VolumeView<const T>{in.data(), extent, volume.spacing, {}, missing},
              VolumeView<T>{out.data(), extent, volume.spacing, {}, missing}, {});
  const Volume expected = filtered(backend, resolved, volume);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float value = std::isnan(expected.voxels[i]) ? static_cast<float>(missing) : expected.voxels[i];
    ASSERT_EQ(static_cast<float>(out[i]), value) << "voxel " << i << ", " << describe_chain(std::vector{resolved});
  }
}

using IntegerParity = Parity;

TEST_P(IntegerParity, IntegersComeOutAsTheFloatsDo) {
  ASSERT_TRUE(backend->has_integer(*filter)) << filter->name << " filters integers on the CPU alone";
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    on_every_instruction_set([&] {
      expect_integers_as_floats<std::int16_t>(*backend, settings, extent, 0);
      expect_integers_as_floats<std::uint16_t>(*backend, settings, extent, 20'000);
    });
  }
}

using GpuParity = Parity;

/// A machine of one GPU tells as well as others how slices are shared out. Where there are more, all take part.
TEST_P(GpuParity, GpusNeverChangeAByte) {
  static const std::unique_ptr<const Backend> one = make_cuda_backend(0);
  static const std::unique_ptr<const Backend> two_shares = make_cuda_backend(std::array{0, 0});
  static const std::unique_ptr<const Backend> five_shares = make_cuda_backend(std::array{0, 0, 0, 0, 0});
  const Volume volume = volume_with_holes(extent, 12);
  for (const FilterConfig& settings : fitting_settings(*filter, extent)) {
    const FilterConfig resolved = resolved_for(settings, volume, *backend);
    const Volume expected = filtered(*one, resolved, volume);
    for (const Backend* const shared : {backend, two_shares.get(), five_shares.get()}) {
      EXPECT_TRUE(same_bytes(expected, filtered(*shared, resolved, volume)))
          << shared->name() << ", " << describe_chain(std::vector{resolved});
    }
  }
}

std::vector<ParityCase> cases_of(const std::string& backend) {
  std::vector<ParityCase> cases = parity_cases();
  std::erase_if(cases, [&](const ParityCase& c) { return c.backend != backend; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Filters, GpuParity, testing::ValuesIn(cases_of("cuda")),
                         [](const auto& test) { return case_name(test.param); });

INSTANTIATE_TEST_SUITE_P(Filters, Parity, testing::ValuesIn(parity_cases()),
                         [](const auto& test) { return case_name(test.param); });

/// Those of filters that take integers as they are.
std::vector<ParityCase> integer_cases() {
  std::vector<ParityCase> cases = parity_cases();
  std::erase_if(cases,
                [](const ParityCase& c) { return !find_backend("cpu").backend->has_integer(find_filter(c.filter)); });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Filters, IntegerParity, testing::ValuesIn(integer_cases()),
                         [](const auto& test) { return case_name(test.param); });

/// Values outside what a field allows, as text.
std::vector<std::string> bad_values(const FieldInfo& field) {
  std::vector<std::string> bad{"", "nonsense", "1,5", "--"};
  const bool triple = field.kind == FieldKind::integer_triple || field.kind == FieldKind::real_triple;
  if (triple || field.kind == FieldKind::integer || field.kind == FieldKind::real) {
    const double low = std::stod(field.min), high = std::stod(field.max);
    const auto below = low > -1e9 ? std::to_string(static_cast<long long>(std::floor(low)) - 1) : "-1e300";
    const auto above = high < 1e9 ? std::to_string(static_cast<long long>(std::ceil(high)) + 1) : "1e300";
    for (const std::string& value : {below, above, std::string("nan"), std::string("inf")}) {
      bad.push_back(value);
      if (triple) bad.push_back(field.min + "x" + field.min + "x" + value);
    }
    if (triple) bad.push_back(field.min + "x" + field.min);
  }
  if (!field.may_be_auto) bad.emplace_back("auto");
  return bad;
}

TEST(EveryFilter, RefusesBadValuesOfEveryField) {
  for (const Filter& filter : filters()) {
    for (const FieldInfo& field : filter.fields) {
      if (field.kind == FieldKind::text) continue;
      for (const std::string& value : bad_values(field)) {
        FilterConfig settings(filter);
        try {
          settings.set(field.name, value);
          ADD_FAILURE() << filter.name << " took --" << field.name << " '" << value << "'";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Errc::invalid_argument);
          EXPECT_NE(std::string(error.what()).find(filter.name + ": " + field.name), std::string::npos);
          EXPECT_NE(std::string(error.what()).find(field.allowed(field.name + " XxYxZ")), std::string::npos);
        }
        EXPECT_EQ(settings.get(field.name), field.default_text);
      }
    }
  }
}

TEST(EveryFilter, TakesTheEndsOfEveryRange) {
  for (const Filter& filter : filters()) {
    for (const FieldInfo& field : filter.fields) {
      for (const std::string& value : {field.min, field.max, field.default_text}) {
        if (value.empty()) continue;
        EXPECT_NO_THROW(FilterConfig(filter).set(field.name, value)) << filter.name << " " << field.name;
      }
    }
  }
}

TEST(EveryFilter, HasAReference) {
  for (const Filter& filter : filters()) {
    EXPECT_NE(find_reference(filter.name), nullptr) << filter.name << " has no line in tests/support/references.cpp";
  }
}

}  // namespace
}  // namespace quietvox::test
