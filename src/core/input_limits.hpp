// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/execution.hpp"
#include "core/volume_view.hpp"

/// How much stack and memory a file can make a reader take. Readers check what a file claims before they take it.
namespace quietvox {

/// How deep sequences of DICOM, and lists and objects of JSON, may be nested.
inline constexpr int most_nested = 64;

/// A number of bytes as messages give it, rounded up: `12 MiB`.
std::string in_mib(std::uint64_t bytes);

/// The same number without its unit.
std::uint64_t mib(std::uint64_t bytes);

/// Bytes of memory of this machine, or of the control groups of this process, whichever is least. `root`: the folder
/// that holds /proc and /sys.
std::uint64_t machine_memory(const std::filesystem::path& root = "/");

/// The most that readers may take at once: the memory limit of the execution, or half of the machine's memory.
std::uint64_t memory_budget(const Execution&);

/// The most memory that the content of a file of `file_size` bytes may take: 64 times its size, at least 256 MiB,
/// within memory_budget().
std::uint64_t most_memory(std::uint64_t file_size, const Execution&);

/// Throws if `bytes` of memory for `what` of a file are more than most_memory(): Error(out_of_memory) if they exceed
/// the budget, Error(unsupported) if they are too many for a file of this size. Messages do not name the file.
void check_memory(const std::string& what, std::uint64_t bytes, std::uint64_t file_size, const Execution&);
/// The same without regard to the size of a file.
void check_memory(const std::string& what, std::uint64_t bytes, const Execution&);

/// Throws Error(out_of_memory) if `what` needs more bytes than a memory limit leaves.
void check_limit(const std::string& what, std::uint64_t bytes, std::uint64_t limit);

/// Bytes before or after the voxels: a file that takes little place on the disk may hold any number of them.
inline constexpr std::uint64_t most_besides_voxels = std::uint64_t{256} << 20;

/// Throws Error(unsupported) if a file is larger than its voxels, stored or badly compressed, and what may stand before
/// and after them could make it.
void check_file_size(std::uint64_t file_size, std::uint64_t voxel_bytes);

/// check_memory() for an image in files of `file_size` bytes: for a slice of it as floats, and for what is kept of each
/// volume while it is filtered.
void check_image_size(const Extent&, std::int64_t volumes, std::uint64_t file_size, const Execution&);

}  // namespace quietvox
