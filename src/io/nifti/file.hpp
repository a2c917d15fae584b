// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "io/files/byte_stream.hpp"
#include "io/files/file_stamp.hpp"
#include "io/nifti/header.hpp"
#include "io/voxel_codec.hpp"

namespace quietvox::io {

/// Where the parts of a NIfTI image are: all in one file, or a header file and a voxel file.
struct NiftiPaths {
  std::filesystem::path header, voxels;  ///< the same for a single file

  bool single_file() const { return header == voxels; }
  std::vector<std::filesystem::path> all() const;
};

/// What an output is to be, told by its ending: .nii, .nii.gz, .hdr or .img, .hdr.gz or .img.gz.
struct NiftiTarget {
  NiftiPaths paths;
  bool compressed = false;
};
/// Throws Error(output_path) for other endings, Error(invalid_argument) where `compress` contradicts the ending.
NiftiTarget nifti_target(const std::filesystem::path& output, std::optional<bool> compress);

/// A NIfTI image found on disk, its header read and its sizes checked against the file.
struct NiftiFile {
  NiftiPaths paths;
  NiftiHeader header;
  std::vector<FileStamp> states{};
  bool compressed = false;  ///< the voxels are
  double offset = 0;        ///< what VoxelDomain::real_less_offset are less

  VoxelFormat voxel_format(VoxelDomain domain) const {
    Rescale rescale = domain == VoxelDomain::stored ? Rescale{} : header.rescale();
    if (domain == VoxelDomain::real_less_offset) rescale.inter -= offset;
    return {header.type(), header.byte_swapped(), rescale};
  }
  ByteReader voxel_reader(const std::stop_token& stop = {}) const;
  /// What to say of so many bytes behind the voxels: those of whole slices may be voxels, of which the header says too
  /// few. Else empty.
  std::string warning_of_slices(std::uint64_t bytes_behind) const;
};

/// Null where the file is no NIfTI. Throws Error (corrupt, unsupported, input_path).
std::optional<NiftiFile> find_nifti(const std::filesystem::path&);

/// Voxels of a file, stored and decoded, in pieces of bounded size.
class NiftiVoxelReader {
 public:
  /// Reading ends with Error(cancelled) once a stop is requested. Compressed data are read as prepare_for_volumes()
  /// says.
  NiftiVoxelReader(const NiftiFile& file, const Execution& execution);

  /// Decodes the voxels from number `first` on; all volumes count as one row. Reading the last voxel of the file checks
  /// the end of its compressed data too.
  void read(std::int64_t first, VoxelDomain, std::span<float> values);
  /// The same, and their bytes as stored, on one thread.
  void read(std::int64_t first, const VoxelFormat&, std::span<std::byte> stored, std::span<float> values);

  /// Smallest and largest real value of `count` voxels, but for those that are not finite; nothing where there are
  /// none.
  std::optional<Range<double>> range(std::int64_t first, std::int64_t count);

  ByteReader& bytes() { return reader_; }

 private:
  /// Those from number `first` on, as many as fit.
  void read_stored(std::int64_t first, const VoxelFormat&, std::span<std::byte> stored);
  void decode_stored(std::span<const std::byte> stored, const VoxelFormat&, std::span<float> values) const;

  const NiftiFile& file_;
  ByteReader reader_;
  Execution execution_;
};

/// Voxels that a thread reads or writes at once.
inline constexpr std::int64_t nifti_piece = 1 << 16;

}  // namespace quietvox::io
