// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/bm4d.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The block matching filter as its contract writes it, group by group in double; `params` are resolved.
Volume reference_bm4d(const Volume& in, const Bm4dParams& params);

}  // namespace quietvox::test
