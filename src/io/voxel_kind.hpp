// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "io/bids_sidecar.hpp"
#include "io/label_guess.hpp"

namespace quietvox::io {

/// The stored numbers of a volume of an image.
using StoredVolume = std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>;

/// What the voxels of an image look like. A volume is looked at once, when somebody asks.
class KindByVoxels {
 public:
  explicit KindByVoxels(std::size_t volumes) : volumes_(volumes) {}

  /// What is said of a volume, unless its voxels look like labels; where nothing is said, what else they look like.
  HeaderFacts get(std::size_t volume, HeaderFacts said, Rescale to_real, const StoredVolume&);

 private:
  bool are_vectors(std::size_t volume, const StoredVolume&);

  std::size_t volumes_;
  std::mutex mutex_;
  std::map<std::size_t, NumberLooks> looks_;
  std::map<std::size_t, bool> vectors_;  // by the first of three volumes
};

/// What kind of numbers voxels are, from the first that tells it: the header; the voxels, if they look like labels; the
/// sidecar beside the image; the voxels, if they look like something else.
class VoxelKind {
 public:
  VoxelKind(HeaderFacts header, const std::filesystem::path& image, std::size_t volumes, Rescale to_real)
      : header_(std::move(header)), beside_(image, volumes), looks_(volumes), to_real_(to_real) {}

  HeaderFacts get(std::size_t volume, const StoredVolume& stored) {
    return header_.kind ? header_ : looks_.get(volume, beside_.of_volume(volume), to_real_, stored);
  }
  /// Why what lies beside the image was not understood; empty where it was.
  const std::string& warning() const { return beside_.warning(); }

 private:
  HeaderFacts header_;
  BidsSidecar beside_;
  KindByVoxels looks_;
  Rescale to_real_;
};

}  // namespace quietvox::io
