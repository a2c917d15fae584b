// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/image.hpp"
#include "io/kind_beside.hpp"
#include "io/rescale.hpp"

namespace quietvox::io {

/// What the numbers of a volume look like.
struct NumberLooks {
  std::string why_labels{};  ///< empty where they are none
  std::string why_phases{};  ///< empty where they are none
};

/// Whole numbers are labels where, in a few slices, nearly all neighbours outside the background are equal, as the
/// noise of a scan never leaves them; or most of them are, and others differ by any number, as the names of structures
/// do; or the volume holds two different numbers only, or eight and half of the neighbours equal, as masks of small or
/// thin structures do. Reads those slices, and others as long as no more than eight numbers were met. A slice
/// with a fraction, or one full of neighbours that differ, ends the search for labels.
///
/// Real numbers are phases where they reach both ends of a turn, as scanners and their converters write it, in those
/// few slices, and neighbours jump from one end to the other.
NumberLooks looks_of(VolumeSource& stored, Rescale to_real = {});

/// True where the numbers of three volumes are the parts of unit vectors, such as the directions of fibres: wherever
/// one is not 0, their squares add up to 1. Reads one slice of each.
bool are_unit_vectors(std::array<VolumeSource*, 3> volumes);

/// What is said about voxels: by the header; where that does not say it, by a look at them, once somebody asks, if they
/// are labels; else by what lies beside the image; else by that look.
class LazyFacts {
 public:
  LazyFacts(HeaderFacts header, const std::filesystem::path& image, std::size_t volumes, Rescale to_real)
      : header_(std::move(header)), beside_(image, volumes), volumes_(volumes), to_real_(to_real) {}

  HeaderFacts get(std::size_t volume, const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored);
  /// Why what lies beside the image was not understood; empty where it was.
  const std::string& warning() const { return beside_.warning(); }

 private:
  bool look_at_vectors(const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored);

  HeaderFacts header_;
  KindsBeside beside_;
  std::size_t volumes_;
  Rescale to_real_;
  std::mutex mutex_;
  std::optional<bool> are_vectors_;
  std::map<std::size_t, NumberLooks> looks_;
};

}  // namespace quietvox::io
