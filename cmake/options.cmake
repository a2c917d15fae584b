# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
option(QUIETVOX_BUILD_TESTS "Build the tests" ON)
option(QUIETVOX_BUILD_BENCHMARKS "Build the benchmarks" ON)
option(QUIETVOX_BUILD_PYTHON "Build the Python module" ON)
option(QUIETVOX_WITH_OPENCV "Measure OpenCV's filters in `quietvox benchmark` too" OFF)
option(QUIETVOX_BUILD_FUZZERS "Build the fuzzers of tests/fuzz; needs clang (preset fuzz)" OFF)
set(QUIETVOX_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (where nvcc is found), ON, OFF")
set(QUIETVOX_TEST_DATA ${PROJECT_SOURCE_DIR}/../shared/data CACHE PATH
  "Folder of real scans for the tests; tests that need it are skipped where it is absent")
set(QUIETVOX_SANITIZE "" CACHE STRING "Sanitizers to build with, as for -fsanitize=: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # for clang-tidy
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Debian's ITK was configured for GCC and refuses clang in two headers. This stands for what they would have defined.
  add_compile_options(-DITK_COMPILER_DETECTION_H -DITK_NOEXCEPT=noexcept -DVXL_COMPILER_DETECTION_H
    "-DVXL_DEPRECATED_MSG(text)=")
endif()

# What every target of the project is compiled with.
add_library(quietvox_options INTERFACE)
target_compile_options(quietvox_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
if(QUIETVOX_SANITIZE)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
  target_compile_options(quietvox_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${QUIETVOX_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  target_link_options(quietvox_options INTERFACE -fsanitize=${QUIETVOX_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  # Hardening: damaged or hostile files meet these checks if they get past ours. bench/NOTES.md says what it costs.
  target_compile_options(quietvox_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong> $<$<COMPILE_LANGUAGE:CXX>:-U_FORTIFY_SOURCE>
    $<$<COMPILE_LANGUAGE:CXX>:-D_FORTIFY_SOURCE=2> $<$<COMPILE_LANGUAGE:CXX>:-D_GLIBCXX_ASSERTIONS>)
  target_link_options(quietvox_options INTERFACE -Wl,-z,relro,-z,now)
endif()

# Standard headers take a third of the compile time of most sources. Each still includes what it uses: builds with
# sanitizers have no precompiled headers, and show what is missing.
set(QUIETVOX_PRECOMPILED <algorithm> <array> <cmath> <filesystem> <functional> <map> <memory> <optional> <set> <span>
  <sstream> <string> <vector>)

include(CheckPIESupported)
check_pie_supported(LANGUAGES C CXX)
