#pragma once
// A group of pointwise operators as C: one loop that keeps everything between its inputs and its result in
// registers. The same steps as a TileProgram's, with the same results to the last bit.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/kernels/tile_program.h"

namespace wide::kernels {

/// How a kernel reads its inputs.
struct GroupReads {
  std::vector<bool> masks;  ///< by input: of bool, else of float32
  TileProgram::Rows rows;

  explicit GroupReads(std::span<const at::Tensor> inputs);
};

struct GroupText {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::string text;                ///< of the whole file; nothing in it comes from a model's file
  std::size_t kernel_line = 0;     ///< the first line of the kernel: before it are functions that all have
  std::vector<std::size_t> steps;  ///< by line from there: the step that it computes, or kNone
};

/// Defines `int wide_kernel(char* const* data, const long* column_bytes, const long* row_bytes, long rows,
/// long columns)`, data[0] being the result and the inputs following, `row_bytes` how far their rows are
/// apart, `column_bytes` (which only kernels of short rows read) their columns. It answers 0, or 1
/// where an angle of sine or cosine has too many turns for it: then the result is not to be used. `level`: as
/// instruction_set() names it.
GroupText group_text(const std::vector<TileProgram::Step>& steps, const GroupReads& reads,
                     std::string_view level);

}  // namespace wide::kernels
