// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

// NOLINTBEGIN(bugprone-reserved-identifier): these names are those of CUDA.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(std::size_t) {}
// NOLINTEND(bugprone-reserved-identifier)
