// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/volume_facts.hpp"

namespace quietvox::io {

/// The kind of data of an image, from the JSON beside it or its file name.
class BidsSidecar {
 public:
  /// By the JSON file `a.json` of `a.nii.gz`: what dcm2niix writes of the scanner's Image Type and modality, or what
  /// quietvox writes of each volume, if there are as many. Where that says nothing, or magnitude, by the parts of the
  /// name that BIDS gives a meaning, `part-phase` and `_phasediff` among them. Its b-values, `a.bval`, show that it is
  /// of MR.
  BidsSidecar(const std::filesystem::path& image, std::size_t volumes);
  HeaderFacts of_volume(std::size_t volume) const;
  /// Why the file is not understood; empty where it is, or is not there.
  const std::string& warning() const { return warning_; }

 private:
  struct Volumes {
    std::uint64_t first = 0, last = 0;
    HeaderFacts facts;
  };
  HeaderFacts usual_;
  std::vector<Volumes> volumes_;  // where more is said of some
  std::string warning_;
};

}  // namespace quietvox::io
