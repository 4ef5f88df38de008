# widebench_warnings(TARGET): warnings as errors on our own code, and a program whose tables are read-only once loaded.
function(widebench_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -Werror
    # g++ 12 reports these falsely in std::string at -O3 (GCC PR 105329, 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
  target_link_options(${target} PRIVATE "LINKER:-z,relro,-z,now")
endfunction()
