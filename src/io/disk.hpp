// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// What putting outputs in place asks of a file system. The functions return the error number, or 0.
namespace quietvox::io {

/// Syncs what was written to a file or folder to disk.
int sync_to_disk(const std::filesystem::path&);

/// Renames only where nothing stands at `to`: EEXIST otherwise.
int rename_to_free_place(const std::filesystem::path& from, const std::filesystem::path& to);

/// Exchanges two neighbours, at one instant where the file system can; otherwise in three steps, while `b` stands at
/// aside_of(a).
int exchange(const std::filesystem::path& a, const std::filesystem::path& b);
std::filesystem::path aside_of(const std::filesystem::path& a);

/// The folder that a file or folder lies in.
std::filesystem::path parent_of(const std::filesystem::path&);

/// True for a dangling link too.
bool stands_at(const std::filesystem::path&);

}  // namespace quietvox::io
