// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace quietvox {

/// Missing voxels are the same.
inline bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Marks the background of a slice that was cut out: squares of 2 x 2 voxels of `value` (NaN: missing) that are
/// connected with one in the middle of 10 x 10 such voxels. Noise that is clipped at that value only makes single
/// voxels and small patches of it. Beyond the edge of the slice all is background. Where single other voxels lie
/// scattered about, it is none: such are low counts, most of which are 0. They do not count beside an object, nor in
/// one line.
std::vector<bool> cut_out_background(const float* voxels, std::int64_t columns, std::int64_t rows, float value);

/// Marks letters, digits and scales in such a `background`: what stands alone in it and nowhere fills a square of 8 x 8
/// voxels, if a third of its voxels hold one value, or if neighbours differ by far more than noise makes them, which is
/// `difference`, a standard deviation. What has two voxels between is looked at together, as a digit and its point.
std::vector<bool> writing_in_background(const float* voxels, std::int64_t columns, std::int64_t rows, float value,
                                        const std::vector<bool>& background, double difference);

}  // namespace quietvox
