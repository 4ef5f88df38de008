# Writes a header with one digest of all SOURCES (a list file, one path a line), for cost_book.cpp:
#   cmake -DSOURCES=FILE -DOUTPUT=HEADER -P SourceDigest.cmake
file(STRINGS "${SOURCES}" files)
set(digests "")
foreach(file IN LISTS files)
  file(SHA256 "${file}" digest)
  string(APPEND digests "${digest}")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING "${digest}" 0 16 digest)
file(WRITE "${OUTPUT}" "#pragma once\nnamespace wide {\ninline constexpr char kSourceDigest[] = \"${digest}\";\n}\n")
