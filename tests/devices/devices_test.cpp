// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cuda/device.hpp"
#include "devices/made_up_runtime.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {

using cuda::open_devices;

std::vector<int> opened(int index) {
  std::vector<int> indices;
  for (const auto& device : open_devices(index)) indices.push_back(device->index);
  return indices;
}

TEST(Devices, AllThatAreAlikeAreOpened) {
  set_devices({{}, {}, {}});
  EXPECT_EQ(opened(-1), (std::vector{0, 1, 2}));
  EXPECT_EQ(opened(1), std::vector{1});
  expect_error(Errc::device, "there is no CUDA device 3: this machine has 3, cuda:0 to cuda:2", [] { opened(3); });
}

TEST(Devices, OneThatCannotBeUsedDoesNotSpoilTheOthers) {
  set_devices({{.state = cudaErrorMemoryAllocation}, {}, {.major = 7}, {.has_pools = false}, {.has_code = false}, {}});
  EXPECT_EQ(opened(-1), (std::vector{1, 5}));
}

TEST(Devices, ThoseOfAnotherNameAreLeftOut) {
  set_devices({{.name = "Old", .major = 7}, {.name = "Large"}, {.name = "Small"}, {.name = "Large"}});
  EXPECT_EQ(opened(-1), (std::vector{1, 3}));
  EXPECT_EQ(opened(2), std::vector{2});
}

/// Error(device) is what `--backend auto` takes the CPU for.
TEST(Devices, SayWhyTheyCannotBeUsed) {
  set_devices({{.name = "Full", .state = cudaErrorMemoryAllocation},
               {.name = "Taken", .state = cudaErrorDevicesUnavailable},
               {.name = "Old", .major = 7},
               {.name = "Virtual", .has_pools = false},
               {.name = "New", .has_code = false}});
  const char* full = "cuda:0 (Full) cannot be used: CUDA: cudaSetDevice: not enough memory";
  expect_error(Errc::device, full, [] { opened(0); });
  expect_error(Errc::device, full, [] { opened(-1); });
  expect_error(Errc::device,
               "cuda:1 (Taken) cannot be used: CUDA: cudaSetDevice: busy or unavailable; use --backend cpu",
               [] { opened(1); });
  expect_error(Errc::device, "cuda:2 (Old) cannot be used: its compute capability is 7.5, and 8.0 is the least; use",
               [] { opened(2); });
  expect_error(Errc::device, "cuda:3 (Virtual) cannot be used: it offers no memory pools", [] { opened(3); });
  expect_error(Errc::device, "cuda:4 (New) cannot be used: no code; use --backend cpu", [] { opened(4); });
  set_devices({});
  expect_error(Errc::device, "no CUDA device was found on this machine; use --backend cpu", [] { opened(-1); });
}

/// The first device is what a thread has current before it asks for another, and has current again afterwards.
TEST(Devices, AFullFirstOneLeavesNoErrorToOthers) {
  set_devices({{.state = cudaErrorMemoryAllocation}, {}});
  EXPECT_EQ(opened(1), std::vector{1});
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  int current = -1;
  cudaGetDevice(&current);
  EXPECT_EQ(current, 0);
  set_devices({{}, {.state = cudaErrorMemoryAllocation}});
  EXPECT_EQ(opened(-1), std::vector{0});
  cudaGetDevice(&current);
  EXPECT_EQ(current, 0);
}

TEST(Devices, OnesPoolIsThatOfAllWhoOpenIt) {
  const std::vector<MadeUpDevice>& devices = set_devices({{}, {}});
  auto first = open_devices(0);
  const auto all = open_devices(-1);
  EXPECT_EQ(first[0]->pool, all[0]->pool);
  EXPECT_NE(all[0]->pool, all[1]->pool);
  EXPECT_EQ(devices[0].pools, 1);
  first.clear();
  EXPECT_EQ(devices[0].pools, 1);
}

TEST(Devices, OnesPoolGoesWithTheLastOfItsUsers) {
  const std::vector<MadeUpDevice>& devices = set_devices({{}});
  (void)open_devices(0);
  EXPECT_EQ(devices[0].pools, 0);
  EXPECT_EQ(opened(0), std::vector{0});
}

}  // namespace
}  // namespace quietvox::test
