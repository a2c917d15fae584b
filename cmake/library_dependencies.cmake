# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# What the libraries need, but for ITK; users of the installed package need the same, and read this file too.
# `quietvox_want` is REQUIRED or QUIET; then `quietvox_missing` names what is not there.
set(quietvox_missing "")
foreach(package Threads TBB ZLIB OpenSSL DCMTK nlohmann_json PkgConfig)
  find_package(${package} ${quietvox_want})
  if(NOT ${package}_FOUND)
    list(APPEND quietvox_missing ${package})
  endif()
endforeach()
if(PkgConfig_FOUND)
  set(quietvox_targets HWY OPENJPEG ISAL DEFLATE XXHASH)
  set(quietvox_modules libhwy libopenjp2 libisal libdeflate libxxhash)
  foreach(target module IN ZIP_LISTS quietvox_targets quietvox_modules)
    pkg_check_modules(${target} ${quietvox_want} IMPORTED_TARGET ${module})
    if(NOT TARGET PkgConfig::${target})
      list(APPEND quietvox_missing ${module})
    endif()
  endforeach()
endif()
