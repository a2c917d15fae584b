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
#include "core/volume_view.hpp"
#include "io/image.hpp"

namespace quietvox {

/// The remedy for messages: how to keep all digits in an output of this format.
Message float_remedy(io::Format);

/// Finds how much rounding to whole numbers leaves of the filtered values, volume by volume.
class RoundingCheck {
 public:
  RoundingCheck(const std::filesystem::path& output, io::Format, std::size_t volumes, const Execution&);

  /// Without integers nothing is rounded, and nothing is lost.
  void begin_volume(const Extent&, const std::optional<io::StoredIntegers>&);
  void look_at(VolumeView<const float> slices);
  void end_volume();
  /// Throws Error(invalid_argument) if no volume keeps an image: all values of each become one.
  void check() const;
  /// A warning if the values of a volume become one, or if most of them share few stored numbers; otherwise empty.
  Message warning() const;

 private:
  double exact(float value) const;   ///< the stored number of a value before rounding
  double stored(float value) const;  ///< the same rounded
  double real(float value) const;    ///< the value after rounding
  bool is_lost() const;
  void judge_sample();
  std::string change_of_mean() const;  ///< a clause for messages; empty where rounding changes it little
  std::string place() const;           ///< for messages: the output and, if it has several, the volume

  std::filesystem::path output_;
  io::Format format_;
  std::size_t volumes_, volume_ = 0;
  std::optional<io::StoredIntegers> integers_;
  Execution execution_;
  std::int64_t slice_ = 0, stride_ = 1;
  float least_ = 0, most_ = 0;
  std::vector<float> sample_;  ///< one voxel in each `stride_`
  bool is_picture_left_ = false;
  Message lost_, warning_;  ///< about the first volume that gives cause
};

}  // namespace quietvox
