// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "io/image.hpp"
#include "io/kind_beside.hpp"

namespace quietvox::io {

/// What the numbers of a volume look like.
struct NumberLooks {
  std::string why_labels{};  ///< empty where they are none
  bool is_uniform = false;   ///< one number holds all that was looked at
};

/// Whole numbers are labels where, in a few slices, nearly all neighbours outside the background are equal, as the
/// noise of a scan never leaves them; or most of them are, and others differ by any number, as the names of structures
/// do; or the volume holds two different numbers only, or eight and half of the neighbours equal, as masks of small or
/// thin structures do. Reads those slices, and others as long as no more than eight numbers were met. Of floats the
/// first slice with a fraction ends it.
NumberLooks looks_of(VolumeSource& stored);

/// What is said about voxels: by the header; where that does not say it, by a look at them, once somebody asks; else by
/// what lies beside the image.
class LazyFacts {
 public:
  /// `each_look_is_cheap`: false where volumes behind the first one have to be unpacked for it. They are looked at only
  /// where the first one holds labels or nothing.
  LazyFacts(HeaderFacts header, const std::filesystem::path& image, std::size_t volumes, bool each_look_is_cheap)
      : header_(std::move(header)), beside_(image, volumes), each_look_is_cheap_(each_look_is_cheap) {}

  HeaderFacts get(std::size_t volume, const std::function<std::unique_ptr<VolumeSource>(std::size_t volume)>& stored);
  /// Why what lies beside the image was not understood; empty where it was.
  const std::string& warning() const { return beside_.warning(); }

 private:
  HeaderFacts header_;
  KindsBeside beside_;
  bool each_look_is_cheap_;
  std::mutex mutex_;
  std::map<std::size_t, NumberLooks> looks_;
};

}  // namespace quietvox::io
