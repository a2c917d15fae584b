// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"

/// Overlays that older writers put into bits of the pixels' cells that hold no number (retired, PS3.3 C.9.2 of 2001).
namespace quietvox::io::dicom {

struct EmbeddedOverlay {
  std::uint16_t group;
  int bit;
};

std::vector<EmbeddedOverlay> embedded_overlays(DcmItem&, const SliceHeader&);

/// Gives each such overlay a data element of its own and clears its bit in the cells, which are those of all frames.
void extract_embedded_overlays(DcmItem&, const SliceHeader&, std::span<std::uint16_t> cells);

}  // namespace quietvox::io::dicom
