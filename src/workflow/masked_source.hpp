// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/pipeline.hpp"
#include "io/image.hpp"

namespace quietvox {

/// How many slices, at least one, take a few MiB: the unit of work where several volumes are combined.
std::int64_t slices_in_block(const Extent&);
std::size_t block_bytes(const Extent&);  ///< of that many slices

/// A volume whose voxels outside a mask (mask = 0) are missing.
class MaskedSource final : public VolumeSource {
 public:
  MaskedSource(std::unique_ptr<VolumeSource> source, std::unique_ptr<VolumeSource> mask);

  Extent extent() const override { return source_->extent(); }
  Spacing spacing() const override { return source_->spacing(); }
  HeaderFacts header() const override { return source_->header(); }
  void read(VolumeView<float> slices) override;

 private:
  std::unique_ptr<VolumeSource> source_, mask_;
  std::vector<float> block_;
};

/// A volume read into memory, beside so many of its size that are there already. Throws as check_memory() does if all
/// take too much.
std::vector<float> read_whole(VolumeSource&, std::uint64_t others = 0);

}  // namespace quietvox
