// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/execution.hpp"
#include "core/volume_view.hpp"

/// What a file may make a reader take: readers check what its bytes say before they take stack or memory for it.
namespace quietvox {

/// Sequences of DICOM, and lists and objects of JSON, may be nested so deep.
inline constexpr int most_nested = 64;

/// Bytes of memory for messages: `12 MiB`, rounded up.
std::string in_mib(std::uint64_t bytes);

/// Bytes of memory of this machine, or of the control groups that the process is in where they have less. `root`: where
/// the system's files lie.
std::uint64_t machine_memory(const std::filesystem::path& root = "/");

/// The most that readers may take at once: the memory limit of the execution, or half of the machine's memory.
std::uint64_t memory_budget(const Execution&);

/// The most that may be made of a file of `file_size` bytes: 64 times its size, at least 256 MiB, within
/// memory_budget().
std::uint64_t most_memory(std::uint64_t file_size, const Execution&);

/// Throws where `bytes` of memory for `what` of a file are more than most_memory(): Error(out_of_memory) where the
/// budget says so, Error(unsupported) where the size of the file does. Messages do not name the file.
void check_memory(const std::string& what, std::uint64_t bytes, std::uint64_t file_size, const Execution&);
/// The same where nothing is said of the size of a file.
void check_memory(const std::string& what, std::uint64_t bytes, const Execution&);

/// Bytes before or after the voxels: a file that takes little place on the disk may hold any number of them.
inline constexpr std::uint64_t most_besides_voxels = std::uint64_t{256} << 20;

/// Throws Error(unsupported) where a file has many more bytes than its voxels, as they are stored or badly packed, and
/// what may stand before and after them.
void check_file_size(std::uint64_t file_size, std::uint64_t voxel_bytes);

/// As check_memory() for an image that stands in files of `file_size` bytes: a slice of it as floats, and what is kept
/// of each volume while it is filtered.
void check_image_size(const Extent&, std::int64_t volumes, std::uint64_t file_size, const Execution&);

}  // namespace quietvox
