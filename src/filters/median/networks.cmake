# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
# Included by src/CMakeLists.txt: custom commands serve only targets of their own folder.
set(selection ${CMAKE_CURRENT_LIST_DIR})
set(generator ${selection}/generator)
add_library(quietvox_selection STATIC ${generator}/network.cpp)
target_include_directories(quietvox_selection PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(quietvox_selection PRIVATE quietvox_options)
add_executable(quietvox_generate_median ${generator}/generate.cpp)
target_link_libraries(quietvox_generate_median PRIVATE quietvox_selection quietvox_options)

# quietvox_median_networks(TARGET [JOINED] WINDOW TILE [WINDOW TILE]...): makes the networks, sizes written ZxYxX, which
# TARGET includes as `selection/median_WINDOW_tile_TILE.inc` within a namespace of its own, after
# core/host_device_macro.hpp.
# Each holds one function,
#
#     template <class Ops, class Load, class Store>
#     QV_HD void median_WINDOW_tile_TILE(const Load& load, const Store& store);
#
# which calls load(z, y, x), 0 <= z < WINDOW.z + TILE.z - 1 and so on, once for each voxel that its windows cover, and
# store(z, y, x, median) once for each output of the tile. Ops names the type Value and has min, max and
# larger(N, a, b, smaller), the larger of two whose smaller one is known; N counts these, from 0. Networks that are JOINED
# have `_joined` at the end of both names, and take min3 and max3 of three values too.
function(quietvox_median_networks target)
  set(suffix "")
  set(joined "")
  if(ARGV1 STREQUAL JOINED)
    list(POP_FRONT ARGN)
    set(suffix _joined)
    set(joined joined)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${folder}/selection)
  target_include_directories(${target} PRIVATE ${folder})
  while(ARGN)
    list(POP_FRONT ARGN window tile)
    set(file ${folder}/selection/median_${window}_tile_${tile}${suffix}.inc)
    add_custom_command(OUTPUT ${file} DEPENDS quietvox_generate_median
      COMMAND quietvox_generate_median ${window} ${tile} ${file} ${joined}
      COMMENT "Selection network ${window}, tile ${tile}" VERBATIM)
    target_sources(${target} PRIVATE ${file})
  endwhile()
endfunction()

# quietvox_network_group(NAME WINDOW TILE [WINDOW TILE]...): a translation unit with these networks for the CPU's
# vectors. Groups keep compile times level. Sanitizers check the small ones: large ones are the same code, and would
# take minutes each.
set(groups "")
set(sanitized_groups small lines shapes)
function(quietvox_network_group group)
  quietvox_median_networks(quietvox_filters ${ARGN})
  set(includes "")
  set(networks "")
  while(ARGN)
    list(POP_FRONT ARGN window tile)
    string(APPEND includes "#include \"selection/median_${window}_tile_${tile}.inc\"\n")
    string(APPEND networks "QV_NETWORK(${window}, ${tile})\n")
  endwhile()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/generated/selection/network_group_${group}.cpp)
  configure_file(${selection}/network_group.cpp.in ${source} @ONLY)
  target_sources(quietvox_filters PRIVATE ${source})
  set(options -O2)
  if(QUIETVOX_SANITIZE AND NOT group IN_LIST sanitized_groups)
    list(APPEND options -fno-sanitize=all)
  endif()
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${options}")
  set(groups "${groups}QV_GROUP(${group})\n" PARENT_SCOPE)
endfunction()

# Boxes. The last axis of the tile lies along the vectors' phases, so that it is 1, 2 or 4.
quietvox_network_group(small 1x3x3 1x2x2 1x5x5 1x4x4 1x7x7 1x4x4 3x3x3 2x2x2)
quietvox_network_group(9x9 1x9x9 1x4x4)
quietvox_network_group(11x11 1x11x11 1x4x4)
quietvox_network_group(13x13 1x13x13 1x4x4)
quietvox_network_group(15x15 1x15x15 1x4x4)
quietvox_network_group(5x5x5 3x5x5 2x2x2 5x5x5 2x2x2)
quietvox_network_group(3x7x7 3x7x7 2x2x2)
# Rows, columns and lines across slices; and windows of any shape with as many voxels, one output at a time.
set(lines 1x1x3 1x1x2)
set(shapes "")
foreach(size RANGE 5 31 2)
  list(APPEND lines 1x1x${size} 1x1x4)
endforeach()
foreach(size RANGE 3 31 2)
  list(APPEND shapes 1x1x${size} 1x1x1)
endforeach()
quietvox_network_group(lines ${lines})
quietvox_network_group(shapes ${shapes})
file(CONFIGURE OUTPUT generated/selection/network_groups.inc CONTENT "${groups}")

# Of x86 vectors SSE4, AVX2 and AVX-512 are worth their compile time.
target_compile_definitions(quietvox_filters PRIVATE HWY_DISABLED_TARGETS=HWY_SSSE3)
