# Writes OUTPUT, a header with what this program was built from: the commit of FOLDER where git knows one, with "-dirty"
# where files of it were changed. Run in every build with cmake -DFOLDER=… -DOUTPUT=… -P; untouched while nothing changed.
set(commit "")
find_program(git git)
if(git AND EXISTS "${FOLDER}/.git")
  execute_process(COMMAND "${git}" rev-parse HEAD WORKING_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND "${git}" status --porcelain --untracked-files=no WORKING_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE changes
                  ERROR_QUIET)
  if(commit AND changes)
    string(APPEND commit "-dirty")
  endif()
endif()
set(text "#pragma once\nnamespace wide::app {\ninline constexpr char kBuildCommit[] = \"${commit}\";\n}\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT before STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
