// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace quietvox::cuda {

/// Turns a failed CUDA call into Error(out_of_memory) or Error(device) that names the call, and clears the error so
/// that the next call does not report it again.
void check(cudaError_t status, const char* call);

}  // namespace quietvox::cuda

#define QV_CUDA(call) ::quietvox::cuda::check((call), #call)
