# Writes OUTPUT, a source file that holds the NNNN_*.sql of FILES in order. Run with cmake -DFILES=… -DOUTPUT=… -P.
set(files ${FILES})
list(SORT files)
set(rows "")
set(expected 1)
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  string(REGEX MATCH "^[0-9][0-9][0-9][0-9]" digits "${name}")
  math(EXPR version "1${digits} - 10000")
  if(NOT version EQUAL expected)
    message(FATAL_ERROR "migrations must be numbered without gaps: expected ${expected}, found ${name}")
  endif()
  math(EXPR expected "${expected} + 1")
  file(READ "${file}" hex HEX)  # as bytes: no quoting, no limit on the length of a literal
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "constexpr unsigned char kSql${version}[] = {${bytes}};\n")
  string(APPEND rows "      {${version}, {reinterpret_cast<const char*>(kSql${version}), sizeof kSql${version}}},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Written by EmbedMigrations.cmake from results/migrations.
#include \"results/database.h\"

namespace wide::results {
namespace {
${arrays}}  // namespace

std::span<const Migration> migrations() {
  static const Migration kMigrations[] = {
${rows}  };
  return kMigrations;
}

}  // namespace wide::results
")
