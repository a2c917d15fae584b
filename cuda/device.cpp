// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.hpp"

#include <map>

#include "core/error.hpp"

namespace quietvox::cuda {
namespace {

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    throw Error(Errc::device, driver == 0
                                  ? "no CUDA device can be used: the NVIDIA driver is not installed; use --backend cpu"
                                  : "no CUDA device can be used: the NVIDIA driver supports CUDA " +
                                        cuda_version(driver) + ", this build needs " + cuda_version(CUDART_VERSION) +
                                        " or later; update the driver or use --backend cpu");
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    throw Error(Errc::device, "no CUDA device was found on this machine; use --backend cpu");
  }
  if (status != cudaSuccess) {
    throw Error(Errc::device,
                std::string("no CUDA device can be used: ") + cudaGetErrorString(status) + "; use --backend cpu");
  }
  return count;
}

std::string device_name(int index) {
  cudaDeviceProp properties;
  QV_CUDA(cudaGetDeviceProperties(&properties, index));
  return properties.name;
}

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  QV_CUDA(cudaDeviceGetAttribute(&value, which, index));
  return value;
}

/// Throws Error(device) where the kernels or their buffers ask for more than a device offers.
void check_abilities(int index) {
  const int major = attribute(cudaDevAttrComputeCapabilityMajor, index);
  if (major < 8) {
    throw Error(Errc::device, "its compute capability is " + std::to_string(major) + "." +
                                  std::to_string(attribute(cudaDevAttrComputeCapabilityMinor, index)) +
                                  ", and 8.0 is the least");
  }
  if (attribute(cudaDevAttrMemoryPoolsSupported, index) == 0) {
    throw Error(Errc::device, "it offers no memory pools, as some virtual GPUs do not");
  }
}

std::shared_ptr<const MemoryPool> pool_of(int index) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const MemoryPool>> pools;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const MemoryPool> pool = pools[index].lock();
  if (!pool) pools[index] = pool = std::make_shared<const MemoryPool>(index);
  return pool;
}

/// Whatever stands in the way is an Error(device), so that `auto` takes the CPU: also a device that others have filled.
std::unique_ptr<Device> open_device(int index) {
  std::string label = "cuda:" + std::to_string(index);
  try {
    label += " (" + device_name(index) + ")";
    check_abilities(index);
    const CurrentDevice current(index);
    check_architecture();
    return std::make_unique<Device>(index);
  } catch (const Error& error) {
    throw Error(Errc::device, label + " cannot be used: " + error.what() + "; use --backend cpu");
  }
}

}  // namespace

CurrentDevice::CurrentDevice(int index) {
  QV_CUDA(cudaGetDevice(&previous_));
  try {
    QV_CUDA(cudaSetDevice(index));
  } catch (const Error&) {
    go_back();
    throw;
  }
}

void CurrentDevice::go_back() const {
  cudaSetDevice(previous_);
  cudaGetLastError();  // the previous device may be full or not ours, which is no fault of what was done with this one
}

Device::Device(int device)
    : index(device),
      name(device_name(device)),
      multiprocessors(attribute(cudaDevAttrMultiProcessorCount, device)),
      pool(pool_of(device)) {}

std::vector<std::unique_ptr<Device>> open_devices(int index) {
  const int count = device_count();
  if (index >= count) {
    throw Error(
        Errc::device,
        "there is no CUDA device " + std::to_string(index) + ": this machine has " +
            (count == 1 ? "one, cuda:0" : std::to_string(count) + ", cuda:0 to cuda:" + std::to_string(count - 1)));
  }
  std::vector<std::unique_ptr<Device>> devices;
  if (index >= 0) {
    devices.push_back(open_device(index));
    return devices;
  }
  std::string why;
  for (int i = 0; i < count; ++i) {
    try {
      auto device = open_device(i);
      if (devices.empty() || device->name == devices.front()->name) devices.push_back(std::move(device));
    } catch (const Error& error) {
      if (why.empty()) why = error.what();
    }
  }
  if (devices.empty()) throw Error(Errc::device, why);
  return devices;
}

}  // namespace quietvox::cuda
