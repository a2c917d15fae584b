// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "analysis/noise_bricks.hpp"
#include "analysis/noise_impulses.hpp"

namespace quietvox {

/// Values that stand for none, far from all others.
struct FillValues {
  double end = std::numeric_limits<double>::infinity(), begin = -end;  ///< bricks of means beyond these hold some
  std::vector<float> values;

  bool is_one(double value) const;
  bool are_in(double mean) const { return mean < begin || mean > end; }
  bool in(const NoiseBricks& bricks, std::int64_t i) const;
};

/// What the bricks of a volume show before any is left out.
struct NoiseSurvey {
  struct Known {
    bool is_difference = false;     ///< the bricks hold what two volumes differ by, their means are those of one volume
    bool object_is_dark = false;    ///< as far as is known
    bool may_have_borders = false;  ///< that X-rays did not reach
  };
  NoiseSurvey(const NoiseBricks&, const Known&);

  double step;  ///< of which all voxels are multiples; 0 where there is none that shows
  Impulses impulses;
  FillValues fill;
  /// Of large areas of one value each in a noisy image: background, panels beside the image, corners that a rotation
  /// filled, saturation.
  std::vector<float> uniform_values;
  bool is_clipped = false;  ///< at the top
  bool masked = false;
  float background = 0;       ///< the most frequent value of bricks that hold only one
  double darkest = 0;         ///< of the bricks' means
  double middle = 0;          ///< between dark and bright bricks
  std::vector<bool> object;   ///< bricks that show noise, if there is any
  std::int64_t constant = 0;  ///< bricks that hold only one value, without background, saturation and what is left out
  std::int64_t partly = 0;    ///< bricks that are part background, part object

  /// Bricks from all over the volume that show noise, dark ones too.
  NoiseBricks sample_of(const NoiseBricks&) const;
  /// Those on the other side of the middle than the object.
  NoiseBricks other_side(const NoiseBricks&) const;

 private:
  /// Finds the fill values and the background, and what lies between dark and bright.
  void look_at_means(const NoiseBricks&);
  /// Leaves whole rows and columns of bricks at the edges out that lie on the object's side and are alike, and finds
  /// the middle of the others: parts that the rays did not reach, beside a collimator, may have far louder noise.
  void leave_borders_out(const NoiseBricks&, bool object_is_dark);
  /// Takes the bricks on one side of the middle for the object. Returns false where they show no noise.
  bool find_object(const NoiseBricks&, bool is_bright);
  bool is_fill(const NoiseBricks::Background&) const;
  bool is_left_out(double value) const;
  bool is_partly_left_out(const NoiseBricks&, std::int64_t i) const;
  double background_share(const NoiseBricks&, std::int64_t i) const;
  /// Of the values a step above and below.
  double share_next_to(const NoiseBricks&, std::int64_t i, float value) const;
  bool shows_noise(const NoiseBricks&, std::int64_t i) const;

  double brightest_ = 0;
  bool is_difference_;
  /// Values of panels and the like: bricks of them do not count, nor those partly of them.
  std::vector<float> left_out_;
  std::vector<bool> border_;  ///< bricks that are left out; empty: none
};

/// Share of the voxels of a brick that shows noise, that may be background: less than one of the smallest bricks.
constexpr double most_background = 0.02;

/// At most so many indices below `count`, from all over.
std::vector<std::int64_t> from_all_over(std::int64_t count, std::int64_t most);

}  // namespace quietvox
