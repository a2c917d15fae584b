// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "emulation/machine.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "emulation/fiber.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace quietvox::emulation {
namespace {

struct Warp {
  std::uint64_t values[2][warp_lanes];  ///< of this exchange and the one before, which some have not read yet
  Place places[warp_lanes];
  int waiting = 0;
  unsigned exchanges = 0;
};

struct Block {
  const std::function<void()>* thread = nullptr;
  std::vector<Fiber> fibers;
  std::vector<uint3> places;
  std::vector<Warp> warps;
  std::vector<float4> shared;
  std::size_t current = 0;  ///< thread
  std::size_t waiting = 0;  ///< at the barrier
  unsigned barriers = 0;
  bool any[2] = {};    ///< whether a thread has put in true: at this barrier and the one before
  bool moves = false;  ///< somebody has got further than to where he waits
  std::string failure;
};

Block block_of_launch;

constexpr std::size_t guards = 64;  ///< values beyond the shared memory, which nobody may write
constexpr unsigned char untouched = 0xff;

[[noreturn]] void fail(const std::string& what) {
  block_of_launch.failure = what;
  for (;;) Fiber::wait();
}

std::string text_of(const Place& place) { return std::string(place.file) + ":" + std::to_string(place.line); }

void start_block() {
  Block& block = block_of_launch;
  std::memset(block.shared.data(), untouched, block.shared.size() * sizeof(float4));
  std::fill(block.warps.begin(), block.warps.end(), Warp());
  block.waiting = 0;
  block.any[0] = block.any[1] = false;
  for (Fiber& fiber : block.fibers) {
    fiber.start([] {
      (*block_of_launch.thread)();
      block_of_launch.moves = true;
    });
  }
}

void run_block(std::mt19937& random) {
  Block& block = block_of_launch;
  start_block();
  std::vector<std::size_t> order(block.fibers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  while (!order.empty()) {
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(random() % order.size()), order.end());
    block.moves = false;
    for (const std::size_t thread : order) {
      block.current = thread;
      threadIdx = block.places[thread];
      block.fibers[thread].resume();
      if (!block.failure.empty()) throw std::runtime_error(std::exchange(block.failure, {}));
    }
    std::erase_if(order, [&](std::size_t thread) { return block.fibers[thread].has_ended(); });
    if (!order.empty() && !block.moves) throw std::runtime_error("threads wait for others that have ended");
  }
}

void check_guards(std::size_t shared_bytes) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(block_of_launch.shared.data());
  const std::size_t size = block_of_launch.shared.size() * sizeof(float4);
  if (!std::all_of(bytes + shared_bytes, bytes + size, [](unsigned char byte) { return byte == untouched; })) {
    throw std::runtime_error("a block writes beyond its shared memory");
  }
}

}  // namespace

void run(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread) {
  if (shared_bytes > most_shared_bytes) throw std::runtime_error("a block asks for more shared memory than there is");
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads % warp_lanes != 0 || threads > 1024) {
    throw std::runtime_error("blocks are of whole warps, at most 1024 threads");
  }
  constexpr unsigned most_across = 65535;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.y > most_across || grid.z > most_across) {
    throw std::runtime_error("a grid is of at least one block, and at most 65535 along y and z");
  }
  block_of_launch.thread = &thread;
  block_of_launch.fibers.resize(threads);
  block_of_launch.places.clear();
  for (unsigned i = 0; i < threads; ++i) {
    block_of_launch.places.push_back({i % block.x, i / block.x % block.y, i / (block.x * block.y)});
  }
  block_of_launch.warps.resize(threads / warp_lanes);
  block_of_launch.shared.resize(shared_bytes / sizeof(float4) + guards);
  blockDim = block;
  gridDim = grid;
  std::mt19937 random(1);
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
        run_block(random);
        check_guards(shared_bytes);
      }
    }
  }
}

float4* shared_memory() { return block_of_launch.shared.data(); }

int lane() { return static_cast<int>(block_of_launch.current % warp_lanes); }

const std::uint64_t* exchange_values(std::uint64_t value, const Place& place) {
  const auto own = static_cast<std::size_t>(lane());
  Warp& warp = block_of_launch.warps[block_of_launch.current / warp_lanes];
  const unsigned number = warp.exchanges;
  std::uint64_t* const values = warp.values[number % 2];
  values[own] = value;
  warp.places[own] = place;
  if (++warp.waiting < warp_lanes) {
    while (warp.exchanges == number) Fiber::wait();
    return values;
  }
  for (const Place& other : warp.places) {
    if (other.line != place.line || other.file != place.file) {
      fail("lanes of a warp wait for each other in " + text_of(place) + " and in " + text_of(other));
    }
  }
  warp.waiting = 0;
  ++warp.exchanges;
  block_of_launch.moves = true;
  return values;
}

bool wait_for_block(bool value) {
  const unsigned number = block_of_launch.barriers;
  bool& any = block_of_launch.any[number % 2];
  any = any || value;
  if (++block_of_launch.waiting < block_of_launch.fibers.size()) {
    while (block_of_launch.barriers == number) Fiber::wait();
    return any;
  }
  block_of_launch.any[(number + 1) % 2] = false;
  block_of_launch.waiting = 0;
  ++block_of_launch.barriers;
  block_of_launch.moves = true;
  return any;
}

}  // namespace quietvox::emulation
