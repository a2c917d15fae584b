// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "core/execution.hpp"
#include "cuda/device.hpp"

namespace quietvox::cuda {

/// Copies from host memory to the device, queued on the upload stream. Memory that is not page-locked goes through two
/// pinned buffers in turn: one is filled while the other is on the bus.
class Upload {
 public:
  Upload(Device& device, const Execution& execution) : device_(device), execution_(execution) {}
  void copy(void* device_data, const void* host_data, std::size_t bytes);

 private:
  Device& device_;
  const Execution& execution_;
  std::array<Event, 2> sent_;
  std::size_t turn_ = 0;
};

/// Copies from the device to host memory, queued on the download stream, likewise. The host's memory is complete after
/// `finish`.
class Download {
 public:
  Download(Device& device, const Execution& execution) : device_(device), execution_(execution) {}
  void copy(void* host_data, const void* device_data, std::size_t bytes);
  void finish();

 private:
  struct Pending {
    Event arrived;
    void* host_data = nullptr;
    const void* staged = nullptr;
    std::size_t bytes = 0;
  };
  void deliver(Pending&);

  Device& device_;
  const Execution& execution_;
  std::array<Pending, 2> pending_;
  std::size_t turn_ = 0;
};

}  // namespace quietvox::cuda
