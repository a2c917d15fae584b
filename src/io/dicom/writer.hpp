// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "io/dicom/series.hpp"

namespace quietvox::io::dicom {

/// What was opened: a file, or one series of a folder.
struct Series {
  std::filesystem::path input;
  bool is_folder = false;
  std::vector<Volume> volumes;
  std::vector<std::string> warnings;
};

/// The names of a series' files, each once, relative to its folder.
std::vector<std::filesystem::path> files_of(const Series&);

/// The name of the transfer syntax in which an image is written.
std::string syntax_to_write(const SliceHeader&, const WriteOptions&);

/// Writes each image of the series anew: its own file again, with other pixels and marked as derived.
std::unique_ptr<ImageWriter> make_writer(std::shared_ptr<const Series>, const std::filesystem::path& output,
                                         VoxelDomain, const WriteOptions&);

}  // namespace quietvox::io::dicom
