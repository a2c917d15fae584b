// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "emulation/machine.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulation/language.hpp"

namespace quietvox::test {
namespace {

constexpr unsigned all_lanes = ~0U;

/// What run() throws, or nothing.
template <class Kernel>
std::string failure(const Kernel& kernel, unsigned threads = 64, std::size_t shared_bytes = 1024) {
  try {
    emulation::run(1, threads, shared_bytes, kernel);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

float* shared_floats() { return reinterpret_cast<float*>(emulation::shared_memory()); }

TEST(EmulatedMachine, RunsEveryThreadOfEveryBlock) {
  std::vector<int> seen(2 * 3 * 2 * 64);
  emulation::run(dim3(2, 3, 2), dim3(16, 2, 2), 0, [&] {
    const unsigned block = (blockIdx.z * 3 + blockIdx.y) * 2 + blockIdx.x;
    ++seen[block * 64 + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  });
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(EmulatedMachine, LanesOfAWarpExchangeValues) {
  std::vector<int> from(64), other(64), below(64);
  std::vector<unsigned> odd(64), alike(64);
  EXPECT_EQ(failure([&] {
              const unsigned thread = threadIdx.x;
              const int value = static_cast<int>(thread);
              from[thread] = __shfl_sync(all_lanes, value, 5);
              other[thread] = __shfl_xor_sync(all_lanes, value, 4);
              below[thread] = __shfl_up_sync(all_lanes, value, 2);
              odd[thread] = __ballot_sync(all_lanes, value % 2 != 0);
              alike[thread] = __match_any_sync(all_lanes, value % 4);
            }),
            "");
  for (int i = 0; i < 64; ++i) {
    const auto thread = static_cast<std::size_t>(i);
    EXPECT_EQ(from[thread], i / 32 * 32 + 5);
    EXPECT_EQ(other[thread], i ^ 4);
    EXPECT_EQ(below[thread], i % 32 < 2 ? i : i - 2);
    EXPECT_EQ(odd[thread], 0xaaaaaaaaU);
    EXPECT_EQ(alike[thread], 0x11111111U << (i % 4));
  }
}

/// Each thread reads what another has written.
float sum_of_neighbours(bool waits) {
  float sum = 0;
  EXPECT_EQ(failure([&] {
              shared_floats()[threadIdx.x] = 1;
              if (waits) __syncthreads();
              sum += shared_floats()[(threadIdx.x + 40) % 64];
            }),
            "");
  return sum;
}

TEST(EmulatedMachine, ShowsThatABarrierIsMissing) {
  EXPECT_EQ(sum_of_neighbours(true), 64);
  EXPECT_TRUE(std::isnan(sum_of_neighbours(false)));
}

TEST(EmulatedMachine, RefusesLanesThatWaitInDifferentPlaces) {
  const auto kernel = [] {
    if (threadIdx.x < 7) {
      __syncwarp();
    } else {
      __shfl_sync(all_lanes, 0, 0);
    }
  };
  EXPECT_EQ(failure(kernel).find("lanes of a warp wait for each other in "), 0U) << failure(kernel);
}

TEST(EmulatedMachine, RefusesToWaitForThreadsThatHaveEnded) {
  const std::string expected = "threads wait for others that have ended";
  EXPECT_EQ(failure([] {
              if (threadIdx.x != 7) __syncwarp();
            }),
            expected);
  EXPECT_EQ(failure([] {
              if (threadIdx.x < 32) __syncthreads();
            }),
            expected);
}

TEST(EmulatedMachine, RefusesWritesBeyondSharedMemory) {
  EXPECT_EQ(failure([] { shared_floats()[255] = 1; }), "");
  EXPECT_EQ(failure([] { shared_floats()[256] = 1; }), "a block writes beyond its shared memory");
}

TEST(EmulatedMachine, RefusesWhatNoDeviceTakes) {
  const auto nothing = [] {};
  EXPECT_EQ(failure(nothing, 1024, emulation::most_shared_bytes), "");
  EXPECT_NE(failure(nothing, 64, emulation::most_shared_bytes + 1), "");
  EXPECT_NE(failure(nothing, 33), "");
  EXPECT_NE(failure(nothing, 1056), "");
  EXPECT_THROW(emulation::run(dim3(1, 65536), 32, 0, nothing), std::runtime_error);
  EXPECT_THROW(emulation::run(dim3(0), 32, 0, nothing), std::runtime_error);
}

}  // namespace
}  // namespace quietvox::test
