// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dctk.h>

#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// A small CT image that a test describes by what is special about it.
struct DicomSpec {
  std::uint16_t columns = 5, rows = 4;
  int frames = 1;
  int bits_allocated = 16, bits_stored = 12;
  bool is_signed = false;
  std::vector<std::uint16_t> cells{};     ///< empty: 100, 101, ...
  std::vector<double> position{0, 0, 0};  ///< empty: no position
  std::string orientation = "1\\0\\0\\0\\1\\0";
  std::string spacing = "0.5\\0.25";  ///< between rows, between columns
  std::string slope = "1", intercept = "-1024";
  std::string series = "1.2.3.4", instance = "";  ///< instance: empty: made up, unique
  int instance_number = 1;
  std::vector<std::pair<DcmTagKey, std::string>> more{};  ///< further elements as text
  std::function<void(DcmDataset&)> change{};              ///< has the last word
  E_TransferSyntax syntax = EXS_LittleEndianExplicit;
};

/// Writes the image. Throws std::runtime_error where DCMTK cannot.
void write_dicom(const std::filesystem::path&, const DicomSpec&);

/// Parses a file whole into memory; its log stays silent.
std::unique_ptr<DcmFileFormat> parse_dicom(const std::filesystem::path&);

/// The text of a top-level element, components joined by backslashes; empty where absent.
std::string dicom_text(const std::filesystem::path&, const DcmTagKey&);

/// Inserts an element whose type some writer lost (UN), by its bytes.
void put_untyped(DcmItem&, const DcmTagKey&, std::span<const Uint8>);

/// The offset table and the fragments of compressed pixel data, as the file object holds them.
DcmPixelSequence& fragments_of(DcmFileFormat&, E_TransferSyntax);

/// The tags, as `(0008,0018)`, of the elements in which two files differ, or `(0008,2112)>(0008,1155)` for those inside
/// sequences; the top-level pixel data left out.
std::set<std::string> changed_elements(const std::filesystem::path&, const std::filesystem::path&);

/// The bytes of the top-level pixel data of an uncompressed file as 16-bit cells.
std::vector<std::uint16_t> dicom_cells(const std::filesystem::path&);

/// The same, as bytes.
std::vector<std::uint8_t> dicom_pixel_bytes(const std::filesystem::path&);

/// All voxels of one volume of an image.
Volume read_volume(const io::Image&, std::size_t volume = 0, io::VoxelDomain = io::VoxelDomain::real);

/// Writes an image anew, each volume changed by `change`, as if by the median filter. What the writer tells of the
/// values that it stores is expected to be what a reader sees.
io::WriteReport write_image(const io::Image&, const std::filesystem::path& output,
                            io::VoxelDomain = io::VoxelDomain::real, const std::function<void(Volume&)>& change = {},
                            const io::WriteOptions& = {});

}  // namespace quietvox::test
