// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/noise_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace quietvox {
namespace {

constexpr std::int64_t most_along = 3;

/// Large enough for voxels in the middle to be filtered as in the whole volume.
Extent size_of_piece(const Extent& extent) {
  constexpr std::int64_t few_slices = 12, least = 24;
  const Extent most = extent.z < few_slices ? Extent{{64, 64, few_slices}} : Extent{{32, 32, 16}};
  const auto along = [&](int axis) { return std::min(std::clamp(extent[axis] / 3, least, most[axis]), extent[axis]); };
  return {{along(0), along(1), std::min(extent.z, most.z)}};
}

Extent count_of_pieces(const Extent& extent) {
  const Extent size = size_of_piece(extent);
  Extent count;
  for (int axis = 0; axis < 3; ++axis) count[axis] = std::min(most_along, extent[axis] / size[axis]);
  return count;
}

double mean_of(const VolumePiece& piece) {
  return std::accumulate(piece.voxels.begin(), piece.voxels.end(), 0.0) / static_cast<double>(piece.voxels.size());
}

}  // namespace

PieceKeeper::PieceKeeper(VolumeSource& source) : source_(source) {
  check_volume(source.extent(), source.spacing());
  const Extent extent = source.extent(), size = size_of_piece(extent), count = count_of_pieces(extent);
  for (std::int64_t i = 0; i < count.voxels(); ++i) {
    const Index3 number{i % count.x, i / count.x % count.y, i / count.slice()};
    VolumePiece piece{.extent = size, .voxels = std::vector<float>(static_cast<std::size_t>(size.voxels()))};
    for (int axis = 0; axis < 3; ++axis) {
      piece.origin[axis] = ((2 * number[axis] + 1) * extent[axis] / count[axis] - size[axis]) / 2;
    }
    pieces_.push_back(std::move(piece));
  }
}

void PieceKeeper::read(VolumeView<float> slices) {
  source_.read(slices);
  for (VolumePiece& piece : pieces_) {
    const std::int64_t first = std::max(piece.origin.z, slices.origin.z);
    const std::int64_t last = std::min(piece.origin.z + piece.extent.z, slices.origin.z + slices.extent.z);
    for (std::int64_t z = first; z < last; ++z) {
      float* to = piece.voxels.data() + (z - piece.origin.z) * piece.extent.slice();
      for (std::int64_t y = 0; y < piece.extent.y; ++y, to += piece.extent.x) {
        std::copy_n(slices.row(piece.origin.y + y, z - slices.origin.z) + piece.origin.x, piece.extent.x, to);
      }
    }
  }
}

std::shared_ptr<const std::vector<VolumePiece>> PieceKeeper::pieces_of_object() const {
  constexpr double most_lowest = 0.05;  // of a piece's voxels: more are a background that was cut out
  constexpr double dark = 0.15;         // of the way from the lowest voxel to the brightest piece
  constexpr std::size_t fewest = 2, most = 5;
  if (header().object_is_dark) return nullptr;
  const auto is_whole = [](const VolumePiece& piece) {
    if (!std::ranges::all_of(piece.voxels, [](float voxel) { return std::isfinite(voxel); })) return false;
    const auto lowest = std::ranges::count(piece.voxels, *std::ranges::min_element(piece.voxels));
    return static_cast<double>(lowest) <= most_lowest * static_cast<double>(piece.voxels.size());
  };
  std::vector<const VolumePiece*> whole;
  for (const VolumePiece& piece : pieces_) {
    if (is_whole(piece)) whole.push_back(&piece);
  }
  if (whole.size() < fewest) return nullptr;
  double lowest = std::numeric_limits<double>::infinity(), brightest = -lowest;
  for (const VolumePiece* const piece : whole) {
    lowest = std::min(lowest, static_cast<double>(*std::ranges::min_element(piece->voxels)));
    brightest = std::max(brightest, mean_of(*piece));
  }
  const double air = lowest + dark * (brightest - lowest);
  std::erase_if(whole, [air](const VolumePiece* piece) { return mean_of(*piece) < air; });
  if (whole.size() < fewest) return nullptr;
  std::vector<VolumePiece> kept;
  const std::size_t count = std::min(most, whole.size());
  for (std::size_t i = 0; i < count; ++i) kept.push_back(*whole[(2 * i + 1) * whole.size() / (2 * count)]);
  return std::make_shared<const std::vector<VolumePiece>>(std::move(kept));
}

std::size_t PieceKeeper::bytes(const Extent& extent) {
  return static_cast<std::size_t>(count_of_pieces(extent).voxels() * size_of_piece(extent).voxels()) * sizeof(float);
}

}  // namespace quietvox
