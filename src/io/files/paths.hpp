// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quietvox::io {

/// `/a/b/` names `/a/b`.
std::filesystem::path without_trailing_slash(const std::filesystem::path&);

/// The folder that a file or folder lies in.
std::filesystem::path parent_of(const std::filesystem::path&);

/// Whether anything stands there. True for a link that leads nowhere too.
bool stands_at(const std::filesystem::path&);

/// Whether a regular file stands there, links followed. False where that cannot be told, as of a name that cannot be.
bool is_file(const std::filesystem::path&);

/// Whether the path, as it is written, is the folder or lies inside it.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

/// What lies beside an image under its name: `a.bval` for `a.nii.gz` and `.bval`.
std::filesystem::path beside(std::filesystem::path image, const char* ending);
/// The JSON beside an image.
std::filesystem::path sidecar_of(const std::filesystem::path& image);

/// The absolute path, links followed as far as it exists. Throws Error(output_path) where it cannot be followed.
std::filesystem::path real_path(const std::filesystem::path&);

}  // namespace quietvox::io
