// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"

namespace quietvox::io::dicom {

/// Fills in everything but the names from a data set. Throws Error(corrupt) or Error(unsupported) where the image
/// cannot be used; what identifies it is filled in before that. Messages do not name the file.
void read_header(DcmDataset&, SliceHeader&);

/// Fills in what may differ from frame to frame: rescale, place, spacing, contrast. What the item does not say stays.
void read_image_attributes(DcmItem&, SliceHeader&);

}  // namespace quietvox::io::dicom
