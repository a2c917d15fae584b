// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/pipeline.hpp"
#include "io/image.hpp"

namespace quietvox::cli {

/// Where the time of a whole command goes, seconds.
struct CommandTimes {
  io::Format format{};
  bool compressed = false;
  std::string backend;
  std::size_t files = 0;
  std::uintmax_t bytes = 0;  ///< of the input
  // Each step alone, on the whole volume.
  double open = 0, read = 0, filter = 0, write = 0, finish = 0;
  double copy = 0;  ///< of the input's files, as a measure for the disk

  /// As a command does it, slab by slab, steps side by side.
  struct Whole {
    double seconds = 0;
    double open = 0, finish = 0;
    StageTimes stages{};
  } whole{};
};

/// Times the median of radius 1 from file to file: a CT series (dicom) or a file (nifti, `compressed` or not) of this
/// volume, made in `folder`, which has room for three of them.
CommandTimes measure_command(io::Format, bool compressed, VolumeView<const float> volume,
                             const std::filesystem::path& folder, const Backend&, const Execution&);

}  // namespace quietvox::cli
