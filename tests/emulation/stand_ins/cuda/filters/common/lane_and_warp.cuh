// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::cuda {

inline int lane_id() { return emulation::lane(); }
inline int warp_id() { return static_cast<int>(threadIdx.x) / emulation::warp_lanes; }

}  // namespace quietvox::cuda
