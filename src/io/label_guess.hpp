// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "io/image.hpp"
#include "io/kind_beside.hpp"

namespace quietvox::io {

/// Why integers are labels by their looks; empty where they are none. In a few slices nearly all neighbours outside the
/// background are equal, as the noise of a scan never leaves them; or the volume holds two different numbers only, or
/// eight and half of the neighbours equal, as masks of small or thin structures do. Reads those slices, and others as
/// long as no more than eight numbers were met.
std::string why_labels(VolumeSource& stored);

/// What is said about voxels: by the header; where that does not say what integers are, by a look at the first volume,
/// once somebody asks; else by what lies beside the image.
class LazyFacts {
 public:
  LazyFacts(HeaderFacts header, const std::filesystem::path& image) : facts_(std::move(header)), beside_(image) {}

  HeaderFacts get(std::size_t volume, bool are_integers,
                  const std::function<std::unique_ptr<VolumeSource>()>& first_volume);

 private:
  std::once_flag once_;
  HeaderFacts facts_;
  KindsBeside beside_;
};

}  // namespace quietvox::io
