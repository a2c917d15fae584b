// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/execution.hpp"

namespace quietvox::io {

/// Unpacks by several threads what `state` would unpack next of `packed`, its next input, which is gzip data. Each
/// thread begins in another `part` of so many bytes, which is not 0; what follows the last block found waits. Returns
/// the bytes in pieces, the same as `state` alone would give. Then `state` is where these end, with what is left of
/// `packed` as its input. There is one piece where no blocks to begin at are found. Where the next bytes are damaged
/// there is none, and `state` is as it was and will say so. Throws Error(cancelled); `state` is of no use then.
///
/// Threads begin at blocks that they find, and know the 32 KiB before them (the window) only by what stands in two
/// windows that are made up: bytes that come out alike twice are known, any other pair of bytes tells its place in the
/// window. What is copied from there is filled in once the bytes before are known. A block is found by a header whose
/// code is complete; that it is one is known when the thread before ends there.
std::vector<std::vector<std::uint8_t>> inflate_ahead(inflate_state& state, std::span<std::uint8_t> packed,
                                                     std::size_t part, const Execution& execution);

}  // namespace quietvox::io
