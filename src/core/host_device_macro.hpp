// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function that both backends use: compiled for the device too where nvcc reads it.
#ifdef __CUDACC__
#define QV_HD __host__ __device__ __forceinline__
#else
#define QV_HD inline
#endif
