// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/nifti/header.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "io/display_format.hpp"
#include "io/files/byte_order.hpp"
#include "io/float_precision.hpp"
#include "io/nifti/fields.hpp"

namespace quietvox::io {
namespace {

/// Calls `body` with a zero of the stored type.
template <class Body>
auto with_type(Stored stored, Body&& body) {
  switch (stored) {
    case Stored::int8: return body(std::int8_t{});
    case Stored::int16: return body(std::int16_t{});
    case Stored::int32: return body(std::int32_t{});
    case Stored::int64: return body(std::int64_t{});
    case Stored::float32: return body(float{});
    case Stored::float64: break;
  }
  return body(double{});
}

int size_of(Stored stored) {
  return with_type(stored, [](auto zero) { return static_cast<int>(sizeof(zero)); });
}

/// The codes of the `datatype` field.
struct DataType {
  int code;
  ScalarType type;
};
constexpr std::array data_types = std::to_array<DataType>({{2, ScalarType::uint8},
                                                           {4, ScalarType::int16},
                                                           {8, ScalarType::int32},
                                                           {16, ScalarType::float32},
                                                           {64, ScalarType::float64},
                                                           {256, ScalarType::int8},
                                                           {512, ScalarType::uint16},
                                                           {768, ScalarType::uint32},
                                                           {1024, ScalarType::int64},
                                                           {1280, ScalarType::uint64}});
struct RefusedType {
  int code;
  std::string_view name;
};
constexpr std::array refused_types = std::to_array<RefusedType>({{1, "1-bit binary"},
                                                                 {32, "complex (2 x float32)"},
                                                                 {128, "RGB"},
                                                                 {1536, "float128"},
                                                                 {1792, "complex (2 x float64)"},
                                                                 {2048, "complex (2 x float128)"},
                                                                 {2304, "RGBA"}});
struct Intent {
  int first, last;  ///< codes
  DataKind kind;
  std::string_view voxels;  ///< what they are
};
constexpr std::array intents = std::to_array<Intent>({{2, 24, DataKind::scalar, "a statistic"},
                                                      {1002, 1002, DataKind::labels, "labels"},
                                                      {1003, 1003, DataKind::labels, "names of structures"},
                                                      {1004, 1004, DataKind::vectors, "matrices"},
                                                      {1005, 1005, DataKind::vectors, "symmetric matrices (tensors)"},
                                                      {1006, 1006, DataKind::vectors, "displacement vectors"},
                                                      {1007, 1007, DataKind::vectors, "vectors"},
                                                      {1008, 1008, DataKind::vectors, "points"},
                                                      {1009, 1009, DataKind::vectors, "triangles"},
                                                      {1010, 1010, DataKind::vectors, "quaternions"},
                                                      {2002, 2002, DataKind::labels, "node indices"},
                                                      {2003, 2003, DataKind::colours, "RGB vectors"},
                                                      {2004, 2004, DataKind::colours, "RGBA vectors"},
                                                      {2005, 2005, DataKind::lists, "the shape of a surface"},
                                                      {2006, 2006, DataKind::vectors, "displacements (FSL)"},
                                                      {2007, 2009, DataKind::vectors, "coefficients of a warp (FSL)"},
                                                      {2016, 2018, DataKind::vectors, "a field of topup (FSL)"}});

/// The vertices of a surface lie along one axis, or folded where they are too many for it. An icosahedron divided k
/// times has 10 4^k + 2; surfaces of other numbers have 32492 or more.
bool is_grid_of_list(const Extent& extent) {
  constexpr std::int64_t far_longer = 500, many = 32492;
  std::int64_t divided = 12;
  while (divided < extent.voxels()) divided = 4 * divided - 6;
  if (extent.voxels() < many && extent.voxels() != divided) return false;
  std::array lengths{extent.x, extent.y, extent.z};
  std::ranges::sort(lengths);
  return lengths[2] >= far_longer * lengths[1];
}

constexpr std::array<std::string_view, 2> single_magic = {std::string_view("n+1\0", 4),
                                                          std::string_view("n+2\0\r\n\x1a\n", 8)};
constexpr std::array<std::string_view, 2> pair_magic = {std::string_view("ni1\0", 4),
                                                        std::string_view("ni2\0\r\n\x1a\n", 8)};

std::string text(double value) { return FieldType<double>::format(value); }

}  // namespace

constexpr std::array<int, 2> magic_offset = {344, 4};
constexpr std::array<int, 2> header_size = {348, 540};

double NiftiHeader::real(const Field& field, int index) const {
  const Stored stored = version_ == 1 ? field.stored1 : field.stored2;
  const std::byte* at = bytes_.data() + (version_ == 1 ? field.offset1 : field.offset2) + index * size_of(stored);
  return with_type(stored, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(at, swapped_)); });
}

std::int64_t NiftiHeader::integer(const Field& field, int index) const {
  const Stored stored = version_ == 1 ? field.stored1 : field.stored2;
  const std::byte* at = bytes_.data() + (version_ == 1 ? field.offset1 : field.offset2) + index * size_of(stored);
  return with_type(stored, [&](auto zero) { return static_cast<std::int64_t>(load<decltype(zero)>(at, swapped_)); });
}

void NiftiHeader::set(const Field& field, double value, int index) {
  const Stored stored = version_ == 1 ? field.stored1 : field.stored2;
  std::byte* at = bytes_.data() + (version_ == 1 ? field.offset1 : field.offset2) + index * size_of(stored);
  with_type(stored, [&](auto zero) { store(at, static_cast<decltype(zero)>(value), swapped_); });
}

std::optional<NiftiHeader> NiftiHeader::parse(std::span<const std::byte> start, const std::string& name) {
  NiftiHeader header;
  if (start.size() < 4) return std::nullopt;
  const auto declared = load<std::int32_t>(start.data(), false);
  const auto declared_swapped = load<std::int32_t>(start.data(), true);
  header.swapped_ = std::find(header_size.begin(), header_size.end(), declared) == header_size.end();
  const int size = header.swapped_ ? declared_swapped : declared;
  if (std::find(header_size.begin(), header_size.end(), size) == header_size.end()) return std::nullopt;
  header.version_ = size == header_size[0] ? 1 : 2;
  if (start.size() < static_cast<std::size_t>(size)) {
    throw Error(Errc::corrupt, name + ": ends within its NIfTI header, after " + std::to_string(start.size()) + " of " +
                                   std::to_string(size) + " bytes");
  }
  header.bytes_.assign(start.begin(), start.begin() + size);

  const int version_index = header.version_ - 1;
  const auto* magic = reinterpret_cast<const char*>(header.bytes_.data()) + magic_offset[version_index];
  const std::string_view found(magic, single_magic[version_index].size());
  header.single_file_ = found == single_magic[version_index];
  if (!header.single_file_ && found != pair_magic[version_index]) {
    throw Error(Errc::unsupported,
                name + ": has no NIfTI signature at byte " + std::to_string(magic_offset[version_index]) +
                    "; it is a damaged NIfTI or an Analyze 7.5 header, whose orientation is not defined");
  }
  header.read_extent(name);
  header.read_type(name);
  header.read_rescale(name);
  header.read_voxel_offset(name);
  header.read_geometry();
  return header;
}

void NiftiHeader::read_extent(const std::string& name) {
  const std::int64_t axes = integer(Fields::dim);
  if (axes < 1 || axes > 7) {
    throw Error(Errc::corrupt, name + ": dim[0] = " + std::to_string(axes) + ", the number of axes, must be 1 to 7");
  }
  extent_ = {{1, 1, 1}};
  std::int64_t total = 1;
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t count = integer(Fields::dim, axis + 1);
    if (count < 1) {
      throw Error(Errc::corrupt,
                  name + ": dim[" + std::to_string(axis + 1) + "] = " + std::to_string(count) + " voxels",
                  "there must be at least 1");
    }
    // Leaves room for 8 bytes per voxel and an offset.
    if (count > std::numeric_limits<std::int64_t>::max() / 32 / total) {
      throw Error(Errc::corrupt, name + ": dim declares more voxels than any file can hold");
    }
    total *= count;
    (axis < 3 ? extent_[axis] : volumes_) *= count;
  }
}

void NiftiHeader::read_type(const std::string& name) {
  const std::int64_t code = integer(Fields::datatype);
  const auto refused = std::ranges::find(refused_types, code, &RefusedType::code);
  if (refused != refused_types.end()) {
    throw Error(Errc::unsupported, name + ": voxels are " + std::string(refused->name) + " (datatype " +
                                       std::to_string(code) + "); quietvox filters integers and real numbers");
  }
  const auto known = std::ranges::find(data_types, code, &DataType::code);
  if (known == data_types.end()) {
    throw Error(Errc::corrupt, name + ": datatype = " + std::to_string(code) + " is not defined by NIfTI");
  }
  type_ = known->type;
  if (const std::int64_t bits = integer(Fields::bitpix); bits != 8 * bytes_per_voxel(type_)) {
    warnings_.push_back("bitpix = " + std::to_string(bits) + " does not fit datatype " + std::string(to_string(type_)) +
                        "; the datatype is used");
  }
}

void NiftiHeader::read_rescale(const std::string& name) {
  const double slope = real(Fields::scl_slope), inter = real(Fields::scl_inter);
  if (slope == 0) return;  // by definition: not rescaled
  if (!std::isfinite(slope) || !std::isfinite(inter)) {
    throw Error(Errc::corrupt, name + ": scl_slope = " + text(slope) + ", scl_inter = " + text(inter),
                "both must be finite (scl_slope 0: not rescaled)");
  }
  rescale_ = {slope, inter};
  if (rescale_.identity() || is_float(type_)) return;
  // Of larger integers few files use the whole range: there each voxel is looked at.
  const int bits = static_cast<int>(8 * bytes_per_voxel(type_));
  const bool is_signed = type_ == ScalarType::int8 || type_ == ScalarType::int16;
  const double min = bits > 16 || !is_signed ? 0 : -std::ldexp(1.0, bits - 1);
  const double max = bits > 16 ? 0 : std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
  why_stored_only_ = why_floats_lose_digits(rescale_, min, max, "scl_slope", "scl_inter");
}

std::optional<double> NiftiHeader::seconds_per_unit() const {
  switch (integer(Fields::xyzt_units) & 0x38) {
    case 8: return 1;
    case 16: return 1e-3;
    case 24: return 1e-6;
    default: return std::nullopt;
  }
}

bool NiftiHeader::has_times() const {
  return volumes_ > 1 && integer(Fields::dim, 4) == volumes_ && seconds_per_unit().has_value();
}

std::optional<double> NiftiHeader::volume_seconds() const {
  const double units = real(Fields::pixdim, 4);
  if (!has_times() || !(std::isfinite(units) && units > 0)) return std::nullopt;
  return units * *seconds_per_unit();
}

bool NiftiHeader::may_lose_digits() const {
  return quietvox::io::may_lose_digits(type_) || (type_ == ScalarType::float32 && rescale_.inter != 0) ||
         !why_stored_only_.empty();
}

HeaderFacts NiftiHeader::facts() const {
  const std::int64_t code = integer(Fields::intent_code);
  for (const Intent& intent : intents) {
    if (code < intent.first || code > intent.last) continue;
    return {
        .kind = intent.kind,
        .kind_source = "the voxels are " + std::string(intent.voxels) + " (NIfTI intent " + std::to_string(code) + ")"};
  }
  if (!is_grid_of_list(extent())) return {};
  return {
      .kind = DataKind::lists,
      .kind_source = "a grid of " + format_extent(extent()) + " is that of a list, as of the vertices of a surface"};
}

void NiftiHeader::read_voxel_offset(const std::string& name) {
  const double offset = real(Fields::vox_offset);
  const double lowest = single_file_ ? static_cast<double>(bytes_.size()) : 0;
  // Beyond 2^60 no file reaches; the sum with voxel_bytes() stays within 64 bits.
  if (!(offset >= lowest && offset <= 0x1p60) || offset != std::floor(offset)) {
    throw Error(Errc::corrupt,
                name + ": vox_offset = " + text(offset) + " must be a whole number, at least " + text(lowest));
  }
  voxel_offset_ = version_ == 1 ? static_cast<std::int64_t>(offset) : integer(Fields::vox_offset);
}

void NiftiHeader::set_type(ScalarType type) {
  type_ = type;
  rescale_ = {};
  set(Fields::datatype, std::ranges::find(data_types, type, &DataType::type)->code);
  set(Fields::bitpix, static_cast<double>(8 * bytes_per_voxel(type)));
  set(Fields::scl_slope, 1);
  set(Fields::scl_inter, 0);
}

void NiftiHeader::set_differences() {
  set_type(ScalarType::float32);
  set(Fields::cal_max, 0);
  set(Fields::cal_min, 0);
}

void NiftiHeader::set_container(bool single_file, std::int64_t voxel_offset) {
  single_file_ = single_file;
  voxel_offset_ = voxel_offset;
  const std::string_view magic = (single_file ? single_magic : pair_magic)[version_ - 1];
  std::memcpy(bytes_.data() + magic_offset[version_ - 1], magic.data(), magic.size());
  set(Fields::vox_offset, static_cast<double>(voxel_offset));
}

NiftiHeader NiftiHeader::create(const Geometry& geometry, std::size_t volumes, ScalarType type,
                                std::optional<double> volume_seconds) {
  NiftiHeader header;
  header.bytes_.assign(header_size[0], std::byte{});
  header.extent_ = geometry.extent;
  header.volumes_ = static_cast<std::int64_t>(volumes);
  header.geometry_ = geometry;
  const std::array<std::int64_t, 4> dims = {geometry.extent.x, geometry.extent.y, geometry.extent.z, header.volumes_};
  if (*std::max_element(dims.begin(), dims.end()) > std::numeric_limits<std::int16_t>::max()) {
    throw Error(Errc::unsupported, "a NIfTI-1 file holds at most 32767 voxels per axis and 32767 volumes");
  }
  header.set(Fields::sizeof_hdr, header_size[0]);
  header.set(Fields::dim, volumes > 1 ? 4 : 3);
  for (int axis = 1; axis <= 7; ++axis)
    header.set(Fields::dim, axis <= 4 ? static_cast<double>(dims[axis - 1]) : 1, axis);
  header.set_geometry();
  if (volumes > 1 && volume_seconds) {
    header.set(Fields::pixdim, *volume_seconds, 4);
    header.set(Fields::xyzt_units, 2 + 8);  // mm, s
  }
  header.set_type(type);
  header.set_container(true, 352);
  return header;
}

}  // namespace quietvox::io
