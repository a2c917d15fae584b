// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/backend.hpp"

namespace quietvox {

std::unique_ptr<Backend> make_cuda_backend(std::span<const int>) {
  throw Error(Errc::device, "this build has no CUDA backend",
              "build it where nvcc is installed, or use " + Parameter{"backend", "cpu"});
}

std::unique_ptr<Backend> make_cuda_backend(int) { return make_cuda_backend(std::span<const int>()); }

}  // namespace quietvox
