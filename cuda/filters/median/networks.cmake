# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# The selection networks of the CUDA median: window and tile, ZxYxX. One source file each, so that they compile side by
# side. The tiles are the largest whose values stay in registers.
set(networks
  1x3x3 1x3x2
  1x5x5 1x4x4
  1x7x7 1x4x4
  1x9x9 1x4x4
  1x11x11 1x4x4
  1x13x13 1x4x4
  1x15x15 1x5x2
  3x3x3 2x3x2
  3x5x5 2x4x2
  5x5x5 2x2x2
  3x7x7 1x4x2)
quietvox_median_networks(quietvox_cuda ${networks})

set(declarations "")
set(calls "")
set(templates ${CMAKE_CURRENT_LIST_DIR})
set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
while(networks)
  list(POP_FRONT networks window tile)
  string(REGEX REPLACE "([0-9]+)x([0-9]+)x([0-9]+)" "\\3, \\2, \\1" window_xyz ${window})
  string(REGEX REPLACE "([0-9]+)x([0-9]+)x([0-9]+)" "\\3, \\2, \\1" tile_xyz ${tile})
  configure_file(${templates}/network.cu.in ${folder}/median_network_${window}.cu @ONLY)
  target_sources(quietvox_cuda PRIVATE ${folder}/median_network_${window}.cu)
  string(APPEND declarations "MedianNetwork median_network_${window}();\n")
  string(APPEND calls "median_network_${window}(), ")
endwhile()
configure_file(${templates}/networks.cu.in ${folder}/median_networks.cu @ONLY)
target_sources(quietvox_cuda PRIVATE ${folder}/median_networks.cu)
