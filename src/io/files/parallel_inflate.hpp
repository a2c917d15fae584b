// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/execution.hpp"

namespace quietvox::io {

/// Unpacks gzip data with several threads. `packed` is the next input of `state`; it is cut into parts of `part` bytes
/// (not 0), one for each thread. Returns the bytes that `state` alone would give, in pieces. Afterwards `state` stands
/// behind the last piece, and what is left of `packed` is its input. If no block is found to start at, there is one
/// piece. If the next bytes are damaged, there is none; `state` has not moved, and will report the damage. Throws
/// Error(cancelled); `state` cannot be used after that.
///
/// A thread searches its part for the header of a block whose code is complete, and starts there. Whether it really was
/// a block shows when the thread before arrives at the same place. The thread does not know the 32 KiB before its block
/// (the window), from which data may be copied. So it unpacks twice, with two windows that are made up: bytes that come
/// out equal are right, and two that differ tell which byte of the window they were copied from. That byte is filled in
/// once the part before is known.
std::vector<std::vector<std::uint8_t>> parallel_inflate(inflate_state& state, std::span<std::uint8_t> packed,
                                                        std::size_t part, const Execution& execution);

}  // namespace quietvox::io
