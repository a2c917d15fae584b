// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "io/dicom/series.hpp"

namespace quietvox::io::dicom {

/// The name of the transfer syntax in which an image is written.
std::string syntax_to_write(const SliceHeader&, const WriteOptions&);

/// Writes each image of the series anew: its own file again, with other pixels and marked as derived.
std::unique_ptr<ImageWriter> make_writer(std::shared_ptr<const Series>, const std::filesystem::path& output,
                                         VoxelDomain, const WriteOptions&);

}  // namespace quietvox::io::dicom
