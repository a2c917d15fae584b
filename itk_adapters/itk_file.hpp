// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <itkImageIOBase.h>

#include <optional>
#include <string>
#include <vector>

#include "io/image.hpp"

/// What the reader and the writer of NRRD and MetaImage files share.
namespace quietvox {

/// Types that voxels are stored as.
template <class Body>
auto with_component_type(itk::IOComponentEnum type, Body&& body) {
  switch (type) {
    case itk::IOComponentEnum::UCHAR: return body(static_cast<unsigned char>(0));
    case itk::IOComponentEnum::CHAR: return body(static_cast<signed char>(0));
    case itk::IOComponentEnum::USHORT: return body(static_cast<unsigned short>(0));
    case itk::IOComponentEnum::SHORT: return body(static_cast<short>(0));
    case itk::IOComponentEnum::UINT: return body(static_cast<unsigned int>(0));
    case itk::IOComponentEnum::INT: return body(static_cast<int>(0));
    case itk::IOComponentEnum::ULONG: return body(static_cast<unsigned long>(0));
    case itk::IOComponentEnum::LONG: return body(static_cast<long>(0));
    case itk::IOComponentEnum::ULONGLONG: return body(static_cast<unsigned long long>(0));
    case itk::IOComponentEnum::LONGLONG: return body(static_cast<long long>(0));
    case itk::IOComponentEnum::FLOAT: return body(static_cast<float>(0));
    case itk::IOComponentEnum::DOUBLE: return body(static_cast<double>(0));
    default: throw Error(Errc::internal, "a voxel type that was accepted and is not known");
  }
}

std::size_t component_bytes(itk::IOComponentEnum);

/// The reason within an exception of ITK's, on one line: without the object's name and address, and of a chain of
/// reasons the innermost.
std::string reason_of(const itk::ExceptionObject&);

/// Runs `action` and turns what ITK throws into Error(code) with the path before the reason.
template <class Action>
auto with_itk_errors(const std::filesystem::path& path, Errc code, Action&& action) {
  try {
    return action();
  } catch (const itk::ExceptionObject& error) {
    throw Error(code, path.string() + ": " + reason_of(error));
  }
}

/// What stands in the header of an NRRD or MetaImage file about where the voxels are; read without ITK, so that sizes
/// can be checked before ITK is asked for anything.
struct ItkHeader {
  io::Format format{};
  std::filesystem::path header;          ///< the file that was opened
  std::filesystem::path data;            ///< the file that holds the voxels: `header`, or one beside it
  std::string encoding;                  ///< raw, gzip (zlib too), bzip2 or text
  std::optional<std::uintmax_t> offset;  ///< where in `data` the voxels start; none: further on, told by the header
  bool big_endian = false;
  bool compressed() const { return encoding == "gzip" || encoding == "bzip2"; }
  std::vector<std::filesystem::path> files() const;
};

/// None where the content is neither NRRD nor MetaImage. Throws Error where the voxels lie in several files, or in one
/// that is missing.
std::optional<ItkHeader> read_itk_header(const std::filesystem::path&);

/// Throws Error(corrupt) where voxels written as text are fewer than `values`; ITK's readers make zeros of the others.
void check_text_complete(const ItkHeader&, std::int64_t values);

/// The format that the ending names; in lower case, as ITK wants it.
std::optional<io::Format> itk_format_of_name(const std::filesystem::path&);

/// The reader and writer of a format, with the file's name set.
itk::ImageIOBase::Pointer make_image_io(io::Format, const std::filesystem::path&);

/// The geometry of the first three axes; an image of two has one slice. Throws Error for axes that span no volume.
io::Geometry geometry_of(const itk::ImageIOBase&, const std::filesystem::path&);

/// What the writer starts from.
struct ItkWriterSource {
  std::optional<ItkHeader> header;  ///< none: a new image
  unsigned int axes = 3;
  std::size_t volumes = 1;
  io::Geometry geometry;
  itk::IOComponentEnum type = itk::IOComponentEnum::FLOAT;
  itk::ImageIOBase::ConstPointer metadata;  ///< null, or the image whose dictionary is kept
};

std::unique_ptr<io::ImageWriter> make_itk_writer(const std::filesystem::path& output, const ItkWriterSource&,
                                                 const io::WriteOptions&);

}  // namespace quietvox
