// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "io/image.hpp"

namespace quietvox::io {

/// Why integers are labels by their looks; empty where they are none. In a few slices nearly all neighbours outside the
/// background are equal, as the noise of a scan never leaves them; or the volume holds two different numbers only, or
/// eight and half of the neighbours equal, as masks of small or thin structures do. Reads those slices, and others as
/// long as no more than eight numbers were met.
std::string why_labels(VolumeSource& stored);

/// What headers say about voxels; where they do not say what integers are, a look at the first volume does, once
/// somebody asks.
class LazyFacts {
 public:
  explicit LazyFacts(HeaderFacts said) : facts_(std::move(said)) {}

  const HeaderFacts& get(bool are_integers, const std::function<std::unique_ptr<VolumeSource>()>& first_volume);

 private:
  std::once_flag once_;
  HeaderFacts facts_;
};

}  // namespace quietvox::io
