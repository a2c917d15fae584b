// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quietvox::io {

class CommitTurn;

/// Tidies up after processes that were killed while they made outputs in this folder: what they had not finished goes,
/// and of outputs that belong together, what they had put in place goes unless all came.
/// Where another has the turn of the folder, or of one to which a record leads, that is left to who comes next.
void remove_abandoned(const std::filesystem::path& folder);
void remove_abandoned(const std::filesystem::path& folder, CommitTurn&);

}  // namespace quietvox::io
