// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/volume_facts.hpp"

/// What the words that scanners put into headers say of what the numbers are.
namespace quietvox::io {

/// What a modality of DICOM says: of MR nothing.
std::optional<DataKind> kind_of_modality(std::string_view modality);

/// True for modalities that project X-rays.
bool is_radiograph(std::string_view modality);

/// CT or MR, where that is known of a volume; else empty.
std::string modality_of(const HeaderFacts&);

/// What a value of DICOM's Image Type (the third and on), its Frame Type or its Complex Image Component says, in
/// letters of any case.
std::optional<DataKind> kind_of_image_type(std::string_view value);

/// What headers say in one of several places.
struct KindSaid {
  DataKind kind;
  std::string source;  ///< for messages, as HeaderFacts has it
};

/// The first that says phase, since a mistake there makes wrong images, else the first that says scalar, such as a map
/// made of magnitudes, else the first; nothing where there is none.
HeaderFacts facts_of(std::span<const KindSaid>);

}  // namespace quietvox::io
