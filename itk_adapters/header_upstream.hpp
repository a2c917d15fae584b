// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/volume_facts.hpp"

namespace itk {
class DataObject;
}

namespace quietvox {

/// What the headers of the scan at the upper end of a pipeline say; nothing where there is none, and nothing of how its
/// slices follow each other where these no longer lie along z.
HeaderFacts header_upstream(const itk::DataObject*);

}  // namespace quietvox
