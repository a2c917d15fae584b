// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/work.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace quietvox::cli {
namespace {

const Filter* first_missing(const Backend& backend, std::span<const Settings> chain) {
  const auto missing =
      std::find_if(chain.begin(), chain.end(), [&](const Settings& step) { return !backend.has(step.filter()); });
  return missing == chain.end() ? nullptr : &missing->filter();
}

/// Why CUDA cannot be used here, in a few words.
std::string why_no_cuda() {
  try {
    make_backend("cuda");
  } catch (const Error& error) {
    const std::string reason = error.what();
    return reason.substr(0, reason.find(';'));
  }
  return "";
}

/// Bytes of memory that the process holds; 0 where the system does not say.
std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// What a run takes besides its voxels: threads, buffers of readers and writers, code that is loaded when it is called.
constexpr std::size_t reserve = std::size_t{8} << 20;

std::string mib(std::size_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

}  // namespace

ChosenBackend choose_backend(const std::string& choice, std::span<const Settings> chain) {
  ChosenBackend chosen{make_backend(choice), ""};
  const Filter* missing = first_missing(*chosen.backend, chain);
  if (choice != "auto") {
    if (missing) {
      throw Error(Errc::device, "--backend " + choice + ": there is no " + missing->name + " on it; give cpu or auto");
    }
  } else if (missing) {
    chosen = {make_backend("cpu"), "auto: " + chosen.backend->name() + " has no " + missing->name};
  } else {
    const bool cpu = chosen.backend->name() == "cpu";
    chosen.why = cpu ? "auto: " + why_no_cuda() : "auto: a usable device is here";
  }
  return chosen;
}

Execution execution(const WorkOptions& options, Context& context) {
  Execution result;
  result.threads = options.threads;
  result.stop = context.stop;
  result.progress = [&console = context.console](double fraction) { console.progress(fraction); };
  if (options.memory_limit) {
    const std::size_t limit = static_cast<std::size_t>(*options.memory_limit) << 20;
    const std::size_t taken = resident_bytes() + reserve;
    if (limit <= taken) {
      throw Error(Errc::out_of_memory, "--memory-limit = " + std::to_string(*options.memory_limit) +
                                           " is too small: without any voxels quietvox takes " + mib(taken));
    }
    result.memory_limit = limit - taken;
  }
  return result;
}

}  // namespace quietvox::cli
