// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/filter_job.hpp"

namespace quietvox::cli {

/// Filters every DICOM series of a folder into a folder of its own below the output. What cannot be filtered is named
/// and left out; it does not keep others from being filtered, not even where it makes the process crash that reads and
/// filters: that is another one (see series_worker.hpp). Throws, at the end, the first error with a summary.
void filter_all_series(const Job&, Context&);

}  // namespace quietvox::cli
