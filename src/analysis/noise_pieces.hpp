// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/noise_model.hpp"
#include "core/pipeline.hpp"

namespace quietvox {

/// A volume that keeps some parts of itself, from all over, as it is read.
class PieceKeeper final : public VolumeSource {
 public:
  explicit PieceKeeper(VolumeSource&);

  Extent extent() const override { return source_.extent(); }
  Spacing spacing() const override { return source_.spacing(); }
  HeaderFacts header() const override { return source_.header(); }
  void read(VolumeView<float> slices) override;

  /// Once it was read: a few that lie in the object, hold no missing voxel and no cut-out background; null where the
  /// object is dark, or fewer than two are left.
  std::shared_ptr<const std::vector<VolumePiece>> pieces_of_object() const;

  /// The most bytes that it keeps of a volume.
  static std::size_t bytes(const Extent&);

 private:
  VolumeSource& source_;
  std::vector<VolumePiece> pieces_;
};

}  // namespace quietvox
