// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/volume_view.hpp"

/// Selection networks: medians computed by a fixed sequence of minima and maxima, without a branch. The same sequence
/// serves vector lanes, scalars and GPU registers.
namespace quietvox::selection {

using Place = Triple<int>;

enum class StepKind { load, min, max, store };

/// One step of a network. Steps are numbered from 0; the operands of a step are numbers of earlier steps.
struct Step {
  StepKind kind;
  int a = -1, b = -1;  ///< operands of min and max; a alone: what is stored
  Place place{};       ///< of load: within the union of the tile's windows; of store: within the tile
};
using Network = std::vector<Step>;

/// The network that gives the median of every window of a tile of neighbouring outputs. Window sizes are odd. Output
/// (i, j, k) is the median of the voxels at i .. i + window.x - 1, and so on per axis; the network reads
/// window + tile - 1 voxels per axis.
///
/// What the windows share is sorted once: the tile is halved again and again, and at each halving the sorted list of
/// what a half's windows have in common grows by merging, while values that can no longer be a median are dropped.
/// Parts of a tile that is larger than its window share no more than their voxels.
Network median_network(Triple<int> window, Triple<int> tile);

}  // namespace quietvox::selection
