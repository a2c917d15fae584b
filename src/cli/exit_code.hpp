// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <span>
#include <string_view>

#include "core/error.hpp"

namespace quietvox::cli {

enum ExitCode : int {
  exit_done = 0,
  exit_unclassified = 1,
  exit_no_input = 2,
  exit_bad_input = 4,
  exit_input_path = 5,
  exit_output_path = 6,
  exit_not_writable = 7,
  exit_irregular = 10,
  exit_exists = 20,
  exit_device = 21,
  exit_out_of_memory = 22,
  exit_usage = 64,
  exit_internal = 70,
  exit_signal = 128,  ///< plus the number of the signal
};

/// What a status means to people: `10`, `incomplete or irregular series`.
struct ExitMeaning {
  std::string_view status, meaning;
};
std::span<const ExitMeaning> exit_meanings();

/// The exit status for an error; `cancelled` is a matter of the signal that came (see signals.hpp).
ExitCode exit_code(Errc);

/// What to tell people of an exception: an Error as it is, anything else as one that says what it means.
Error as_error(const std::exception&);

/// For a thread that ends the run, well or not: every other one that would waits here for the end of the process.
void claim_the_end();

/// Waits for that end so many seconds, and leaves it to others to end the run.
void await_the_end(unsigned seconds);

/// Whether a thread waits in one of these.
bool somebody_awaits_the_end();

}  // namespace quietvox::cli
