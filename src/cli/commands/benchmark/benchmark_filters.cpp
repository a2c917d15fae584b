// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/benchmark/benchmark_filters.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "core/error.hpp"
#include "core/provenance.hpp"
#include "filters/registry.hpp"
#include "itk_adapters/peers/itk_filters.hpp"
#include "itk_adapters/peers/opencv_filters.hpp"

namespace quietvox::cli {
namespace {

using View = VolumeView<const float>;

constexpr double range_sigma = 50, gaussian_sigma = 3;

/// A filter of ours and others'.
struct Case {
  FilterConfig settings;
  std::function<std::shared_ptr<const float>(View, int threads)> itk;
  Extent itk_extent;
  double tolerance;  ///< between ITK's result and ours
  std::function<void(View, VolumeView<float>, int threads)> opencv{};
  FilterConfig opencv_settings = settings;  ///< with which ours computes what OpenCV does
  double opencv_tolerance = 0;              ///< between OpenCV's result and ours
};

FilterConfig with(const char* filter, std::initializer_list<std::pair<const char*, std::string>> values) {
  FilterConfig settings(find_filter(filter));
  for (const auto& [field, value] : values) settings.set(field, value);
  return settings;
}

Case median_case(Radius3 radius, Extent itk_extent) {
  Case result{with("median", {{"radius", FieldType<Radius3>::format(radius)}}),
              [radius](View in, int threads) { return peers::itk_median<float>(in, radius, threads); }, itk_extent, 0};
  if (radius.z == 0 && radius.x <= 2) {
    result.opencv = [radius](View in, VolumeView<float> out, int threads) {
      peers::opencv_median(in, out, radius.x, threads);
    };
  }
  return result;
}

/// ITK reads the range weight from a table of 100 places, and cuts it at four sigmas. OpenCV's window is a circle.
Case bilateral_case(Radius3 radius, Extent itk_extent) {
  const double domain_sigma = radius.x / 2.5;
  Case result{
      with("bilateral", {{"radius", FieldType<Radius3>::format(radius)},
                         {"domain-sigma", FieldType<double>::format(domain_sigma)},
                         {"range-sigma", FieldType<double>::format(range_sigma)}}),
      [=](View in, int threads) { return peers::itk_bilateral(in, radius, domain_sigma, range_sigma, 100, threads); },
      itk_extent, range_sigma / 20};
  if (radius.z == 0) {
    result.opencv_settings.set("support", "disc");
    result.opencv_tolerance = 4e-5 * range_sigma;
    result.opencv = [=](View in, VolumeView<float> out, int threads) {
      peers::opencv_bilateral(in, out, radius.x, domain_sigma, range_sigma, threads);
    };
  }
  return result;
}

/// ITK's recursion is not quite a Gaussian.
Case gaussian_case(Extent itk_extent) {
  return {with("gaussian", {{"sigma", FieldType<double>::format(gaussian_sigma)}}),
          [](View in, int threads) { return peers::itk_gaussian(in, gaussian_sigma, threads); }, itk_extent, 10};
}

/// ITK divides a volume among threads along z, a single slice along y: either is long enough for many.
std::vector<Case> all_cases() {
  return {median_case({1, 1, 0}, {{512, 512, 1}}),   median_case({2, 2, 0}, {{512, 512, 1}}),
          median_case({3, 3, 0}, {{512, 512, 1}}),   median_case({1, 1, 1}, {{128, 128, 32}}),
          median_case({2, 2, 2}, {{64, 64, 32}}),    bilateral_case({3, 3, 0}, {{256, 256, 1}}),
          bilateral_case({3, 3, 3}, {{64, 64, 16}}), gaussian_case({{256, 256, 64}})};
}

/// The middle of a volume, no larger than `extent`.
std::vector<float> middle_of(View volume, Extent& extent) {
  Index3 first;
  for (int axis = 0; axis < 3; ++axis) {
    extent[axis] = std::min(extent[axis], volume.extent[axis]);
    first[axis] = (volume.extent[axis] - extent[axis]) / 2;
  }
  std::vector<float> voxels;
  for (std::int64_t z = 0; z < extent.z; ++z) {
    for (std::int64_t y = 0; y < extent.y; ++y) {
      const float* const row = volume.row(first.y + y, first.z + z) + first.x;
      voxels.insert(voxels.end(), row, row + extent.x);
    }
  }
  return voxels;
}

double largest_difference(const std::vector<float>& ours, const float* other) {
  double largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(ours[i]) - static_cast<double>(other[i])));
  }
  return largest;
}

/// Runs all in turn, each as often as the others; the shortest time of each.
std::vector<double> best_times(const std::vector<std::function<void()>>& runs, double seconds,
                               const Execution& execution) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
  const Clock::time_point begin = Clock::now();
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  do {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      check_stop(execution.stop);
      const Clock::time_point start = Clock::now();
      runs[i]();
      best[i] = std::min(best[i], since(start));
    }
  } while (since(begin) < seconds * static_cast<double>(runs.size()));
  return best;
}

FilterRates measure(const Case& c, View volume, const Backend& cpu, const Backend* cuda, double seconds,
                    const Execution& execution) {
  Extent extent = c.itk_extent;
  const std::vector<float> part = middle_of(volume, extent);
  const View in{part.data(), extent};
  const auto resolved = [&](const FilterConfig& settings) {
    return std::vector{settings.resolved({volume.extent, volume.spacing, {}})};
  };
  const std::vector chain = resolved(c.settings);

  FilterRates rates{.settings = c.settings, .cuda = {}, .opencv = {}};
  const auto check = [&](const Backend& backend, const std::vector<FilterConfig>& ours, const std::string& other,
                         const float* expected, double tolerance) {
    std::vector<float> result(part.size());
    backend.run(ours, in, VolumeView<float>{result.data(), extent}, execution);
    const double difference = largest_difference(result, expected);
    if (difference > tolerance) {
      throw Error(Errc::internal, describe_chain(ours) + " on " + backend.name() + " differs from " + other + " by " +
                                      FieldType<double>::format(difference) + ", more than " +
                                      FieldType<double>::format(tolerance));
    }
    return difference;
  };
  const auto itk = c.itk(in, execution.threads);
  const bool opencv = c.opencv && !peers::opencv_version().empty();
  rates.largest_difference = check(cpu, chain, "ITK", itk.get(), c.tolerance);
  if (cuda) check(*cuda, chain, "ITK", itk.get(), c.tolerance);
  if (opencv) {
    std::vector<float> others(part.size());
    c.opencv(in, VolumeView<float>{others.data(), extent}, execution.threads);
    check(cpu, resolved(c.opencv_settings), "OpenCV", others.data(), c.opencv_tolerance);
  }

  std::vector<float> out(static_cast<std::size_t>(volume.extent.voxels()));
  const VolumeView<float> result{out.data(), volume.extent};
  std::vector<std::function<void()>> runs{[&] { cpu.run(chain, volume, result, execution); },
                                          [&] { c.itk(in, execution.threads); }};
  if (cuda) runs.emplace_back([&] { cuda->run(chain, volume, result, execution); });
  const VolumeView<const float> slices = volume.slices(0, std::min<std::int64_t>(volume.extent.z, 8));
  if (opencv) runs.emplace_back([&] { c.opencv(slices, result.slices(0, slices.extent.z), execution.threads); });
  const auto times = best_times(runs, seconds, execution);
  const auto voxels = static_cast<double>(volume.extent.voxels());
  rates.cpu = voxels / times[0];
  rates.itk = static_cast<double>(extent.voxels()) / times[1];
  if (cuda) rates.cuda = voxels / times[2];
  if (opencv) rates.opencv = static_cast<double>(slices.extent.voxels()) / times.back();
  return rates;
}

}  // namespace

std::vector<FilterRates> measure_filters(View volume, const Backend& cpu, const Backend* cuda, double seconds,
                                         const Execution& execution) {
  const std::vector<Case> cases = all_cases();
  std::vector<FilterRates> all;
  for (const Case& c : cases) {
    all.push_back(measure(c, volume, cpu, cuda, seconds, execution.silent()));
    if (execution.progress) {
      execution.progress(static_cast<double>(all.size()) / static_cast<double>(cases.size()));
    }
  }
  return all;
}

}  // namespace quietvox::cli
