// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/resources.hpp"

namespace quietvox::cuda {

/// Makes a device the calling thread's current one until the end of the scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index);
  ~CurrentDevice() { cudaSetDevice(previous_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int previous_ = 0;
};

/// One GPU, and what is kept for it between calls. It must be the current device where this is made and used. Who uses
/// its members holds `mutex`.
struct Device {
  explicit Device(int index);

  int index;
  std::string name;  ///< as the driver gives it: `NVIDIA H200`
  int multiprocessors;
  std::mutex mutex;
  MemoryPool pool;
  Stream upload, compute, download;
  std::array<PinnedBuffer, 2> upload_staging, download_staging;
};

/// The device of that number, or every device of this host that this build can use for -1. Throws Error(device) with
/// the reason where there is none.
std::vector<std::unique_ptr<Device>> open_devices(int index);

/// Throws Error(device) where this build has no code for the current device.
void check_architecture(const std::string& device_name);

}  // namespace quietvox::cuda
