// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "filters/dct.hpp"
#include "support/volumes.hpp"

namespace quietvox::test {

/// The DCT filter as its contract writes it, block by block in double; `params` are resolved.
Volume reference_dct(const Volume& in, const DctParams& params);

/// How far a result may be from the reference: 1e-5 max |u|.
double dct_tolerance(const Volume& in);

}  // namespace quietvox::test
