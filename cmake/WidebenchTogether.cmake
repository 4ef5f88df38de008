# widebench_together(TARGET HEADERS…): several sources are compiled as one, so that what most of them include (the
# HEADERS, of others) is read once for all and a template is instantiated once: a whole build takes a third of the
# time, as in DuckDB's. Names in unnamed namespaces are therefore unique in a target. Where sources are compiled
# one by one instead (WIDEBENCH_UNITY=OFF, the preset dev), the HEADERS are precompiled.
option(WIDEBENCH_UNITY "compile several sources as one: whole builds are quicker, those after a small change slower" ON)

function(widebench_together target)
  if(WIDEBENCH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    widebench_without_false_alarms(${target})
  elseif(ARGN)
    widebench_precompile(${target} ${ARGN})
  endif()
endfunction()

# widebench_together_on_libtorch(TARGET): the same, with the headers of libtorch that `wide` has precompiled: they take
# longer to read than most of our sources to compile. GCC takes them at another level of optimisation too.
function(widebench_together_on_libtorch target)
  target_precompile_headers(${target} REUSE_FROM wide)
  widebench_without_false_alarms(${target})
  if(WIDEBENCH_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# widebench_precompile(TARGET HEADERS…): the HEADERS are read once for all sources.
function(widebench_precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN})
  widebench_without_false_alarms(${target})
endfunction()

# g++ 12 reports these falsely in std::string at -O3 (GCC PR 105651), and does not know headers of the system for such,
# of which it would not, when they are precompiled.
function(widebench_without_false_alarms target)
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>)
endfunction()

# widebench_light(TARGET): what spends its time elsewhere, such as the command line, the store and the tests, is optimised
# less, as that takes two thirds of the time to compile.
function(widebench_light target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
