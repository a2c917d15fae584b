// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/device.hpp"

#include <optional>

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
    throw Error(Errc::device,
                driver == 0 ? std::string("no CUDA device can be used: the NVIDIA driver is not installed")
                            : "no CUDA device can be used: the NVIDIA driver supports CUDA " + cuda_version(driver) +
                                  ", this build needs " + cuda_version(CUDART_VERSION) + " or later",
                "update the driver or use " + Parameter{"backend", "cpu"});
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    throw Error(Errc::device, "no CUDA device was found on this machine", "use " + Parameter{"backend", "cpu"});
  }
  if (status != cudaSuccess) {
    throw Error(Errc::device, std::string("no CUDA device can be used: ") + cudaGetErrorString(status),
                "use " + Parameter{"backend", "cpu"});
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

}  // namespace

CurrentDevice::CurrentDevice(int index) {
  QV_CUDA(cudaGetDevice(&previous_));
  QV_CUDA(cudaSetDevice(index));
}

Device::Device(int device)
    : index(device),
      name(device_name(device)),
      multiprocessors(attribute(cudaDevAttrMultiProcessorCount, device)),
      pool(device) {
  check_architecture(name);
}

std::vector<std::unique_ptr<Device>> open_devices(int index) {
  const int count = device_count();
  if (index >= count) {
    throw Error(
        Errc::device,
        "there is no CUDA device " + std::to_string(index) + ": this machine has " +
            (count == 1 ? "one, cuda:0" : std::to_string(count) + ", cuda:0 to cuda:" + std::to_string(count - 1)));
  }
  std::vector<std::unique_ptr<Device>> devices;
  const int first = index < 0 ? 0 : index, last = index < 0 ? count : index + 1;
  std::optional<Error> problem;  // of the first that cannot be used
  for (int i = first; i < last; ++i) {
    try {
      const CurrentDevice current(i);
      devices.push_back(std::make_unique<Device>(i));
    } catch (const Error& error) {
      if (!problem) problem = error;
    }
  }
  if (devices.empty()) throw Error(*problem);
  return devices;
}

}  // namespace quietvox::cuda
