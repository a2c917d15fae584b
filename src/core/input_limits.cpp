// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/input_limits.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

#include "core/error.hpp"

namespace quietvox {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t always_allowed = std::uint64_t{256} << 20, growth = 64;
constexpr std::uint64_t memory_of_volume = 8192;  // parameters as resolved, and the like

/// The number in a file of one number; unlimited where there is none.
std::uint64_t number_in(const fs::path& path) {
  std::uint64_t number = 0;
  return std::ifstream(path) >> number ? number : unlimited;
}

/// The least of the limits of a control group and those around it.
std::uint64_t limit_of_group(const fs::path& mount, fs::path group, const char* file) {
  std::uint64_t least = number_in(mount / file);
  for (; group.has_relative_path(); group = group.parent_path()) {
    least = std::min(least, number_in(mount / group.relative_path() / file));
  }
  return least;
}

std::uint64_t limit_of_groups(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::uint64_t least = unlimited;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // `4:memory:/name`, or `0::/name` of version 2
    const std::size_t controllers = line.find(':') + 1, name = line.find(':', controllers) + 1;
    if (controllers == 0 || name == 0) continue;
    const std::string_view of = std::string_view(line).substr(controllers, name - 1 - controllers);
    const fs::path group = line.substr(name);
    if (of.empty()) least = std::min(least, limit_of_group(mounts, group, "memory.max"));
    if (of == "memory") least = std::min(least, limit_of_group(mounts / "memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

std::uint64_t physical_memory(const fs::path& root) {
  std::ifstream facts(root / "proc/meminfo");
  for (std::string name; facts >> name;) {
    std::uint64_t kib = 0;
    if (name == "MemTotal:" && facts >> kib) return kib << 10;
  }
  return unlimited;
}

}  // namespace

std::uint64_t mib(std::uint64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; }

std::string in_mib(std::uint64_t bytes) { return std::to_string(mib(bytes)) + " MiB"; }

std::uint64_t machine_memory(const fs::path& root) { return std::min(physical_memory(root), limit_of_groups(root)); }

std::uint64_t memory_budget(const Execution& execution) {
  static const std::uint64_t half_of_machine = machine_memory() / 2;
  return execution.memory_limit ? *execution.memory_limit : half_of_machine;
}

std::uint64_t most_memory(std::uint64_t file_size, const Execution& execution) {
  const std::uint64_t by_size = file_size > unlimited / growth ? unlimited : growth * file_size;
  return std::min(memory_budget(execution), std::max(always_allowed, by_size));
}

void check_memory(const std::string& what, std::uint64_t bytes, std::uint64_t file_size, const Execution& execution) {
  const std::uint64_t most = most_memory(file_size, execution);
  if (bytes <= most) return;
  const std::string message = what + " would take " + in_mib(bytes) + " of memory or more; ";
  if (most == memory_budget(execution)) {
    throw Error(Errc::out_of_memory, message + "at most " + in_mib(most) + " may be used");
  }
  throw Error(Errc::unsupported, message + "a file of its size may take " + in_mib(most));
}

void check_memory(const std::string& what, std::uint64_t bytes, const Execution& execution) {
  check_memory(what, bytes, unlimited, execution);
}

void check_limit(const std::string& what, std::uint64_t bytes, std::uint64_t limit) {
  if (bytes <= limit) return;
  const std::uint64_t more = mib(bytes - limit);
  throw Error(Errc::out_of_memory,
              "the memory limit is too small: it leaves " + std::to_string(mib(bytes) - more) + " MiB, " + what +
                  " needs " + in_mib(bytes),
              "raise " + Parameter{"memory-limit"} + " by at least " + std::to_string(more) + " MiB");
}

void check_file_size(std::uint64_t file_size, std::uint64_t voxel_bytes) {
  const std::uint64_t most = voxel_bytes + voxel_bytes / 8 + 2 * most_besides_voxels;
  if (file_size <= most) return;
  throw Error(Errc::unsupported,
              "a file of " + in_mib(file_size) + " for " + in_mib(voxel_bytes) + " of voxels is damaged or malicious",
              "at most " + in_mib(most) + " are read");
}

void check_image_size(const Extent& extent, std::int64_t volumes, std::uint64_t file_size, const Execution& execution) {
  check_memory("a slice of " + std::to_string(extent.x) + " x " + std::to_string(extent.y) + " voxels",
               sizeof(float) * static_cast<std::uint64_t>(extent.slice()), file_size, execution);
  const auto count = static_cast<std::uint64_t>(volumes);
  check_memory("filtering " + std::to_string(count) + " volumes",
               memory_of_volume * std::min(count, unlimited / memory_of_volume), file_size, execution);
}

}  // namespace quietvox
