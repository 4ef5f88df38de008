# cmake --install: the program, the libraries wide::formats and wide::wide with their public headers, and what
# find_package(wide) reads: #include "formats/safetensors.h", #include <wide/model.h>.
include(CMakePackageConfigHelpers)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/wide")
set(package_modules "${PROJECT_SOURCE_DIR}/formats/FindLibzip.cmake")
set(header_folders formats)
set(exported wide_formats wide_processes)
set(wide_has_core OFF)
if(TARGET wide)
  set(wide_has_core ON)
  list(APPEND package_modules "${PROJECT_SOURCE_DIR}/cmake/FindLibtorch.cmake")
  target_include_directories(wide PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/wide" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
  list(APPEND exported wide)
endif()

foreach(target IN LISTS exported)
  target_include_directories(${target} PUBLIC "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/wide>")
endforeach()
install(TARGETS ${exported} EXPORT wide)
foreach(folder IN LISTS header_folders)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/wide"
          FILES_MATCHING PATTERN "*.h")
endforeach()
if(TARGET widebench AND NOT SKBUILD)
  set_target_properties(widebench PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)  # finds libtorch where it was built with
endif()

install(EXPORT wide NAMESPACE wide:: DESTINATION "${package_folder}" FILE WideTargets.cmake)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/WideConfig.cmake.in" "${PROJECT_BINARY_DIR}/wideConfig.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/wideConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/wideConfig.cmake" "${PROJECT_BINARY_DIR}/wideConfigVersion.cmake" ${package_modules}
        DESTINATION "${package_folder}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
