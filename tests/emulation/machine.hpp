// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "emulation/types.hpp"

/// Runs kernels on the CPU, without a device: block by block, and all threads of a block in turn, each until it has to
/// wait for others. A barrier that is missing shows where results then hang on the order of threads, which is another
/// one each time. It does not show next to an exchange of values, where all lanes wait for each other too. Arithmetic
/// is the CPU's: nothing is said about instructions that round in their own way, nor about speed.
///
/// run() throws std::runtime_error where
///
/// - lanes of a warp wait for each other in different places, or for some that have ended;
/// - threads wait at a barrier for others that have ended;
/// - a block writes beyond its shared memory, or asks for more than there is;
/// - no device would take the launch.
namespace quietvox::emulation {

constexpr int warp_lanes = 32;

/// Of a block: 227 KiB on 9.0, 99 KiB on 8.6 and 8.9.
inline std::size_t most_shared_bytes = 227 * 1024;

/// Calls `thread` for each thread of a launch, with the variables below set.
void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread);

/// Of the block that runs; holds NaN, or -1, until it is written.
float4* shared_memory();

int lane();

/// A line of a kernel. std::source_location is not known to clang 14, which checks the style.
struct Place {
  const char* file = "";
  int line = 0;

  static Place current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

/// Waits for all lanes of the warp; returns what each has put in.
const std::uint64_t* exchange_values(std::uint64_t value, const Place&);

/// Waits for all threads of the block; tells whether any of them has put in true.
bool wait_for_block(bool value = false);

}  // namespace quietvox::emulation

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
