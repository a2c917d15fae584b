// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Cells of every format to values and back, beside what the header of the functions promises, written out plainly.
#include "io/dicom/pixels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

namespace quietvox::io::dicom {
namespace {

struct Case {
  PixelFormat format;
  std::optional<std::pair<int, int>> padding;
  bool spare_bits_repeat_the_sign;
  double not_whole, not_finite, outside;  ///< the parts of the values that are so
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  out << c.format.bits_stored << " bits up to " << c.format.high_bit << (c.format.is_signed ? ", signed" : "");
  if (c.padding) out << ", padding " << c.padding->first << " to " << c.padding->second;
  return out << ", " << c.not_whole << " not whole, " << c.not_finite << " not finite, " << c.outside << " outside";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const PixelFormat& format :
       {PixelFormat{16, 16, 15, false}, PixelFormat{16, 16, 15, true}, PixelFormat{16, 12, 11, false},
        PixelFormat{16, 12, 11, true}, PixelFormat{16, 12, 15, true}, PixelFormat{16, 10, 13, false},
        PixelFormat{8, 8, 7, false}}) {
    for (const auto& padding : {std::optional<std::pair<int, int>>(), std::optional(std::pair(format.min(), -1)),
                                std::optional(std::pair(5, 9)), std::optional(std::pair(format.max(), format.max()))}) {
      for (const bool repeat : {false, true}) {
        for (const double part : {0.0, 0.0003, 0.2}) all.push_back({format, padding, repeat, part, part, part});
        all.push_back({format, padding, repeat, 0, 0.1, 0});
        all.push_back({format, padding, repeat, 0, 0, 0.001});
      }
    }
  }
  return all;
}

int stored_of(const PixelFormat& format, std::uint16_t cell) {
  int number = (cell >> format.shift()) & ((1 << format.bits_stored) - 1);
  if (format.is_signed && number > format.max()) number -= 1 << format.bits_stored;
  return number;
}

class Merging {
 public:
  Merging(const Case& c, std::size_t count) : cells(count), values(count), case_(c) {
    slice.format = c.format;
    slice.padding = c.padding;
    slice.columns = slice.frame_columns = static_cast<std::int64_t>(count);
    slice.rows = slice.frame_rows = 1;
    const int min = c.format.min(), max = c.format.max();
    for (std::size_t i = 0; i < count; ++i) {
      cells[i] = static_cast<std::uint16_t>(random_());
      if (c.format.bits_allocated == 8) cells[i] &= 0xff;
      if (c.spare_bits_repeat_the_sign) {
        cells[i] = c.format.sign_extended().with_stored(cells[i], stored_of(c.format, cells[i]));
      }
      if (c.padding && random_() % 4 == 0) cells[i] = c.format.with_stored(cells[i], c.padding->first);
      const int number = min + static_cast<int>(random_() % static_cast<unsigned>(max - min + 1));
      values[i] = static_cast<float>(number);
      if (chance() < c.not_whole) values[i] += random_() % 2 ? 0.5f : -0.25f;
      if (chance() < c.outside) values[i] *= 1e6f;
      if (chance() < c.not_finite) {
        values[i] = std::array{std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity()}[random_() % 3];
      }
    }
  }

  /// What is to become of the cells, and how many are clamped.
  std::pair<std::vector<std::uint16_t>, std::int64_t> expected() const {
    const PixelFormat& format = case_.format;
    PixelFormat written = format.sign_extended();
    for (const std::uint16_t cell : cells) {
      if (written.with_stored(cell, stored_of(format, cell)) != cell) written = format;
    }
    std::vector<std::uint16_t> after = cells;
    std::int64_t clamped = 0;
    const auto is_padding = [&](int number) {
      return case_.padding && number >= case_.padding->first && number <= case_.padding->second;
    };
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (!std::isfinite(values[i]) || is_padding(stored_of(format, cells[i]))) continue;
      const double rounded = std::round(values[i]);
      double number = std::clamp<double>(rounded, format.min(), format.max());
      clamped += number != rounded;
      double below = number, above = number;
      while (is_padding(static_cast<int>(below)) && below >= format.min()) --below;
      while (is_padding(static_cast<int>(above)) && above <= format.max()) ++above;
      if (below < format.min() || (above <= format.max() && above - values[i] <= values[i] - below)) below = above;
      number = below;
      after[i] = written.with_stored(after[i], static_cast<int>(number));
    }
    return {after, clamped};
  }

  SliceHeader slice;
  std::vector<std::uint16_t> cells;
  std::vector<float> values;

 private:
  double chance() { return static_cast<double>(random_()) / static_cast<double>(std::mt19937::max()); }

  Case case_;
  std::mt19937 random_{11};
};

TEST(DicomPixels, StoredNumbersGoBackIntoTheirCells) {
  for (const Case& c : cases()) {
    Merging merging(c, 5000);
    const auto [after, clamped] = merging.expected();
    const auto before = merging.cells;
    const Merged merged = merge_values(merging.slice, merging.values.data(), VoxelDomain::stored, merging.cells);
    EXPECT_EQ(merged.clamped, clamped) << c;
    EXPECT_EQ(merged.is_changed, after != before) << c;
    EXPECT_EQ(merging.cells, after) << c;
    EXPECT_FALSE(merge_values(merging.slice, merging.values.data(), VoxelDomain::stored, merging.cells).is_changed)
        << c;
  }
}

TEST(DicomPixels, RealValuesGoBackIntoTheirCells) {
  for (const Case& c : cases()) {
    Merging merging(c, 5000);
    const auto [after, clamped] = merging.expected();
    merging.slice.slope = 0.25;
    merging.slice.intercept = -1024;
    for (float& value : merging.values) value = value * 0.25f - 1024;
    if (c.outside > 0 || c.not_whole > 0) continue;  // their values lose digits on the way
    EXPECT_EQ(merge_values(merging.slice, merging.values.data(), VoxelDomain::real, merging.cells).clamped, clamped)
        << c;
    EXPECT_EQ(merging.cells, after) << c;
  }
}

TEST(DicomPixels, ValuesAreTheStoredNumbersOrTheirRescale) {
  for (const Case& c : cases()) {
    Merging merging(c, 3000);
    merging.slice.slope = 0.5;
    merging.slice.intercept = -7;
    for (const VoxelDomain domain : {VoxelDomain::stored, VoxelDomain::real, VoxelDomain::real_with_padding}) {
      std::vector<float> values(merging.cells.size());
      to_values(merging.slice, merging.cells, domain, values.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const int stored = stored_of(c.format, merging.cells[i]);
        const bool missing = domain != VoxelDomain::real_with_padding && c.padding && stored >= c.padding->first &&
                             stored <= c.padding->second;
        if (missing) {
          ASSERT_TRUE(std::isnan(values[i])) << c << " " << i;
        } else {
          ASSERT_EQ(values[i], domain == VoxelDomain::stored ? stored : 0.5 * stored - 7) << c << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace quietvox::io::dicom
