#include "primitives/kernels/tile_program.h"

#include <ATen/ATen.h>
#include <ATen/TensorIterator.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/aten/parallel.h"

namespace wide::kernels {
namespace {

constexpr std::size_t kMostOperands = 3;
constexpr std::int64_t kShortRow = 7;  // no vector is filled by it

// Rows and columns of a tensor, in bytes from each other, that make a tile.
struct Part {
  char* data;
  std::int64_t row_bytes, column_bytes, rows, columns;

  bool dense() const {
    return column_bytes == sizeof(float) && (rows == 1 || row_bytes == columns * column_bytes);
  }
  template <typename Visit>  // of the tile's place and the number's
  void each(const Visit& visit) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      char* const begin = data + row * row_bytes;
      for (std::int64_t i = 0; i < columns; ++i) visit(row * columns + i, begin + i * column_bytes);
    }
  }
};

// A tile of an input as floats: where it lies, if it can be read there, else in `own`.
const float* loaded(const Part& part, bool mask, float* own) {
  if (!mask && part.dense()) return reinterpret_cast<const float*>(part.data);
  if (mask) {
    part.each([own](std::int64_t i, const char* from) {
      own[i] = *reinterpret_cast<const bool*>(from) ? 1.0F : 0.0F;
    });
  } else {
    part.each([own](std::int64_t i, const char* from) { own[i] = *reinterpret_cast<const float*>(from); });
  }
  return own;
}

at::TensorIterator iterator_over(std::span<const at::Tensor> inputs) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).declare_static_dtype(at::kFloat);
  config.add_owned_output(at::Tensor());
  for (const auto& input : inputs) config.add_const_input(input);
  return config.build();
}

using CompiledFunction = int (*)(char* const* data, const std::int64_t* column_bytes,
                                 const std::int64_t* row_bytes, std::int64_t rows, std::int64_t columns);

}  // namespace

TileProgram::TileProgram(std::size_t inputs, const std::vector<Step>& steps, std::string_view level)
    : inputs_(inputs) {
  std::vector<std::size_t> last(steps.size(), steps.size());  // who reads a result last
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const auto& source : steps[i].operands) {
      if (const auto* result = std::get_if<Result>(&source)) last[result->step] = i;
      if (const auto* number = std::get_if<float>(&source)) number_tile(*number);
    }
  }
  std::vector<std::size_t> tile_of(steps.size()), spare;
  const auto tile = [&](const Source& source) {
    if (const auto* input = std::get_if<Input>(&source)) return input->index;
    if (const auto* result = std::get_if<Result>(&source)) return tile_of[result->step];
    return inputs_ + number_tile(std::get<float>(source));
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Move move{tile_function(steps[i].function, level), {}, 0};
    std::ranges::transform(steps[i].operands, std::back_inserter(move.operands), tile);
    if (spare.empty()) spare.push_back(inputs_ + numbers_.size() + results_++);
    move.result = tile_of[i] = spare.back();
    spare.pop_back();
    for (std::size_t before = 0; before < i; ++before) {
      if (last[before] == i) spare.push_back(tile_of[before]);
    }
    moves_.push_back(std::move(move));
  }
}

std::size_t TileProgram::number_tile(float number) {
  // By bits: 0 is not -0.
  const auto same = [&](const std::vector<float>& tile) {
    return std::bit_cast<std::uint32_t>(tile[0]) == std::bit_cast<std::uint32_t>(number);
  };
  const auto found = std::ranges::find_if(numbers_, same);
  if (found != numbers_.end()) return static_cast<std::size_t>(found - numbers_.begin());
  numbers_.emplace_back(kTile, number);
  return numbers_.size() - 1;
}

void TileProgram::run_tile(const float** tiles, float* scratch, float* out, std::int64_t count) const {
  std::array<const float*, kMostOperands> operands{};
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    const auto& move = moves_[i];
    for (std::size_t k = 0; k < move.operands.size(); ++k) operands[k] = tiles[move.operands[k]];
    const bool last = i + 1 == moves_.size();
    float* const result = last ? out : scratch + static_cast<std::int64_t>(move.result) * kTile;
    move.function(operands.data(), result, count);
    tiles[move.result] = result;
  }
}

TileProgram::Rows TileProgram::rows_of(std::span<const at::Tensor> inputs) {
  const auto iterator = iterator_over(inputs);
  Rows rows;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    rows.numbers.push_back(iterator.ndim() > 0 && iterator.strides(static_cast<int>(i) + 1)[0] == 0);
  if (iterator.ndim() > 1 && iterator.shape()[0] <= kShortRow) rows.columns = iterator.shape()[0];
  return rows;
}

at::Tensor TileProgram::run(std::span<const at::Tensor> inputs, const Compiled* compiled) const {
  RECORD_FUNCTION("wide::group", std::vector<c10::IValue>());
  auto iterator = iterator_over(inputs);
  std::vector<bool> masks;
  for (const auto& input : inputs) masks.push_back(input.scalar_type() == at::kBool);
  const auto tensors = static_cast<std::size_t>(iterator.ntensors());
  const auto all = inputs_ + numbers_.size() + results_;
  // Rows as the compiled function takes them.
  const auto fits = [&](const std::int64_t* strides, std::int64_t columns) {
    const auto& [numbers, wanted_columns] = compiled->rows;
    if (wanted_columns != 0 && columns != wanted_columns) return false;
    if (columns == 1) return true;
    const bool anyhow = wanted_columns != 0;
    if (!anyhow && strides[0] != sizeof(float)) return false;
    for (std::size_t i = 0; i < inputs_; ++i) {
      const std::int64_t wanted = numbers[i] ? 0 : masks[i] ? sizeof(bool) : sizeof(float);
      if ((numbers[i] || !anyhow) && strides[i + 1] != wanted) return false;
    }
    return true;
  };
  const auto interpret = [&](char** data, const std::int64_t* strides, std::int64_t columns,
                             std::int64_t rows) {
    // Room for every tile, and one more for a result that does not go to memory as it is.
    thread_local std::vector<float> room;
    room.resize((all + 1) * kTile);
    std::vector<const float*> tiles(all);
    for (std::size_t i = 0; i < numbers_.size(); ++i) tiles[inputs_ + i] = numbers_[i].data();
    const auto rows_at_once = std::max<std::int64_t>(kTile / columns, 1);
    for (std::int64_t row = 0; row < rows; row += rows_at_once) {
      for (std::int64_t begin = 0; begin < columns; begin += kTile) {
        const auto part = [&](std::size_t tensor) -> Part {
          const auto row_bytes = strides[tensors + tensor], column_bytes = strides[tensor];
          return {data[tensor] + row * row_bytes + begin * column_bytes, row_bytes, column_bytes,
                  std::min(rows_at_once, rows - row), std::min(kTile, columns - begin)};
        };
        for (std::size_t i = 0; i < inputs_; ++i)
          tiles[i] = loaded(part(i + 1), masks[i], room.data() + i * kTile);
        const auto result = part(0);
        auto* const own = room.data() + all * kTile;
        run_tile(tiles.data(), room.data(), result.dense() ? reinterpret_cast<float*>(result.data) : own,
                 result.rows * result.columns);
        if (!result.dense())
          result.each([own](std::int64_t i, char* to) { *reinterpret_cast<float*>(to) = own[i]; });
      }
    }
  };
  const auto loop = [&](char** data, const std::int64_t* strides, std::int64_t columns, std::int64_t rows) {
    if (compiled != nullptr && fits(strides, columns)) {
      const auto function = reinterpret_cast<CompiledFunction>(compiled->function.get());
      if (function(data, strides, strides + tensors, rows, columns) == 0) return;
    }
    interpret(data, strides, columns, rows);
  };
  const auto steps = static_cast<std::int64_t>(moves_.size());
  iterator.for_each(loop, std::max<std::int64_t>(kNumbersPerThread / steps, kTile));
  return iterator.output();
}

}  // namespace wide::kernels
