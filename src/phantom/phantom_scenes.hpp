// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "phantom/shapes.hpp"

namespace quietvox {

/// The field of view that each scene is made for, in mm; x and y are the shorter side of a slice.
inline constexpr Point ct_view{380, 380, 120}, mr_view{210, 210, 140}, mammogram_view{180, 180, 1};

/// The chest at the height of the diaphragm, in Hounsfield units.
Scene ct_scene();

/// A head, T1-like; `spacing` sets how soft the borders between tissues are.
Scene mr_scene(const Spacing& spacing);

/// A breast seen from above, chest wall at the left edge of a slice `width` mm wide.
Scene mammogram_scene(double width);

}  // namespace quietvox
