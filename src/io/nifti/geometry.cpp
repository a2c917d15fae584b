// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "io/nifti/fields.hpp"

namespace quietvox::io {
namespace {

double determinant(const std::array<double, 9>& m) {
  return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/// b, c and d of the unit quaternion (a, b, c, d), a >= 0, of a rotation matrix.
std::array<double, 3> quaternion(const std::array<double, 9>& r) {
  const auto half_root = [](double square) { return 0.5 * std::sqrt(std::max(square, 0.0)); };
  const double b = half_root(1 + r[0] - r[4] - r[8]), c = half_root(1 - r[0] + r[4] - r[8]),
               d = half_root(1 - r[0] - r[4] + r[8]), a = half_root(1 + r[0] + r[4] + r[8]);
  // The largest of the four gives the signs of the others.
  if (a >= std::max({b, c, d})) {
    return {std::copysign(b, r[7] - r[5]), std::copysign(c, r[2] - r[6]), std::copysign(d, r[3] - r[1])};
  }
  const int largest = b >= std::max(c, d) ? 0 : c >= d ? 1 : 2;
  const double xy = r[1] + r[3], xz = r[2] + r[6], yz = r[5] + r[7];
  const std::array<double, 3> q = largest == 0   ? std::array{b, std::copysign(c, xy), std::copysign(d, xz)}
                                  : largest == 1 ? std::array{std::copysign(b, xy), c, std::copysign(d, yz)}
                                                 : std::array{std::copysign(b, xz), std::copysign(c, yz), d};
  const double sign_of_a = largest == 0 ? r[7] - r[5] : largest == 1 ? r[2] - r[6] : r[3] - r[1];
  return sign_of_a < 0 ? std::array{-q[0], -q[1], -q[2]} : q;
}

}  // namespace

void NiftiHeader::read_geometry() {
  geometry_.extent = extent_;
  double mm_per_unit = 1;
  switch (const auto unit = integer(Fields::xyzt_units) & 7) {
    case 0:
    case 2: break;
    case 1: mm_per_unit = 1000; break;
    case 3: mm_per_unit = 0.001; break;
    default:
      warnings_.push_back("xyzt_units names no unit of length (" + FieldType<double>::format(unit) +
                          "); mm is assumed");
  }
  if (integer(Fields::sform_code) > 0) {
    if (geometry_from_sform(mm_per_unit)) return read_qform_beside(mm_per_unit);
    warnings_.emplace_back("sform is not a usable matrix; qform and pixdim are used");
  }
  geometry_from_qform(mm_per_unit);
}

void NiftiHeader::read_qform_beside(double mm_per_unit) {
  if (integer(Fields::qform_code) <= 0) return;
  NiftiHeader other = *this;
  other.geometry_from_qform(mm_per_unit);
  if (other.geometry_.is_placed) qform_geometry_ = other.geometry_;
}

bool NiftiHeader::geometry_from_sform(double mm_per_unit) {
  Geometry result = geometry_;
  auto& m = result.direction;
  for (int column = 0; column < 3; ++column) {
    double norm = 0;
    for (int row = 0; row < 3; ++row) norm = std::hypot(norm, real(Fields::srow, 4 * row + column));
    if (!(norm > 0) || !std::isfinite(norm)) return false;
    result.spacing[column] = norm * mm_per_unit;
    for (int row = 0; row < 3; ++row) {
      const double ras_to_lps = row < 2 ? -1 : 1;
      m[3 * row + column] = ras_to_lps * real(Fields::srow, 4 * row + column) / norm;
    }
  }
  for (int row = 0; row < 3; ++row) {
    const double ras_to_lps = row < 2 ? -1 : 1;
    result.origin[row] = ras_to_lps * real(Fields::srow, 4 * row + 3) * mm_per_unit;
    if (!std::isfinite(result.origin[row])) return false;
  }
  if (std::abs(determinant(m)) < 1e-6) return false;
  geometry_ = result;
  return true;
}

void NiftiHeader::geometry_from_qform(double mm_per_unit) {
  for (int axis = 0; axis < 3; ++axis) {
    const double size = std::abs(real(Fields::pixdim, axis + 1)) * mm_per_unit;
    const bool usable = size > 0 && std::isfinite(size);
    if (!usable && extent_[axis] > 1) {
      warnings_.push_back("voxel size pixdim[" + std::to_string(axis + 1) +
                          "] = " + FieldType<double>::format(real(Fields::pixdim, axis + 1)) + "; 1 mm is assumed");
    }
    geometry_.spacing[axis] = usable ? size : 1;
  }
  std::array<double, 9> ras = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::array<double, 3> offset{};
  geometry_.is_placed = integer(Fields::qform_code) > 0;
  if (geometry_.is_placed) {
    // Rotation of the unit quaternion (a, b, c, d), of which b, c, d are stored; qfac mirrors the third axis. As floats
    // they do not tell half a turn from nearly half a turn: both count as half a turn, a = 0.
    double b = real(Fields::quatern, 0), c = real(Fields::quatern, 1), d = real(Fields::quatern, 2);
    const double norm = std::sqrt(b * b + c * c + d * d);
    const bool half_turn = 1 - norm * norm < 1e-7;
    if (half_turn) {
      b /= norm;
      c /= norm;
      d /= norm;
    }
    const double a = half_turn ? 0 : std::sqrt(1 - norm * norm);
    const double qfac = real(Fields::pixdim) < 0 ? -1 : 1;
    bool finite = std::isfinite(norm);
    for (int axis = 0; axis < 3; ++axis) {
      offset[axis] = real(Fields::qoffset, axis) * mm_per_unit;
      finite = finite && std::isfinite(offset[axis]);
    }
    if (finite) {
      ras = {a * a + b * b - c * c - d * d, 2 * (b * c - a * d),           qfac * 2 * (b * d + a * c),
             2 * (b * c + a * d),           a * a + c * c - b * b - d * d, qfac * 2 * (c * d - a * b),
             2 * (b * d - a * c),           2 * (c * d + a * b),           qfac * (a * a + d * d - b * b - c * c)};
    } else {
      warnings_.emplace_back("qform is not finite; the axes are taken to be right, anterior, superior");
      offset = {};
      geometry_.is_placed = false;
    }
  }
  for (int row = 0; row < 3; ++row) {
    const double ras_to_lps = row < 2 ? -1 : 1;
    for (int column = 0; column < 3; ++column)
      geometry_.direction[3 * row + column] = ras_to_lps * ras[3 * row + column];
    geometry_.origin[row] = ras_to_lps * offset[row];
  }
}

void NiftiHeader::set_geometry() {
  for (int axis = 1; axis <= 7; ++axis) set(Fields::pixdim, axis <= 3 ? geometry_.spacing[axis - 1] : 1, axis);
  set(Fields::xyzt_units, 2);  // mm

  std::array<double, 9> r = geometry_.direction;
  for (int column = 0; column < 3; ++column) {
    r[column] = -r[column];
    r[3 + column] = -r[3 + column];
  }
  const std::array<double, 3> offset = {-geometry_.origin[0], -geometry_.origin[1], geometry_.origin[2]};
  // Nobody said where the image lies, nor how.
  const int code = geometry_.is_placed || geometry_.direction != Geometry{}.direction ? 1 : 0;
  set(Fields::sform_code, code);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column) {
      set(Fields::srow, r[3 * row + column] * geometry_.spacing[column], 4 * row + column);
    }
    set(Fields::srow, offset[row], 4 * row + 3);
    set(Fields::qoffset, offset[row], row);
  }
  // The quaternion of the rotation that is left once a mirrored third axis is turned back. Axes that are not
  // perpendicular, or not one long, have none: qform_code stays 0.
  const double volume = determinant(r);
  const double qfac = volume < 0 ? -1 : 1;
  set(Fields::pixdim, qfac, 0);
  double farthest = 0;  // of the products of two axes from those of a rotation
  for (int a = 0; a < 3; ++a) {
    for (int b = a; b < 3; ++b) {
      const double product = r[a] * r[b] + r[3 + a] * r[3 + b] + r[6 + a] * r[6 + b];
      farthest = std::max(farthest, std::abs(product - (a == b ? 1 : 0)));
    }
  }
  if (farthest < 1e-4) {
    for (int row = 0; row < 3; ++row) r[3 * row + 2] *= qfac;
    const auto q = quaternion(r);
    set(Fields::qform_code, code);
    for (int axis = 0; axis < 3; ++axis) set(Fields::quatern, q[axis], axis);
  }
}

}  // namespace quietvox::io
