# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets QUIETVOX_HAS_CUDA and, unless CMAKE_CUDA_ARCHITECTURES is given, the architectures: those of the GPUs of this
# machine where there are any, else 80 with PTX, which the driver translates for newer GPUs. Older ones lack instructions
# of the kernels.
set(QUIETVOX_HAS_CUDA OFF)
if(NOT QUIETVOX_CUDA STREQUAL OFF)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
      execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                      OUTPUT_VARIABLE gpus RESULT_VARIABLE status ERROR_QUIET)
      set(CMAKE_CUDA_ARCHITECTURES 80)
      if(status EQUAL 0 AND gpus MATCHES "(^|\n)[0-7]\\.")
        message(STATUS "quietvox: a GPU of this machine is older than compute capability 8.0 and not used")
      elseif(status EQUAL 0 AND gpus)
        set(CMAKE_CUDA_ARCHITECTURES native)
      endif()
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know the C++20 flag of nvcc.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    set(QUIETVOX_HAS_CUDA ON)
  elseif(QUIETVOX_CUDA STREQUAL ON)
    message(FATAL_ERROR "QUIETVOX_CUDA is ON, but no nvcc was found; install the CUDA toolkit or set CUDACXX")
  endif()
endif()
message(STATUS "quietvox: CUDA backend ${QUIETVOX_HAS_CUDA} ${CMAKE_CUDA_ARCHITECTURES}")
