// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/kind_beside.hpp"
#include "io/label_guess.hpp"

namespace quietvox::io {

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
