// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

/// The CUDA calls that opening a device makes, on devices as a test wants them: machines of several GPUs, of which some
/// are full, old or not ours, are not to be had for a test.
namespace quietvox::test {

struct MadeUpDevice {
  std::string name = "Made-up GPU";
  int major = 9;
  bool has_pools = true;
  cudaError_t state = cudaSuccess;  ///< what making it current answers
  bool has_code = true;             ///< for its architecture, in this build
  int pools = 0;                    ///< that are there now
};

/// The devices there are. What the calling thread has current is the first one from now on, and no error is pending.
std::vector<MadeUpDevice>& set_devices(std::vector<MadeUpDevice> devices);

}  // namespace quietvox::test
