# widebench_precompile(TARGET HEADERS…): headers of others that most sources of the target include, read once.
function(widebench_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  # g++ 12 reports these falsely in std::string at -O3 (GCC PR 105651), and does not know precompiled headers for
  # those of the system, of which it would not.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
endfunction()
