// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "io/image.hpp"

/// What the fuzzers of readers share.
namespace quietvox::fuzz {

/// A file in memory that holds one input of the fuzzer, gone with it.
class ScratchFile {
 public:
  ScratchFile(const std::string& name, const std::uint8_t* data, std::size_t size)
      : path_("/dev/shm/quietvox-fuzz-" + std::to_string(getpid()) + "-" + name) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Far less than what the fuzzer takes for a fault of the program.
inline io::ReadOptions in_little_memory() {
  io::ReadOptions options;
  options.execution.memory_limit = std::size_t{1} << 30;
  return options;
}

/// Reads all that an image tells, and its voxels where they are few. A broken file may throw Error, but none that
/// speaks of a fault of the program.
template <class Open>
void read_all(const Open& open) {
  constexpr std::int64_t most_voxels = 1 << 20;
  try {
    const auto image = open();
    if (!image) return;
    image->info();
    image->warnings();
    for (std::size_t volume = 0; volume < image->volume_count(); ++volume) {
      image->why_2d_only(volume);
      const auto source =
          image->volume(volume, image->can_filter_stored(volume) ? io::VoxelDomain::stored : io::VoxelDomain::real);
      const Extent extent = source->extent();
      if (extent.voxels() > most_voxels) continue;
      std::vector<float> voxels(static_cast<std::size_t>(extent.voxels()));
      source->read({voxels.data(), extent, source->spacing()});
    }
  } catch (const Error& error) {
    if (error.code() == Errc::internal) std::abort();
  }
}

}  // namespace quietvox::fuzz
