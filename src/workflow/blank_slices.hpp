// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/axis_swap.hpp"
#include "core/pipeline.hpp"
#include "io/image.hpp"

namespace quietvox {

/// Treats a blank slice (one value throughout, apart from missing voxels) as missing, unless it is background. It
/// is not background if it was
/// - lost: the nearest slices with an image above and below hold something else, mostly at the same places;
/// - added at an end: the nearest slice with an image holds that value in less than half of its voxels.
/// If all slices are blank, as in a ramp along z, none is missing. AxisSwap tells along which axis slices lie; if that
/// is x or y, the volume is read once more to judge them; more often if the memory limit leaves little room for it.
class BlankSlices final : public VolumeSource {
 public:
  BlankSlices(std::unique_ptr<VolumeSource> source, const Execution& execution);

  Extent extent() const override { return source_->extent(); }
  Spacing spacing() const override { return source_->spacing(); }
  HeaderFacts header() const override { return source_->header(); }
  void read(VolumeView<float> slices) override;

  /// Judges slices along x or y now, which takes memory, and not when the first are read. No more than once.
  void judge_ahead();
  /// The least memory limit that leaves enough for that, in bytes; 0 where slices lie along z.
  static std::size_t least_memory(const VolumeSource&);

  /// Hands on slices that were read and filtered; missing ones get their original voxels back.
  void with_values(VolumeView<const float> slices,
                   const std::function<void(VolumeView<const float> slices)>& consume) const;
  /// The lost slices among those that were read.
  std::vector<std::int64_t> lost() const;
  /// The axis across slices.
  int axis() const { return swap_.axis(); }

 private:
  enum class State { unknown, image, background, added, lost };
  struct Slice {
    State state = State::unknown;
    float value = 0;
    std::vector<float> voxels{};  ///< of a missing slice, if some of its voxels were missing anyway
    bool is_missing() const { return state == State::added || state == State::lost; }
  };

  void judge(std::int64_t z, float value, const float* voxels);

  std::unique_ptr<VolumeSource> source_;
  Execution execution_;
  AxisSwap swap_;
  std::vector<Slice> slices_;
  std::int64_t above_ = -1, below_ = -1;            ///< the nearest images around the last judged slice
  std::vector<float> voxels_above_, voxels_below_;  ///< of those; empty if there is none
};

/// Lost slices of the volumes of a scan.
class LostSlices {
 public:
  /// `name`: what else to call a slice, such as its file name.
  void add(const BlankSlices& slices, const std::function<std::string(std::int64_t z)>& name);
  void add(const BlankSlices& slices, const io::Image& image, std::size_t volume);
  /// Names the first of them, and says what came of them.
  void warn(std::vector<Message>& warnings,
            const std::string& what_came = "left as stored, and not used to filter other slices") const;

 private:
  std::size_t count_ = 0;
  std::string names_;
};

}  // namespace quietvox
