# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# The selection networks of the CUDA median: window, ZxYxX, and for floats and for 16-bit integers the tile, the percentage
# of maxima made by sums (BalancedLanes), the threads of a block, 256 for those that run in step, and the blocks that a
# multiprocessor must hold at least, 0 where the compiler may choose. One source file for each window, so that they
# compile side by side. The tiles are the largest whose values stay in registers and whose instructions stay in a cache of
# 128 KiB; all was chosen by measuring.
set(all
  1x1x3    1x1x4  0 128 0  1x1x4  0 128 0
  1x1x5    1x1x4  0 128 0  1x1x4  0 128 0
  1x1x7    1x1x4 70 128 0  1x1x4 70 128 0
  1x1x9    1x1x4 70 128 0  1x1x4 70 128 0
  1x1x15   1x1x8 70 128 0  1x1x8 70 128 0
  1x3x1    1x4x2  0 128 0  1x4x2  0 128 0
  1x5x1    1x4x2  0 128 0  1x4x2  0 128 0
  1x7x1    1x4x2 70 128 0  1x4x2 70 128 0
  1x9x1    1x4x2 70 128 0  1x4x2 70 128 0
  3x1x1    4x1x2  0 128 0  4x1x2  0 128 0
  5x1x1    4x1x2  0 128 0  4x1x2  0 128 0
  7x1x1    4x1x2 70 128 0  4x1x2 70 128 0
  9x1x1    4x1x2 70 128 0  4x1x2 70 128 0
  1x3x3    1x3x2 80 128 0  1x3x2 80 128 12
  1x5x5    1x4x4 75 128 0  1x4x4 75 128 0
  1x7x7    1x4x2 70 128 4  1x4x2 75 128 4
  1x9x9    1x4x2 70 128 4  1x4x4 70 128 1
  1x11x11  1x4x4 70 256 1  1x4x4 70 128 1
  1x13x13  1x3x4 50 128 1  1x3x4 50 256 1
  1x15x15  1x5x2  0 128 1  1x5x2  0 128 1
  3x3x3    2x3x2 70 128 0  2x3x2 70 128 1
  3x5x5    2x4x2 70 256 1  2x4x2 60 256 1
  5x5x5    1x4x2 65 256 1  2x2x2 60 256 1
  3x7x7    1x4x2 70 256 1  1x4x2 50 256 1)

# Windows whose networks of 16-bit voxels take the smallest or the largest of three in one instruction, where they can.
set(joined 1x7x7 1x9x9 1x11x11 1x13x13 1x15x15 3x5x5 5x5x5 3x7x7)

# Windows with a kernel for small volumes of floats as well.
set(small 1x1x3 1x1x5 1x3x1 1x5x1 3x1x1 5x1x1 1x3x3 1x5x5 1x7x7 3x3x3)

# Adds the network of `window` and `tile` to `networks`, and the header that it needs to `includes`.
function(quietvox_cuda_network type window tile sums threads blocks)
  set(function median_${window}_tile_${tile})
  set(option "")
  if(type EQUAL 16 AND window IN_LIST joined)
    set(option JOINED)
    string(APPEND function _joined)
  endif()
  if(NOT includes MATCHES "${function}\\.")
    quietvox_median_networks(quietvox_cuda ${option} ${window} ${tile})
    set(includes "${includes}#include \"selection/${function}.inc\"\n" PARENT_SCOPE)
  endif()
  string(REGEX REPLACE "([0-9]+)x([0-9]+)x([0-9]+)" "\\3, \\2, \\1" window_xyz ${window})
  string(REGEX REPLACE "([0-9]+)x([0-9]+)x([0-9]+)" "\\3, \\2, \\1" tile_xyz ${tile})
  set(networks "${networks}
struct Network_${type} {
  static constexpr Triple<int> window{${window_xyz}}, tile{${tile_xyz}};
  static constexpr int sums = ${sums}, threads = ${threads}, blocks = ${blocks};
  template <class Ops, class Load, class Store>
  static __device__ void run(const Load& load, const Store& store) {
    ${function}<Ops>(load, store);
  }
};
" PARENT_SCOPE)
endfunction()

set(declarations "")
set(calls "")
set(small_calls "")
set(templates ${CMAKE_CURRENT_LIST_DIR})
set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
while(all)
  list(POP_FRONT all window)
  set(includes "")
  set(networks "")
  foreach(type f32 16)
    list(POP_FRONT all tile sums threads blocks)
    quietvox_cuda_network(${type} ${window} ${tile} ${sums} ${threads} ${blocks})
  endforeach()
  set(header network)
  set(small_median "")
  if(window IN_LIST small)
    set(header small_volume)
    set(small_median "SmallMedian small_median_${window}() { return make_small_median<Network_f32>(); }\n")
    string(APPEND declarations "SmallMedian small_median_${window}();\n")
    string(APPEND small_calls "small_median_${window}(), ")
  endif()
  configure_file(${templates}/network.cu.in ${folder}/median_network_${window}.cu @ONLY)
  target_sources(quietvox_cuda PRIVATE ${folder}/median_network_${window}.cu)
  string(APPEND declarations "MedianNetwork median_network_${window}();\n")
  string(APPEND calls "median_network_${window}(), ")
endwhile()
configure_file(${templates}/networks.cu.in ${folder}/median_networks.cu @ONLY)
target_sources(quietvox_cuda PRIVATE ${folder}/median_networks.cu)
