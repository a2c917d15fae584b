// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include "core/pipeline.hpp"
#include "io/rescale.hpp"

namespace quietvox::io {

/// What the numbers of a volume look like.
struct NumberLooks {
  std::string why_labels{};  ///< empty where they are none
  std::string why_phases{};  ///< empty where they are none
};

/// Whole numbers are labels where, in three slices that hold more than one number, nearly all neighbours outside the
/// background are equal, as the noise of a scan never leaves them; or three quarters of those with a number that is
/// rare in its slice, and others differ by any number, as the names of structures do; or the volume holds two different
/// numbers only, or eight and half of the neighbours equal, as masks of small or thin structures do. Reads those
/// slices, and others as long as they do not tell. A slice with a fraction, or one full of neighbours that differ, ends
/// the search for labels.
///
/// Numbers are phases where, in those slices, they begin at about 0 or reach as far below 0 as above, as stored or as
/// real numbers, jump between smooth parts from about one end of that range to the other, and hardly ever by another
/// part of it; or where, as real numbers, they reach both ends of a turn as scanners and their converters write it, and
/// neighbours jump from one end to the other anywhere, as in noise.
NumberLooks looks_of(VolumeSource& stored, Rescale to_real = {});

/// True where the numbers of three volumes are the parts of vectors of length 1, such as the directions of fibres, or
/// of any length up to 1, such as those times an anisotropy: their lengths differ from neighbour to neighbour by little
/// beside what the vectors differ by, since directions have no sign. Reads one slice of each.
bool are_vectors(std::array<VolumeSource*, 3> volumes);

}  // namespace quietvox::io
