// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/filter.hpp"
#include "core/volume_facts.hpp"

namespace quietvox {

/// The program's version, `MAJOR.MINOR.PATCH`.
std::string version();

/// A step that another library took between the filters; only its name is known.
struct OtherStep {
  std::size_t before = 0;  ///< the index of the filter that follows it; behind the last filter, their number
  std::string name;
};

/// What was done to a volume: enough to do it again. DICOM carries it as derivation attributes, other formats as a
/// JSON file beside the image.
struct Provenance {
  std::vector<FilterConfig> requested{};  ///< as the caller gave them, `auto` included, with content hashes
  std::vector<FilterConfig> resolved{};   ///< with every `auto` replaced, for one volume
  std::string backend{};                  ///< Backend::name()
  std::string mask{};                     ///< tells masks apart: 16 hex digits of a hash of its voxels; empty: no mask
  std::vector<OtherStep> others{};        ///< in order
  std::vector<NoiseModel> noise{};  ///< what was measured for parameters that were `auto`, in the order of the filters
  std::string noise_source{};       ///< where it was measured, if not in this volume alone
  std::string stabilise{};          ///< which noise was to be made Gaussian; empty: automatic
  std::optional<DataKind> kind{};   ///< what the numbers of the volume are, where that is known
  std::string modality{};           ///< CT or MR, which tells how noise is distributed; empty: another, or not known
  std::string stabilised{};         ///< `Rician noise`, `Poisson noise` or `speckle` that was made Gaussian
  /// Who ran the filters, if the same filters may give other voxels elsewhere: `denoise`, which keeps a background that
  /// was cut out, or `ITK`, which filters each volume by itself; else empty.
  std::string by{};
};

/// `median radius=1x1x1 shape=box border=replicate`, filters of a chain joined by ` -> `.
std::string describe_chain(std::span<const FilterConfig> chain);

/// The filters, each with what differs from its defaults: `median radius 2x2x0, nlm`. Where that takes more than `most`
/// characters, their names alone, and where those do, their number.
std::string brief_chain(std::span<const FilterConfig> chain, std::size_t most);

/// `quietvox 0.1.0: median radius=1x1x1 ...; not for diagnostic use`, other steps by name in their places; with `;
/// within mask 0123456789abcdef` behind the filters where there is a mask, `; ` and the source of the noise, and
/// `; stabilised: Rician noise`, and `; by denoise`. `; no voxel changed` where filters ran and none did.
std::string derivation_text(const Provenance&, bool is_changed = true);

}  // namespace quietvox
