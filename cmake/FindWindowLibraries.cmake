# Imports the libraries behind the window, which scripts/setup builds from cmake/window into the dependency cache.
#   WINDOW_ROOT   in: that folder, as variable or environment variable; for a Python package, else where scripts/setup puts it
#   WindowLibraries::headers   out: Dear ImGui and ImPlot; what panels compile against
#   WindowLibraries::window    out: the same with what to link, for the program
#   WindowLibraries::test      out: instead of it, with imgui_test_engine; for tests only
#   WindowLibraries_FONTS      out: folder of the fonts
set(where_built "$ENV{WINDOW_ROOT}")
if(SKBUILD AND NOT where_built)
  execute_process(COMMAND bash -c ". scripts/lib.sh && window_folder" WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  OUTPUT_VARIABLE where_built OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(WINDOW_ROOT "${where_built}" CACHE PATH "the folder of the window's libraries, see cmake/window")
find_path(WindowLibraries_INCLUDE_DIR implot.h PATHS "${WINDOW_ROOT}/include" NO_DEFAULT_PATH)
find_library(WindowLibraries_LIBRARY window PATHS "${WINDOW_ROOT}/lib" NO_DEFAULT_PATH)
find_library(WindowLibraries_TEST_LIBRARY window_test PATHS "${WINDOW_ROOT}/lib" NO_DEFAULT_PATH)
find_path(WindowLibraries_FONTS Roboto-Regular.ttf PATHS "${WINDOW_ROOT}/fonts" NO_DEFAULT_PATH)
find_package(glfw3 QUIET)
mark_as_advanced(WindowLibraries_INCLUDE_DIR WindowLibraries_LIBRARY WindowLibraries_TEST_LIBRARY WindowLibraries_FONTS)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  WindowLibraries
  REQUIRED_VARS WindowLibraries_LIBRARY WindowLibraries_TEST_LIBRARY WindowLibraries_INCLUDE_DIR WindowLibraries_FONTS glfw3_FOUND
  REASON_FAILURE_MESSAGE "run scripts/setup and set WINDOW_ROOT to the folder that it made, or -DWIDEBENCH_GUI=OFF")

if(WindowLibraries_FOUND AND NOT TARGET WindowLibraries::window)
  find_package(Threads REQUIRED)
  add_library(WindowLibraries::headers INTERFACE IMPORTED)
  target_include_directories(WindowLibraries::headers SYSTEM INTERFACE "${WindowLibraries_INCLUDE_DIR}")
  target_compile_definitions(WindowLibraries::headers INTERFACE IMGUI_DISABLE_DEMO_WINDOWS)
  foreach(variant window test)
    add_library(WindowLibraries::${variant} STATIC IMPORTED)
    target_link_libraries(WindowLibraries::${variant} INTERFACE WindowLibraries::headers glfw Threads::Threads ${CMAKE_DL_LIBS})
  endforeach()
  set_target_properties(WindowLibraries::window PROPERTIES IMPORTED_LOCATION "${WindowLibraries_LIBRARY}")
  set_target_properties(WindowLibraries::test PROPERTIES IMPORTED_LOCATION "${WindowLibraries_TEST_LIBRARY}")
  target_include_directories(WindowLibraries::test SYSTEM INTERFACE "${WindowLibraries_INCLUDE_DIR}/imgui_test_engine")
  target_compile_definitions(WindowLibraries::test INTERFACE IMGUI_ENABLE_TEST_ENGINE IMGUI_TEST_ENGINE_ENABLE_CAPTURE=1
    IMGUI_TEST_ENGINE_ENABLE_STD_FUNCTION=1 IMGUI_TEST_ENGINE_ENABLE_COROUTINE_STDTHREAD_IMPL=1 IMGUI_TEST_ENGINE_ENABLE_IMPLOT=0)
endif()
