// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

inline int lane_now() { return emulation::lane(); }
inline int warp_now() { return static_cast<int>(threadIdx.x) / emulation::warp_lanes; }

}  // namespace quietvox::cuda
