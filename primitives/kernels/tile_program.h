#pragma once
// A group of pointwise operators, run tile by tile: each step reads and writes tiles that lie in the first
// cache, and only the last one goes to memory. No compiler is needed; where there is one, the same loops over
// rows run what it made of the program's text (group_text.h).

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "primitives/kernels/tile_functions.h"

namespace wide::kernels {

class TileProgram {
 public:
  /// What a step reads: an input, an earlier step's result, or a number.
  struct Input {
    std::size_t index;
  };
  struct Result {
    std::size_t step;
  };
  using Source = std::variant<Input, Result, float>;
  struct Step {
    std::string_view function;  ///< as tile_functions.h names it
    std::vector<Source> operands;
  };
  /// What a loop over the result's rows is made for.
  struct Rows {
    std::vector<bool> numbers;  ///< by input: one for a whole row of the result
    std::int64_t columns = 0;   ///< of short rows, which may lie anyhow; 0: long ones without gaps
  };
  /// A program compiled (group_text.h says how it is called).
  struct Compiled {
    std::shared_ptr<void> function;
    Rows rows;
  };

  /// The last step's result is the program's. `level`: as instruction_set() names it.
  TileProgram(std::size_t inputs, const std::vector<Step>& steps, std::string_view level = instruction_set());

  /// Inputs of float32 or bool that broadcast with each other, on libtorch's threads; the result is as ATen's
  /// pointwise operators would leave it in memory. `compiled` computes the same; rows that it was not made
  /// for are interpreted.
  at::Tensor run(std::span<const at::Tensor> inputs, const Compiled* compiled = nullptr) const;

  /// How inputs of these shapes and strides are read.
  static Rows rows_of(std::span<const at::Tensor> inputs);

 private:
  // Tiles are numbered: those of the inputs, of the numbers, and of the results, which are used again when
  // nobody reads them.
  struct Move {
    TileFunction function;
    std::vector<std::size_t> operands;
    std::size_t result;
  };
  std::size_t number_tile(float number);
  void run_tile(const float** tiles, float* scratch, float* out, std::int64_t count) const;

  std::size_t inputs_, results_ = 0;
  std::vector<std::vector<float>> numbers_;  ///< a tile of each
  std::vector<Move> moves_;
};

}  // namespace wide::kernels
