// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/comparison_picture.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/files/byte_stream.hpp"
#include "io/output/atomic_output.hpp"

namespace quietvox::cli {
namespace {

constexpr std::int64_t gap = 4;  // white columns between the three

std::uint8_t grey(double value, Window window) {
  if (!std::isfinite(value)) return 0;
  const double scaled = 255 * (value - window.low) / (window.high - window.low);
  return static_cast<std::uint8_t>(std::lround(std::clamp(scaled, 0.0, 255.0)));
}

}  // namespace

Window usual_window(VolumeView<const float> slice) {
  std::vector<float> values;
  std::copy_if(slice.data, slice.data + slice.extent.slice(), std::back_inserter(values),
               [](float value) { return std::isfinite(value); });
  if (values.empty()) return {0, 1};
  const auto at = [&](double share) {
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), place, values.end());
    return static_cast<double>(*place);
  };
  const double low = at(0.01), high = at(0.99);
  return high > low ? Window{low, high} : Window{low - 1, low + 1};
}

void write_picture(const std::filesystem::path& path, VolumeView<const float> a, VolumeView<const float> b,
                   Window window, bool force, const io::Access& most, const Execution& execution) {
  const std::int64_t width = 3 * a.extent.x + 2 * gap;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * a.extent.y), 255);
  const double half = (window.high - window.low) / 2;
  for (std::int64_t y = 0; y < a.extent.y; ++y) {
    std::uint8_t* line = pixels.data() + y * width;
    for (std::int64_t x = 0; x < a.extent.x; ++x) {
      const double before = a.at(x, y, 0), after = b.at(x, y, 0);
      line[x] = grey(before, window);
      line[a.extent.x + gap + x] = grey(after, window);
      line[2 * (a.extent.x + gap) + x] = grey(after - before, {-half, half});
    }
  }
  io::AtomicOutput output(path, io::AtomicOutput::Kind::file, force, {}, most);
  output.begin();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(a.extent.y);
  image.format = PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  const auto encode = [&](void* bytes) {
    if (png_image_write_to_memory(&image, bytes, &size, 0, pixels.data(), 0, nullptr)) return;
    throw Error(Errc::internal, path.string() + ": cannot be made: " + image.message);
  };
  encode(nullptr);
  std::vector<std::byte> bytes(size);
  encode(bytes.data());
  io::ByteWriter file(output.staging(), false, path, execution);
  file.write(std::span(bytes).first(size));
  file.close_and_verify();
  output.commit(execution);
}

}  // namespace quietvox::cli
