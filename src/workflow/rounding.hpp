// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "core/execution.hpp"
#include "core/message.hpp"
#include "core/volume.hpp"
#include "io/image.hpp"

namespace quietvox {

/// What is left of filtered values in an output of whole numbers.
class Rounding {
 public:
  /// Without `integers`, nothing is lost.
  Rounding(const std::filesystem::path& output, io::Format, const std::optional<io::StoredIntegers>& integers,
           const Execution&);

  bool is_wanted() const { return integers_.has_value(); }
  void look_at(VolumeView<const float> slices);
  /// Throws Error(invalid_argument) where nothing is left of the picture: all values become one.
  void check() const;
  /// Empty where little is lost.
  Message warning() const;

 private:
  double exact(float value) const;   ///< the number that stands for a value
  double stored(float value) const;  ///< the whole one nearest to it
  double real(float value) const;    ///< what becomes of the value
  bool is_coarse() const;
  bool is_lost() const;
  std::string range() const;
  Message remedy() const;

  std::filesystem::path output_;
  io::Format format_;
  std::optional<io::StoredIntegers> integers_;
  Execution execution_;
  float least_ = std::numeric_limits<float>::infinity(), most_ = -std::numeric_limits<float>::infinity();
  bool is_lossy_ = false;
};

}  // namespace quietvox
