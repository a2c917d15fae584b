// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "io/nifti/header.hpp"

namespace quietvox::io {

enum class Stored : std::uint8_t { int8, int16, int32, int64, float32, float64 };

/// Where a field stands and how it is stored, in NIfTI-1 and in NIfTI-2.
struct NiftiHeader::Field {
  int offset1;
  Stored stored1;
  int offset2;
  Stored stored2;
};

struct NiftiHeader::Fields {
  static constexpr Field sizeof_hdr{0, Stored::int32, 0, Stored::int32};
  static constexpr Field dim{40, Stored::int16, 16, Stored::int64};
  static constexpr Field intent_code{68, Stored::int16, 504, Stored::int32};
  static constexpr Field datatype{70, Stored::int16, 12, Stored::int16};
  static constexpr Field bitpix{72, Stored::int16, 14, Stored::int16};
  static constexpr Field pixdim{76, Stored::float32, 104, Stored::float64};
  static constexpr Field vox_offset{108, Stored::float32, 168, Stored::int64};
  static constexpr Field scl_slope{112, Stored::float32, 176, Stored::float64};
  static constexpr Field scl_inter{116, Stored::float32, 184, Stored::float64};
  static constexpr Field cal_max{124, Stored::float32, 192, Stored::float64};
  static constexpr Field cal_min{128, Stored::float32, 200, Stored::float64};
  static constexpr Field xyzt_units{123, Stored::int8, 500, Stored::int32};
  static constexpr Field qform_code{252, Stored::int16, 344, Stored::int32};
  static constexpr Field sform_code{254, Stored::int16, 348, Stored::int32};
  static constexpr Field quatern{256, Stored::float32, 352, Stored::float64};
  static constexpr Field qoffset{268, Stored::float32, 376, Stored::float64};
  static constexpr Field srow{280, Stored::float32, 400, Stored::float64};  // 3 rows of 4
};

}  // namespace quietvox::io
