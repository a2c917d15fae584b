// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "devices/made_up_runtime.hpp"

#include <cstring>

#include "core/error.hpp"
#include "cuda/device.hpp"

namespace quietvox::test {
namespace {

std::vector<MadeUpDevice> devices;
int current = 0;
cudaError_t pending = cudaSuccess;

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) pending = status;
  return status;
}

MadeUpDevice& of(cudaMemPool_t pool) { return *reinterpret_cast<MadeUpDevice*>(pool); }

}  // namespace

std::vector<MadeUpDevice>& set_devices(std::vector<MadeUpDevice> now) {
  devices = std::move(now);
  current = 0;
  pending = cudaSuccess;
  return devices;
}

}  // namespace quietvox::test

namespace quietvox::cuda {

void check_architecture() {
  if (!test::devices[static_cast<std::size_t>(test::current)].has_code) throw Error(Errc::device, "no code");
}

}  // namespace quietvox::cuda

using namespace quietvox::test;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(devices.size());
  return devices.empty() ? answer(cudaErrorNoDevice) : cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return std::exchange(pending, cudaSuccess); }
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorDevicesUnavailable ? "busy or unavailable" : "another error";
}
cudaError_t cudaGetDevice(int* index) {
  *index = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
  current = index;
  return answer(devices[static_cast<std::size_t>(index)].state);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  std::strncpy(properties->name, devices[static_cast<std::size_t>(index)].name.c_str(), sizeof properties->name - 1);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int index) {
  const MadeUpDevice& device = devices[static_cast<std::size_t>(index)];
  *value = which == cudaDevAttrComputeCapabilityMajor ? device.major
           : which == cudaDevAttrMemoryPoolsSupported ? device.has_pools
                                                      : 5;
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  MadeUpDevice& device = devices[static_cast<std::size_t>(properties->location.id)];
  ++device.pools;
  *pool = reinterpret_cast<cudaMemPool_t>(&device);
  return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  --of(pool).pools;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t*, std::size_t*) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaHostAlloc(void**, std::size_t, unsigned) { return cudaSuccess; }
cudaError_t cudaFreeHost(void*) { return cudaSuccess; }

}  // extern "C"
