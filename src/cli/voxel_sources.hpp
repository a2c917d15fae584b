// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/pipeline.hpp"
#include "io/image.hpp"

namespace quietvox::cli {

/// Throws Error(cancelled) once a stop is requested.
void check_stop(const std::stop_token&);

/// A volume as it is in the file; reading ends where a stop is requested.
class WatchedSource : public VolumeSource {
 public:
  WatchedSource(std::unique_ptr<VolumeSource> source, std::stop_token stop)
      : source_(std::move(source)), stop_(std::move(stop)) {}

  Extent extent() const override { return source_->extent(); }
  Spacing spacing() const override { return source_->spacing(); }
  void read(VolumeView<float> slices) override;

 private:
  std::unique_ptr<VolumeSource> source_;
  std::stop_token stop_;
};

/// A volume whose voxels outside a mask (mask = 0) are missing.
class MaskedSource final : public VolumeSource {
 public:
  MaskedSource(std::unique_ptr<VolumeSource> source, std::unique_ptr<VolumeSource> mask);

  Extent extent() const override { return source_->extent(); }
  Spacing spacing() const override { return source_->spacing(); }
  void read(VolumeView<float> slices) override;

 private:
  std::unique_ptr<VolumeSource> source_, mask_;
  std::vector<float> slice_;
};

/// A volume read into memory.
std::vector<float> read_whole(VolumeSource&);

}  // namespace quietvox::cli
