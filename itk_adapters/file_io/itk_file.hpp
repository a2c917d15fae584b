// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <locale.h>

#include <itkImageIOBase.h>

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/image.hpp"
#include "io/scalar_type.hpp"

/// What the reader and the writer of NRRD and MetaImage files share.
namespace quietvox {

/// Names of one type of voxels, here and in ITK.
io::ScalarType scalar_type(itk::IOComponentEnum);
itk::IOComponentEnum itk_type(io::ScalarType);

/// The reason within an exception of ITK's, on one line: without the object's name and address, and of a chain of
/// reasons the innermost.
std::string reason_of(const itk::ExceptionObject&, Errc code);

/// While it lives, this thread reads and writes numbers with a decimal point, whatever the program around us has set:
/// the headers that ITK makes and reads follow the C library's locale.
class DecimalPoint {
 public:
  DecimalPoint() : numbers_(newlocale(LC_NUMERIC_MASK, "C", duplocale(uselocale({})))), before_(uselocale(numbers_)) {}
  ~DecimalPoint() {
    uselocale(before_);
    freelocale(numbers_);
  }
  DecimalPoint(const DecimalPoint&) = delete;
  DecimalPoint& operator=(const DecimalPoint&) = delete;

 private:
  locale_t numbers_, before_;
};

/// Runs `action` and turns what ITK throws into Error(code) with the path before the reason.
template <class Action>
auto with_itk_errors(const std::filesystem::path& path, Errc code, Action&& action) {
  const DecimalPoint numbers;
  try {
    return action();
  } catch (const itk::ExceptionObject& error) {
    throw Error(code, path.string() + ": " + reason_of(error, code));
  }
}

/// Where an image lies, in LPS and the unit of its header.
struct PatientPlace {
  using Vector = std::array<double, 3>;
  Vector origin{};
  std::array<Vector, 3> axes{};  ///< from a voxel to the next along each axis
};

/// What the header of an NRRD or MetaImage file says about where the voxels are; parsed without ITK, so that sizes
/// can be checked before ITK is asked for anything.
struct ItkHeader {
  io::Format format{};
  std::filesystem::path header;          ///< the file that was opened
  std::filesystem::path data;            ///< the file that holds the voxels: `header`, or one beside it
  std::string encoding;                  ///< raw, gzip (zlib too), bzip2, hex or text
  std::optional<std::uintmax_t> offset;  ///< where in `data` the voxels start; none: further on, told by the header
  bool big_endian = false;
  bool is_placed = false;               ///< it says where the origin lies
  std::optional<PatientPlace> place{};  ///< of NRRD: where the header says it in full
  std::string data_name{};              ///< of MetaImage: as it says where the voxels are
  double mm_per_unit = 1;               ///< of its spacing and origin
  std::string warning{};  ///< about those units, or what values mean; empty where there is nothing to be told
  bool compressed() const { return encoding == "gzip" || encoding == "bzip2"; }
  std::vector<std::filesystem::path> files() const;
  /// The folder that `data` must lie in, links followed; empty: anywhere.
  std::filesystem::path data_folder() const;
};

/// None where the content is neither NRRD nor MetaImage. Throws Error where the header is damaged, and where the voxels
/// lie in several files, in one that is missing, or in one that may not be read for it.
std::optional<ItkHeader> read_itk_header(const std::filesystem::path&);

/// Throws Error(corrupt) where voxels written as text are fewer than `values`, or no numbers; ITK's readers make zeros
/// of the others.
void check_text_complete(const ItkHeader&, std::int64_t values);

/// The format that the ending names; in lower case, as ITK wants it.
std::optional<io::Format> itk_format_of_name(const std::filesystem::path&);

/// The reader and writer of a format, with the file's name set.
itk::ImageIOBase::Pointer make_image_io(io::Format, const std::filesystem::path&);

/// Takes over where the voxels start, as ITK read it from the header. Throws Error(corrupt) if ITK would read them from
/// another file.
void settle_data(ItkHeader&, itk::ImageIOBase&);

/// The geometry of the first three axes; an image of two has one slice. Throws Error for axes that span no volume.
io::Geometry geometry_of(const itk::ImageIOBase&, const std::filesystem::path&, double mm_per_unit = 1,
                         const std::optional<PatientPlace>& place = {});

/// What the writer starts from.
struct ItkWriterSource {
  std::optional<ItkHeader> header;  ///< none: a new image
  unsigned int axes = 3;
  std::size_t volumes = 1;
  io::Geometry geometry;
  itk::IOComponentEnum type = itk::IOComponentEnum::FLOAT;
  double offset = 0;                        ///< values to be written are less this
  itk::ImageIOBase::ConstPointer metadata;  ///< null, or the image whose dictionary is kept
  /// Reads a slice, of all volumes, as it is stored, in the byte order of this machine; none for a new image.
  std::function<void(std::size_t slice, std::span<std::byte>)> read_stored;
};

std::unique_ptr<io::ImageWriter> make_itk_writer(const std::filesystem::path& output, const ItkWriterSource&,
                                                 const io::WriteOptions&);

}  // namespace quietvox
