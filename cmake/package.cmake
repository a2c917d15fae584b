# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` and find_package(quietvox).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(include_folder ${CMAKE_INSTALL_INCLUDEDIR}/quietvox)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/quietvox)

# What users of the library link to; beside it stand quietvox::workflow and quietvox::itk, which need ITK.
add_library(quietvox_all INTERFACE)
target_link_libraries(quietvox_all INTERFACE quietvox_core quietvox_filters quietvox_backends quietvox_analysis
  quietvox_phantom quietvox_io)
target_compile_features(quietvox_core PUBLIC cxx_std_20)

set(names core filters cuda backends analysis phantom io itk_files workflow itk options)
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
target_include_directories(quietvox_core PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_include_directories(quietvox_itk PUBLIC "$<INSTALL_INTERFACE:${include_folder}/itk_adapters>")

list(TRANSFORM names PREPEND quietvox_)
install(TARGETS quietvox)
install(FILES ${PROJECT_BINARY_DIR}/generated/manual/quietvox.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/generated/manual/quietvox
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(TARGETS quietvox_all ${names} EXPORT quietvox)
install(EXPORT quietvox NAMESPACE quietvox:: FILE quietvoxTargets.cmake DESTINATION ${config_folder})

# The headers that users include, as <quietvox/filters/median.hpp>: these, and all of src/filters.
file(GLOB filter_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src src/filters/*.hpp)
set(public_headers ${filter_headers}
  core/backend.hpp core/border.hpp core/error.hpp core/execution.hpp core/fields.hpp core/filter.hpp
  core/memory_volume.hpp core/message.hpp core/noise_model.hpp core/pipeline.hpp core/provenance.hpp core/volume_view.hpp
  core/volume_facts.hpp
  filters/common/dct_block.hpp filters/common/launch_context.hpp
  filters/quadratic/coefficients.hpp filters/quadratic/training.hpp
  backends/choice.hpp
  analysis/measure_noise.hpp analysis/metrics.hpp analysis/stabilisation.hpp
  phantom/noise.hpp phantom/phantom.hpp phantom/scanner_noise.hpp
  io/create.hpp io/dicom_folder.hpp io/files/file_stamp.hpp io/image.hpp io/output/file_permissions.hpp io/rescale.hpp
  io/scalar_type.hpp
  workflow/denoise.hpp workflow/observer.hpp workflow/options.hpp workflow/stabilisation_choice.hpp workflow/volume_filter.hpp)
set(public_itk_headers
  quietvoxImageFilterBase.h quietvoxImageFilterBase.hxx quietvoxSeriesImageSource.h quietvoxSeriesImageWriter.h
  header_upstream.hpp filters/filter_support.hpp filters/setter_names.hpp filters/pixel_conversion.hpp)
# The reference of these headers in HTML: cmake --build build --target quietvox_api
find_package(Doxygen)
if(DOXYGEN_FOUND)
  # A link gives the headers the names by which users include them.
  set(folder_of_links ${PROJECT_BINARY_DIR}/generated/api)
  file(MAKE_DIRECTORY ${folder_of_links})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src ${folder_of_links}/quietvox SYMBOLIC)
  list(TRANSFORM public_headers PREPEND ${folder_of_links}/quietvox/ OUTPUT_VARIABLE documented)
  list(TRANSFORM public_itk_headers PREPEND ${PROJECT_SOURCE_DIR}/itk_adapters/ OUTPUT_VARIABLE documented_itk)
  list(FILTER documented_itk INCLUDE REGEX "\\.h$")
  list(APPEND documented ${documented_itk})
  set(DOXYGEN_STRIP_FROM_PATH ${folder_of_links} ${PROJECT_SOURCE_DIR})
  set(DOXYGEN_STRIP_FROM_INC_PATH ${folder_of_links} ${PROJECT_SOURCE_DIR})
  set(DOXYGEN_USE_MDFILE_AS_MAINPAGE ${PROJECT_SOURCE_DIR}/docs/library.md)
  set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
  set(DOXYGEN_WARN_IF_UNDOCUMENTED NO)
  set(DOXYGEN_HAVE_DOT NO)
  set(DOXYGEN_QUIET YES)
  doxygen_add_docs(quietvox_api ${documented} ${PROJECT_SOURCE_DIR}/docs/library.md)
endif()

foreach(header ${public_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES src/${header} DESTINATION ${include_folder}/${folder})
endforeach()
foreach(header ${public_itk_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES itk_adapters/${header} DESTINATION ${include_folder}/itk_adapters/${folder})
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/itk_adapters/include/ DESTINATION ${include_folder}/itk_adapters)
install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${include_folder}\")")
install(SCRIPT cmake/prefix_installed_includes.cmake)

# find_package looks into the parents of the folders of PATH, among them that of build/bin; what lies here is not for it.
set(config_files ${PROJECT_BINARY_DIR}/generated/package)
configure_package_config_file(cmake/quietvoxConfig.cmake.in ${config_files}/quietvoxConfig.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${config_files}/quietvoxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config_files}/quietvoxConfig.cmake ${config_files}/quietvoxConfigVersion.cmake
  cmake/library_dependencies.cmake DESTINATION ${config_folder})
