// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/volumes.hpp"

namespace quietvox::test {

/// Where two volumes differ by more than `tolerance`; empty where they do not. Missing voxels equal themselves only.
std::string first_difference(const Volume& expected, const Volume& actual, double tolerance = 0);

}  // namespace quietvox::test
