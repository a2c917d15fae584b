// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_code.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <string>

#include "workflow/resource_error.hpp"

namespace quietvox::cli {
namespace {

std::atomic_flag is_claimed;
std::atomic<bool> is_awaited = false;

}  // namespace

std::span<const ExitMeaning> exit_meanings() {
  static constexpr std::array<ExitMeaning, 14> all{{
      {"0", "done"},
      {"1", "anything else"},
      {"2", "no image in the input"},
      {"4", "corrupt or unsupported input"},
      {"5", "input path does not exist or cannot be read"},
      {"6, 7", "output path unusable, not writable"},
      {"10", "incomplete or irregular series"},
      {"20", "output exists; --force replaces it"},
      {"21", "device not available"},
      {"22", "out of memory or threads"},
      {"64", "unknown option or bad value"},
      {"70", "internal error"},
      {"129, 130, 143", "ended by SIGHUP, SIGINT, SIGTERM"},
      {"141", "stdout was closed by its reader"},
  }};
  return all;
}

void claim_the_end() {
  thread_local bool is_claimed_here = false;
  while (!is_claimed_here && is_claimed.test_and_set()) {
    is_awaited = true;
    pause();
  }
  is_claimed_here = true;
}

void await_the_end(unsigned seconds) {
  is_awaited = true;
  sleep(seconds);
}

bool somebody_awaits_the_end() { return is_awaited; }

ExitCode exit_code(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return exit_usage;
    case Errc::no_input: return exit_no_input;
    case Errc::input_path: return exit_input_path;
    case Errc::output_path: return exit_output_path;
    case Errc::not_writable: return exit_not_writable;
    case Errc::unsupported:
    case Errc::corrupt: return exit_bad_input;
    case Errc::irregular: return exit_irregular;
    case Errc::exists: return exit_exists;
    case Errc::out_of_memory: return exit_out_of_memory;
    case Errc::device: return exit_device;
    case Errc::cancelled: return exit_unclassified;
    case Errc::internal: return exit_internal;
  }
  return exit_unclassified;
}

Error as_error(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (auto error = resource_error(exception)) return *error;
  return {Errc::internal, std::string("internal error: ") + exception.what()};
}

}  // namespace quietvox::cli
