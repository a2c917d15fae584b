// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/filter_job/filter_job.hpp"

namespace quietvox::cli {

/// Filters every DICOM series of a folder into a folder of its own below the output. A series that cannot be filtered
/// is named and skipped, even if it crashes the reader, which runs in another process (series_worker.hpp). At the end
/// throws the first error, with a summary.
void filter_all_series(const Job&, Context&);

}  // namespace quietvox::cli
