// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "core/backend.hpp"

namespace quietvox {

/// The CUDA backend on `device` (-1: all of this host). Throws Error(device) with the reason where there is none; a
/// build without CUDA has none.
std::unique_ptr<Backend> make_cuda_backend(int device);

/// On these devices (0 and up), each of which takes a share of the slices. One that is named twice takes two.
std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices);

}  // namespace quietvox
