# Compiles through ccache where it is present. The sloppiness is what ccache asks for with precompiled headers, and
# -fpch-preprocess (GCC) lets it see into them. Paths below the tree are taken as relative, so that another clone finds
# what the first one compiled.
find_program(WIDEBENCH_CCACHE ccache DOC "ccache; empty compiles without it")
mark_as_advanced(WIDEBENCH_CCACHE)
if(WIDEBENCH_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_NOHASHDIR=1 "${WIDEBENCH_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    string(APPEND CMAKE_CXX_FLAGS " -fpch-preprocess")
  endif()
endif()
