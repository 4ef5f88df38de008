# Imports libtorch from the PyPI wheel of torch, since find_package(Torch) of the wheel insists on nvcc.
#   LIBTORCH_ROOT   in: the wheel's torch/ folder, as variable or environment variable
#   Libtorch::c10, Libtorch::cpu   out: the targets; no Python and no CUDA library is linked
set(LIBTORCH_ROOT "$ENV{LIBTORCH_ROOT}" CACHE PATH "the torch/ folder of an installed torch wheel")
if(NOT LIBTORCH_ROOT AND Python_EXECUTABLE)
  # Where pip builds the package: the torch of the Python that it runs in, not of the folder that it builds in (-I).
  execute_process(COMMAND "${Python_EXECUTABLE}" -I -c
                          "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
                  OUTPUT_VARIABLE Libtorch_OF_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  set_property(CACHE LIBTORCH_ROOT PROPERTY VALUE "${Libtorch_OF_PYTHON}")
endif()
find_path(Libtorch_INCLUDE_DIR ATen/ATen.h PATHS "${LIBTORCH_ROOT}/include" NO_DEFAULT_PATH)
find_library(Libtorch_CPU_LIBRARY torch_cpu PATHS "${LIBTORCH_ROOT}/lib" NO_DEFAULT_PATH)
find_library(Libtorch_C10_LIBRARY c10 PATHS "${LIBTORCH_ROOT}/lib" NO_DEFAULT_PATH)
mark_as_advanced(Libtorch_INCLUDE_DIR Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY)
if(Libtorch_INCLUDE_DIR AND EXISTS "${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h")
  file(STRINGS "${Libtorch_INCLUDE_DIR}/torch/headeronly/version.h" Libtorch_VERSION
       REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "#define TORCH_VERSION_[A-Z]+ " "" Libtorch_VERSION "${Libtorch_VERSION}")
  string(REPLACE ";" "." Libtorch_VERSION "${Libtorch_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Libtorch
  REQUIRED_VARS Libtorch_CPU_LIBRARY Libtorch_C10_LIBRARY Libtorch_INCLUDE_DIR
  VERSION_VAR Libtorch_VERSION
  HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "set LIBTORCH_ROOT to the torch/ folder of an installed torch wheel of version 2.11 to 2.15. For pip install: install torch first, and add --no-build-isolation where it lies in another environment")

if(Libtorch_FOUND AND NOT TARGET Libtorch::cpu)
  add_library(Libtorch::c10 SHARED IMPORTED)
  set_target_properties(Libtorch::c10 PROPERTIES IMPORTED_LOCATION "${Libtorch_C10_LIBRARY}")
  target_include_directories(Libtorch::c10 SYSTEM INTERFACE "${Libtorch_INCLUDE_DIR}")
  add_library(Libtorch::cpu SHARED IMPORTED)
  set_target_properties(Libtorch::cpu PROPERTIES IMPORTED_LOCATION "${Libtorch_CPU_LIBRARY}")
  target_link_libraries(Libtorch::cpu INTERFACE Libtorch::c10)
  # libtorch_cpu itself needs cudart and CUPTI, which lie in wheels beside it; its own RPATH finds them at run time.
  get_filename_component(Libtorch_CUDA_DIR "${LIBTORCH_ROOT}/../nvidia/cu13/lib" ABSOLUTE)
  if(IS_DIRECTORY "${Libtorch_CUDA_DIR}")
    target_link_options(Libtorch::cpu INTERFACE "LINKER:-rpath-link,${Libtorch_CUDA_DIR}")
  endif()
endif()
