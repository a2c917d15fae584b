// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"

/// Whether images show one patient.
namespace quietvox::io::dicom {

/// Fills in patient, study, frame of reference and position on the table, as they are compared: in one character set,
/// without padding; names without case and empty components.
void read_patient(DcmDataset&, SliceHeader&);

/// An Error(irregular) where the images of a series are of several patients or studies: it names the element that
/// differs and two files, never what it says. What an image does not say contradicts nothing.
std::optional<Error> mixed_patients_error(std::span<const SliceHeader>);

}  // namespace quietvox::io::dicom
