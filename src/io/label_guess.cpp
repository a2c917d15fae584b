// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/label_guess.hpp"

#include <unordered_map>
#include <unordered_set>

namespace quietvox::io {
namespace {

constexpr double least_share_equal = 0.9;
constexpr std::size_t few_numbers = 8;  // as no scan has, and many images of labels
constexpr double least_share_equal_of_few = 0.5;
constexpr std::int64_t least_pairs = 100;
constexpr std::int64_t least_voxels_of_few = 4096;  // a tiny image may have few numbers by chance

/// Neighbours along x and y of which one at least is no background: how many there are, and how many are equal.
struct Pairs {
  std::int64_t all = 0, equal = 0;

  void add(float a, float b, float background) {
    if (a == background && b == background) return;
    ++all;
    equal += a == b ? 1 : 0;
  }
};

/// The number that most voxels have. Adds all to those that were met before.
float most_frequent(const std::vector<float>& voxels, std::unordered_set<float>& met) {
  std::unordered_map<float, std::int64_t> counts;
  std::pair<float, std::int64_t> most{};
  for (const float voxel : voxels) {
    if (const std::int64_t count = ++counts[voxel]; count > most.second) most = {voxel, count};
  }
  for (const auto& [number, count] : counts) met.insert(number);
  return most.first;
}

}  // namespace

std::string why_labels(VolumeSource& stored) {
  const Extent extent = stored.extent();
  std::vector<float> voxels(static_cast<std::size_t>(extent.slice()));
  Pairs pairs;
  std::unordered_set<float> numbers;
  const auto look_at = [&](std::int64_t z) {
    const VolumeView<float> slice{voxels.data(), {{extent.x, extent.y, 1}}, stored.spacing(), {0, 0, z}};
    stored.read(slice);
    const float background = most_frequent(voxels, numbers);
    for (std::int64_t y = 0; y < extent.y; ++y) {
      for (std::int64_t x = 0; x < extent.x; ++x) {
        if (x > 0) pairs.add(slice.at(x - 1, y, 0), slice.at(x, y, 0), background);
        if (y > 0) pairs.add(slice.at(x, y - 1, 0), slice.at(x, y, 0), background);
      }
    }
  };
  const auto share = [&] { return static_cast<double>(pairs.equal) / static_cast<double>(pairs.all); };
  for (const std::int64_t z : {extent.z / 4, extent.z / 2, extent.z * 3 / 4}) look_at(z);
  if (pairs.all >= least_pairs && share() >= least_share_equal) {
    return "integers without noise, of which neighbours are equal";
  }
  if (extent.voxels() < least_voxels_of_few) return "";
  // What is marked may lie in other slices.
  pairs = {};
  for (std::int64_t z = 0; z < extent.z && numbers.size() <= few_numbers; ++z) look_at(z);
  const bool are_few = numbers.size() == 2 || (numbers.size() <= few_numbers && pairs.all >= least_pairs &&
                                               share() >= least_share_equal_of_few);
  return are_few ? "only " + std::to_string(numbers.size()) + " different whole numbers" : "";
}

HeaderFacts LazyFacts::get(std::size_t volume, bool are_integers,
                           const std::function<std::unique_ptr<VolumeSource>()>& first_volume) {
  std::call_once(once_, [&] {
    if (facts_.kind || !are_integers) return;
    try {
      const std::string why = why_labels(*first_volume());
      if (why.empty()) return;
      facts_.kind = DataKind::labels;
      facts_.kind_source = "the voxels look like labels: " + why;
    } catch (const Error& error) {  // whoever filters the voxels will say what is wrong with them
      if (error.code() == Errc::cancelled) throw;
    }
  });
  return facts_.kind ? facts_ : beside_.of_volume(volume);
}

}  // namespace quietvox::io
