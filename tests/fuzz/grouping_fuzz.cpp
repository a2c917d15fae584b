// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "io/dicom/series.hpp"

namespace {

using quietvox::io::dicom::SliceHeader;
using quietvox::io::dicom::Vector3;

void require(bool condition) {
  if (!condition) std::abort();
}

/// A slice whose numbers are few, so that many agree, or any that a header can hold.
SliceHeader make_slice(FuzzedDataProvider& data) {
  const auto number = [&] {
    return data.ConsumeBool() ? data.ConsumeIntegralInRange(-3, 3) * 0.5
                              : data.ConsumeFloatingPointInRange<double>(-1e300, 1e300);
  };
  SliceHeader slice;
  slice.columns = slice.frame_columns = data.ConsumeIntegralInRange(1, 2);
  slice.rows = slice.frame_rows = 1;
  if (data.ConsumeBool()) slice.position = {number(), number(), number()};
  static constexpr Vector3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0.6, 0.8, 0}};
  if (data.ConsumeBool()) {
    slice.axes = {axes[data.ConsumeIntegralInRange(0, 3)], axes[data.ConsumeIntegralInRange(0, 3)]};
  }
  slice.thickness = std::abs(number()) + 0.1;
  slice.contrast = std::string(data.ConsumeIntegralInRange<std::size_t>(0, 1), 'x');
  if (data.ConsumeBool()) slice.echo_time = number();
  if (data.ConsumeBool()) slice.temporal_position = number();
  for (const auto trait : {&SliceHeader::b_value, &SliceHeader::inversion_time, &SliceHeader::flip_angle,
                           &SliceHeader::trigger_time, &SliceHeader::reference_time, &SliceHeader::acquired_at,
                           &SliceHeader::content_time, &SliceHeader::acquisition, &SliceHeader::instance_number}) {
    if (data.ConsumeBool()) slice.*trait = number();
  }
  for (const auto text : {&SliceHeader::sequence, &SliceHeader::image_type, &SliceHeader::frame_of_reference}) {
    slice.*text = std::string(data.ConsumeIntegralInRange<std::size_t>(0, 2), 'x');
  }
  for (auto* const numbers : {&slice.gradient, &slice.dimension_indices}) {
    for (auto count = data.ConsumeIntegralInRange(0, 2); count > 0; --count) numbers->push_back(number());
  }
  return slice;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  std::vector<SliceHeader> slices;
  while (data.remaining_bytes() > 0 && slices.size() < 40) {
    slices.push_back(make_slice(data));
    slices.back().name = std::to_string(slices.size());
  }
  if (slices.empty()) return 0;
  std::set<std::string> found;
  for (const auto& volume : quietvox::io::dicom::make_volumes(slices)) {
    require(!volume.slices.empty());
    require(volume.geometry.extent.z == static_cast<std::int64_t>(volume.slices.size()));
    for (const SliceHeader& slice : volume.slices) {
      require(found.insert(slice.name.string()).second);
      require(slice.columns == volume.geometry.extent.x);
    }
  }
  require(found.size() == slices.size());
  return 0;
}
