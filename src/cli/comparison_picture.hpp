// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "core/execution.hpp"
#include "core/volume_view.hpp"
#include "io/output/file_permissions.hpp"

namespace quietvox::cli {

/// Grey values from `low` (black) to `high` (white).
struct Window {
  double low, high;
};

/// The window that holds the middle 98 % of a slice's values.
Window usual_window(VolumeView<const float> slice);

/// Writes a PNG with two slices and their difference (b - a, 0 in the middle of the grey scale) side by side, all three
/// with a window of the same width. The file appears whole or not at all, with no more access than `most`. Throws
/// Error: exists, output_path, not_writable, cancelled.
void write_picture(const std::filesystem::path&, VolumeView<const float> a, VolumeView<const float> b, Window,
                   bool force, const io::Access& most, const Execution&);

}  // namespace quietvox::cli
