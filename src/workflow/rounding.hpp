// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/execution.hpp"
#include "core/message.hpp"
#include "core/volume_view.hpp"
#include "io/image.hpp"

namespace quietvox {

/// The least and the greatest of the values that are finite; infinities the wrong way round where none is.
std::pair<float, float> finite_range(std::span<const float>);

/// How all digits of an output of this format are kept.
Message float_remedy(io::Format);

/// What is left of filtered values in an output of whole numbers, volume by volume.
class Rounding {
 public:
  Rounding(const std::filesystem::path& output, io::Format, std::size_t volumes, const Execution&);

  /// Where it is not stored as integers, nothing is lost.
  void begin_volume(const Extent&, const std::optional<io::StoredIntegers>&);
  void look_at(VolumeView<const float> slices);
  void end_volume();
  /// Throws Error(invalid_argument) where nothing is left of any picture: all values of each volume become one.
  void check() const;
  /// Where values of a volume become one, or most of them had few numbers to be stored as; else empty.
  Message warning() const;

 private:
  double exact(float value) const;   ///< the number that stands for a value
  double stored(float value) const;  ///< the whole one nearest to it
  double real(float value) const;    ///< what becomes of the value
  bool is_lost() const;
  void judge_sample();
  std::string place() const;  ///< for messages: the output, and where it has several, the volume

  std::filesystem::path output_;
  io::Format format_;
  std::size_t volumes_, volume_ = 0;
  std::optional<io::StoredIntegers> integers_;
  Execution execution_;
  std::int64_t slice_ = 0, stride_ = 1;
  float least_ = 0, most_ = 0;
  std::vector<float> sample_;  ///< one voxel in each `stride_`
  bool is_picture_left_ = false;
  Message lost_, warning_;  ///< of the first volume of which it is to be told
};

}  // namespace quietvox
