// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/execution.hpp"
#include "core/message.hpp"
#include "core/volume.hpp"
#include "io/image.hpp"

namespace quietvox {

/// What is left of filtered values in an output of whole numbers, volume by volume.
class Rounding {
 public:
  Rounding(const std::filesystem::path& output, io::Format, std::size_t volumes, const Execution&);

  /// Where it is not stored as integers, nothing is lost.
  void begin_volume(const Extent&, const std::optional<io::StoredIntegers>&);
  void look_at(VolumeView<const float> slices);
  /// Throws Error(invalid_argument) where nothing is left of the picture: all values become one.
  void end_volume();
  /// Where most values of a volume had few numbers to be stored as; else empty.
  const Message& warning() const { return warning_; }

 private:
  double exact(float value) const;   ///< the number that stands for a value
  double stored(float value) const;  ///< the whole one nearest to it
  double real(float value) const;    ///< what becomes of the value
  bool is_lost() const;
  void judge_sample();
  Message remedy() const;

  std::filesystem::path output_;
  io::Format format_;
  std::size_t volumes_, volume_ = 0;
  std::optional<io::StoredIntegers> integers_;
  Execution execution_;
  std::int64_t slice_ = 0, stride_ = 1;
  float least_ = 0, most_ = 0;
  std::vector<float> sample_;  ///< one voxel in each `stride_`
  Message warning_;
};

}  // namespace quietvox
