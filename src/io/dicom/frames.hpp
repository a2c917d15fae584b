// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/dicom/slice_header.hpp"
#include "io/dicom/toolkit.hpp"

namespace quietvox::io::dicom {

/// The images in a file whose header is read: itself, its frames, each with what its functional groups say of it, or
/// the tiles of a Siemens MOSAIC, each with its own place. Throws Error(corrupt) or Error(unsupported) where they
/// cannot be told apart; as check_memory() does where a frame, or what there is to say of all, would take too much;
/// Error(cancelled). `only`: of frames that have functional groups of their own, the one with this number alone.
std::vector<SliceHeader> images_of(DcmDataset&, const SliceHeader& file, const Execution&,
                                   std::optional<std::int64_t> only = {});

}  // namespace quietvox::io::dicom
