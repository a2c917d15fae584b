// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/choice.hpp"
#include "gpu/gpu_test.hpp"
#include "support/expect_error.hpp"

namespace quietvox::test {
namespace {

bool has_device() {
  try {
    return make_cuda_backend(0) != nullptr;
  } catch (const Error&) {
    return false;
  }
}

TEST(CudaBackend, SaysWhyThereIsNone) {
  if (has_device()) GTEST_SKIP() << "this machine has a CUDA device";
  for (const char* choice : {"cuda", "cuda:0", "cuda:3"}) {
    expect_error(Errc::device, "use backend cpu", [&] { make_backend(choice); });
  }
}

TEST(CudaBackend, AutoTakesTheCpuWhereThereIsNone) {
  if (has_device()) GTEST_SKIP() << "this machine has a CUDA device";
  EXPECT_EQ(make_backend("auto")->name(), "cpu");
}

TEST(CudaBackend, RefusesWordsThatAreNoDevice) {
  for (const char* choice : {"cuda:", "cuda:-1", "cuda:x", "gpu"}) {
    expect_error(Errc::invalid_argument, "cuda:N", [&] { make_backend(choice); });
  }
}

using CudaDevice = GpuTest;

TEST_F(CudaDevice, IsTakenByAuto) { EXPECT_TRUE(make_backend("auto")->name().starts_with("cuda")); }

TEST_F(CudaDevice, HasEveryFilter) {
  for (const Filter& filter : filters()) {
    EXPECT_TRUE(choose_backend("auto", std::vector{FilterConfig(filter)}).backend->name().starts_with("cuda"))
        << filter.name;
  }
}

TEST_F(CudaDevice, IsTakenForLittleWhereAskedForByName) {
  EXPECT_TRUE(BackendSelector("cuda:0", {}).of([] { return 0.0; }).name().starts_with("cuda:0"));
}

TEST_F(CudaDevice, IsNamed) { EXPECT_TRUE(backend->name().starts_with("cuda:0 (")) << backend->name(); }

TEST_F(CudaDevice, OfAHighNumberDoesNotExist) {
  expect_error(Errc::device, "there is no CUDA device 4711", [] { make_backend("cuda:4711"); });
}

}  // namespace
}  // namespace quietvox::test
