// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/peers/opencv_filters.hpp"

#include "core/error.hpp"

#ifdef QUIETVOX_WITH_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

namespace quietvox::peers {
namespace {

/// Calls `filter(from, to)` for each slice.
template <class Filter>
void for_each_slice(const VolumeView<const float>& in, const VolumeView<float>& out, int threads,
                    const Filter& filter) {
  cv::setNumThreads(threads > 0 ? threads : -1);
  const int rows = static_cast<int>(in.extent.y), columns = static_cast<int>(in.extent.x);
  for (std::int64_t z = 0; z < in.extent.z; ++z) {
    cv::Mat to(rows, columns, CV_32F, out.row(0, z));
    filter(cv::Mat(rows, columns, CV_32F, const_cast<float*>(in.row(0, z))), to);
  }
}

}  // namespace

std::string opencv_version() { return CV_VERSION; }

void opencv_median(VolumeView<const float> in, VolumeView<float> out, int radius, int threads) {
  for_each_slice(in, out, threads, [&](const cv::Mat& from, cv::Mat& to) { cv::medianBlur(from, to, 2 * radius + 1); });
}

void opencv_bilateral(VolumeView<const float> in, VolumeView<float> out, int radius, double domain_sigma,
                      double range_sigma, int threads) {
  for_each_slice(in, out, threads, [&](const cv::Mat& from, cv::Mat& to) {
    cv::bilateralFilter(from, to, 2 * radius + 1, range_sigma, domain_sigma, cv::BORDER_REPLICATE);
  });
}

}  // namespace quietvox::peers

#else

namespace quietvox::peers {
namespace {

[[noreturn]] void absent() { throw Error(Errc::internal, "quietvox was built without OpenCV"); }

}  // namespace

std::string opencv_version() { return {}; }
void opencv_median(VolumeView<const float>, VolumeView<float>, int, int) { absent(); }
void opencv_bilateral(VolumeView<const float>, VolumeView<float>, int, double, double, int) { absent(); }

}  // namespace quietvox::peers
#endif
