# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` and find_package(quietvox). Headers go to include/quietvox with the folders of src, so that
# <quietvox/filters/median.hpp> works; they name each other from there ("core/volume.hpp").
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(include_folder ${CMAKE_INSTALL_INCLUDEDIR}/quietvox)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quietvox)

# What users of the library link to; beside it stand quietvox::workflow and quietvox::itk, which need ITK.
add_library(quietvox_all INTERFACE)
target_link_libraries(quietvox_all INTERFACE quietvox_core quietvox_filters quietvox_backends quietvox_quality
  quietvox_io)
target_compile_features(quietvox_core PUBLIC cxx_std_20)

set(names core filters cuda backends quality io itk_files workflow itk options)
foreach(name ${names})
  set_target_properties(quietvox_${name} PROPERTIES EXPORT_NAME ${name})
  # Paths of the source and build trees stay out of the export.
  foreach(property INTERFACE_INCLUDE_DIRECTORIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
    get_target_property(folders quietvox_${name} ${property})
    if(folders)
      set_property(TARGET quietvox_${name} PROPERTY ${property} "$<BUILD_INTERFACE:${folders}>")
    endif()
  endforeach()
endforeach()
set_target_properties(quietvox_all PROPERTIES EXPORT_NAME quietvox)
foreach(folder ${CMAKE_INSTALL_INCLUDEDIR} ${include_folder})
  target_include_directories(quietvox_core PUBLIC "$<INSTALL_INTERFACE:${folder}>")
endforeach()
target_include_directories(quietvox_itk PUBLIC "$<INSTALL_INTERFACE:${include_folder}/itk_adapters>")

list(TRANSFORM names PREPEND quietvox_)
install(TARGETS quietvox)
install(FILES ${PROJECT_BINARY_DIR}/generated/manual/quietvox.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/generated/manual/quietvox
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(TARGETS quietvox_all ${names} EXPORT quietvox)
install(EXPORT quietvox NAMESPACE quietvox:: FILE quietvoxTargets.cmake DESTINATION ${config_folder})

install(DIRECTORY src/core src/filters src/backends src/quality DESTINATION ${include_folder} FILES_MATCHING PATTERN "*.hpp"
  PATTERN selection EXCLUDE)
install(FILES src/io/image.hpp src/io/file_state.hpp DESTINATION ${include_folder}/io)
install(FILES src/workflow/denoise.hpp src/workflow/observer.hpp src/workflow/options.hpp src/workflow/volume_filter.hpp
  DESTINATION ${include_folder}/workflow)
install(FILES src/io/output/access.hpp DESTINATION ${include_folder}/io/output)
install(DIRECTORY itk_adapters/ ${PROJECT_BINARY_DIR}/itk_adapters/include/ DESTINATION ${include_folder}/itk_adapters
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hxx" PATTERN "*.hpp"
  PATTERN itk_file.hpp EXCLUDE PATTERN peers EXCLUDE PATTERN examples EXCLUDE PATTERN generate EXCLUDE)

# find_package looks into the parents of the folders of PATH, among them that of build/bin; what lies here is not for it.
set(config_files ${PROJECT_BINARY_DIR}/generated/package)
configure_package_config_file(cmake/quietvoxConfig.cmake.in ${config_files}/quietvoxConfig.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${config_files}/quietvoxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config_files}/quietvoxConfig.cmake ${config_files}/quietvoxConfigVersion.cmake
  cmake/library_dependencies.cmake DESTINATION ${config_folder})
