# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# cmake -D BUILD=... -D SOURCE=... -D GENERATOR=... -D FLAGS=... -D LAUNCHER=... -P run.cmake: installs the build into a
# folder inside it, then configures, builds and runs the consumer project against that, which
# compiles every installed header alone. Where a dependency is missing, find_package is to say so and go on.
set(prefix ${BUILD}/package-test/prefix)
set(consumer ${BUILD}/package-test/consumer)
file(REMOVE_RECURSE ${BUILD}/package-test)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(GLOB_RECURSE exported ${prefix}/*.cmake)
foreach(file ${exported})
  file(READ ${file} text)
  foreach(tree ${BUILD} ${SOURCE})
    string(FIND "${text}" "${tree}/" place)
    if(NOT place EQUAL -1)
      message(FATAL_ERROR "${file} names ${tree}, which will not be there")
    endif()
  endforeach()
endforeach()
set(options -G ${GENERATOR} -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS=${FLAGS}"
  "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}" -D CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON)
set(configure ${CMAKE_COMMAND} ${options} -S ${SOURCE}/tests/package/consumer)
set(without_c ${CMAKE_COMMAND} ${options} -S ${SOURCE}/tests/package/without_c -B ${consumer}-without-c)
foreach(missing TBB DCMTK)
  run(${configure} -B ${consumer}-without-${missing} -D CMAKE_DISABLE_FIND_PACKAGE_${missing}=ON -D MISSING=${missing})
endforeach()
run(${CMAKE_COMMAND} -E env PKG_CONFIG_LIBDIR=${BUILD}/package-test ${configure} -B ${consumer}-without-modules
  -D MISSING=libisal)
run(${without_c} -D LIBRARY=quietvox)
execute_process(COMMAND ${without_c} -D LIBRARY=workflow RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(status EQUAL 0 OR NOT output MATCHES "needs_ITK_and_the_LANGUAGES_C_and_CXX")
  message(FATAL_ERROR "without C, linking quietvox::workflow ends with ${status}\n${output}")
endif()
run(${configure} -B ${consumer})
run(${CMAKE_COMMAND} --build ${consumer})
run(${consumer}/use_library)
run(${consumer}/use_itk)
run(${consumer}/denoise_array)
run(${consumer}/denoise_file ${SOURCE}/sample_data/mr-noisy.nii.gz ${BUILD}/package-test/quiet.nii.gz)
if(NOT EXISTS ${BUILD}/package-test/quiet.nii.gz)
  message(FATAL_ERROR "denoise_file wrote nothing")
endif()
