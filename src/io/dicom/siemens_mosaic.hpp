// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"

namespace quietvox::io::dicom {

/// A frame in which Siemens scanners put the slices of a volume side by side, row by row, in a square.
struct Mosaic {
  int images = 0;
  std::optional<Vector3> normal;  ///< from one slice to the next; none: the header does not say
};

/// What the private elements say of a mosaic. Throws Error(unsupported) where they do not say how many slices it has.
Mosaic read_mosaic(DcmDataset&);

}  // namespace quietvox::io::dicom
