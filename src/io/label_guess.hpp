// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>

#include "io/image.hpp"

namespace quietvox::io {

/// True where integers are labels by their looks: in a few slices nearly all neighbours outside the background are
/// equal, as the noise of a scan never leaves them. Reads those slices.
bool look_like_labels(VolumeSource& stored);

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
