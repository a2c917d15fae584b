// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace quietvox::io {

/// Throws Error(output_path) where the target is the other file or folder, lies inside it or holds it, links followed,
/// those in the folder too. `role`: what the other one is, for the message.
void refuse_overlap(const std::filesystem::path& target, const std::filesystem::path& other,
                    const std::string& role = "input");

}  // namespace quietvox::io
