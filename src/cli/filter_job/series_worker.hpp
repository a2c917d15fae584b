// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/filter_job/filter_job.hpp"

/// The half of --all-series that reads and filters, in a process of its own, so that a parser or codec which crashes
/// takes nothing but one series with it. The other half, all_series.hpp, watches it and starts it anew.
namespace quietvox::cli {

/// Bytes that need not be UTF-8, as JSON: a list of numbers.
Json bytes_to_json(const std::string&);
std::string bytes_from_json(const Json&);
/// An error of the worker, with its parameters as data.
Error error_from_json(const Json&);

/// Filters the series of a folder one by one. Stdin holds, as JSON, what is already known:
///
///     {"parent": PID, "dealt_with": [BYTES...], "left_out": [BYTES...], "careful": false, "announced": false}
///
/// The process that listens, UIDs of series to skip, files not to look at, whether each file is to be named before it
/// is parsed, and whether `found` was said before. On stdout go events, one JSON document a line:
///
///     {"file": BYTES}                  will be parsed next (careful only)
///     {"found": {"warnings": [...], "skipped": [...], "skipped_files": [...]}}
///         all headers are read; files that belong to no series, or may have been images, follow as `failed`
///     {"begin": BYTES}                 the series that is filtered next, by its UID
///     {"done": {...}}, {"failed": {"series": ..., "error": ERROR}}
///         ERROR: {"code": number, "problem": [...], "remedy": [...]}, of texts and {"name": ..., "value": ...}
///     {"ended": true}, {"ended": {"error": ERROR}}   nothing was left to do, or nothing can be done
void work_on_series(const Job&, Context&);

}  // namespace quietvox::cli
