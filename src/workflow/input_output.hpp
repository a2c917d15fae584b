// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "workflow/options.hpp"

/// Inputs and outputs as the command line names them.
namespace quietvox {

/// Opens whatever can be read: DICOM, NIfTI, NRRD, MetaImage. Throws Error(input_path), Error(no_input),
/// Error(invalid_argument) if options choose among the series of a file, and what readers throw.
std::unique_ptr<io::Image> open_input(const std::filesystem::path&, const InputOptions&, const Execution&);

/// Throws Error(input_path) if the path does not exist, is neither a file nor a folder (but, say, a pipe), or may not
/// be read.
void check_input(const std::filesystem::path&);

/// Throws, before any work is done, what making the output and its sidecar would throw: exists, output_path,
/// not_writable.
void check_output(const std::filesystem::path& output, io::Format, bool force, const std::filesystem::path& input);

/// The files that an image consists of: the header and, if apart from it, the voxels. The path itself if it is a
/// folder, or no image that can be read.
std::vector<std::filesystem::path> files_of_image(const std::filesystem::path&);

/// The files that an output may come to consist of: image, voxels apart, sidecar.
std::vector<std::filesystem::path> files_of_output(const std::filesystem::path& output, io::Format,
                                                   std::optional<bool> compress);

/// The files of all images and outputs that words of the command line may name.
std::vector<std::filesystem::path> all_files_of(const std::vector<std::string>& words);

/// A file or folder that is read, and its role in messages: input, mask. Without a path there is none.
struct Source {
  std::filesystem::path path;
  std::string role = "input";
};

/// Files that parameters of filters name.
std::vector<Source> named_files(std::span<const FilterConfig> chain);

/// Throws Error(output_path) if a file of an output is a file of a source, lies inside one or holds one, links
/// followed. Throws what check_input() throws for the sources.
void refuse_overlaps(const std::vector<std::filesystem::path>& files, const std::vector<Source>&);

/// The format of an output: from the option, or the ending of its name, or else that of the input, if any. Throws
/// Error(invalid_argument) if the name does not say, and if DICOM is wanted but the input is not DICOM.
io::Format output_format(OutputFormat, const std::filesystem::path& output, std::optional<io::Format> input);

/// Formats other than DICOM have one geometry for all volumes. If those of the image differ, throws Error(unsupported)
/// with the remedy `instead`. They can only hold slices that lie as the geometry says. If those of the image do not,
/// throws Error(irregular) with that remedy, or warns if gaps are allowed. Also warns of times and diffusion that the
/// format cannot hold.
void check_places(const io::Image&, const std::filesystem::path& input, const InputOptions&, io::Format,
                  const Message& instead, std::vector<Message>& warnings);

/// Throws Error(invalid_argument) if options are for another format than this, or contradict each other.
void check_format(const OutputOptions&, io::Format);

io::WriteOptions write_options(const OutputOptions&, const std::filesystem::path& input, const Execution&);

/// Throws Error(unsupported), naming the output, where integers of that type cannot hold what is missing here.
void check_finite(VolumeView<const float>, OutputType, const std::filesystem::path& output);

/// A writer that gives `image` back in `format`. If that is not the image's own format, it takes real values.
std::unique_ptr<io::ImageWriter> make_writer(const io::Image& image, io::Format format,
                                             const std::filesystem::path& output, io::VoxelDomain,
                                             const io::WriteOptions&);

/// A writer for volumes that come from no scan. DICOM objects get `modality`.
std::unique_ptr<io::ImageWriter> create_image(io::Format, const std::filesystem::path& output, const io::Geometry&,
                                              std::size_t volumes, const std::string& modality,
                                              const io::WriteOptions&);

/// `256x256x40`; for an image, that of its first volume, with `, 20 volumes` if there are several.
std::string describe_extent(const Extent&);
std::string describe_extent(const io::Image&);

}  // namespace quietvox
