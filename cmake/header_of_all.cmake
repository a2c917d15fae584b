# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the header `name`, which includes all that match `pattern`, and lets `target` find it. So a new one takes no line
# of its own where all are listed.
function(quietvox_header_of_all target scope name pattern)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${pattern})
  list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"")
  list(JOIN headers "\n" headers)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/headers_of_all)
  file(CONFIGURE OUTPUT ${folder}/${name} CONTENT "#pragma once\n\n${headers}\n")
  target_include_directories(${target} ${scope} ${folder})
endfunction()
