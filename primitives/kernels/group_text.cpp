#include "primitives/kernels/group_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

namespace wide::kernels {
namespace {

struct StepText {
  std::string_view name, operands, expression;
};
#define STEP_1(name, expression) {#name, "float a", #expression},
#define STEP_2(name, expression) {#name, "float a, float b", #expression},
#define STEP_3(name, expression) {#name, "float a, float b, float c", #expression},
constexpr StepText kSteps[] = {
#include "primitives/kernels/steps.inc"
};
#undef STEP_1
#undef STEP_2
#undef STEP_3

constexpr std::string_view kFunctions =
#include "functions_text.inc"
    ;

std::string number_text(float number) {
  const std::string sign = std::signbit(number) ? "-" : "";
  if (std::isnan(number)) return "__builtin_nanf(\"\")";
  if (std::isinf(number)) return sign + "__builtin_inff()";
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, std::fabs(number), std::chars_format::hex).ptr;
  return sign + "0x" + std::string(digits, end) + "F";
}

class Writer {
 public:
  Writer(const std::vector<TileProgram::Step>& steps, const GroupReads& reads)
      : steps_(steps), reads_(reads), columns_(reads.rows.columns) {}

  GroupText write(std::string_view level) {
    const bool fuses = level == "x86-64-v3" || level == "x86-64-v4";
    made_.text = "#define WIDE_FUNCTION static inline __attribute__((always_inline))\n";
    made_.text += fuses ? "#define WIDE_FUSED(a, b, c) __builtin_fmaf(a, b, c)\n\n"
                        : "#define WIDE_FUSED(a, b, c) ((a) * (b) + (c))\n\n";
    made_.text += kFunctions;
    made_.text += "\n";
    write_functions();
    made_.kernel_line = static_cast<std::size_t>(std::ranges::count(made_.text, '\n'));
    write_kernel();
    return std::move(made_);
  }

 private:
  // Those that the steps are made of.
  void write_functions() {
    std::set<std::string_view> used;
    for (const auto& step : steps_) used.insert(step.function);
    for (const auto& [name, operands, expression] : kSteps) {
      if (!used.contains(name)) continue;
      made_.text.append("WIDE_FUNCTION float k_").append(name).append("(").append(operands);
      made_.text.append(") { return ").append(expression).append("; }\n");
    }
    made_.text += "\n";
  }

  // Numbers that make of another operation a negation, which GCC would make one with a sum before it: the
  // sign of a zero would differ.
  static bool negates(float number) { return number == -1.0F || (number == 0 && std::signbit(number)); }

  // What the compiler does not know of.
  void hide_numbers() {
    for (const auto& step : steps_) {
      for (const auto& source : step.operands) {
        const auto* number = std::get_if<float>(&source);
        if (number == nullptr || !negates(*number) || std::ranges::find(hidden_, *number) != hidden_.end())
          continue;
        const auto own = name("n", hidden_.size());
        line("  float " + own + " = " + number_text(*number) + ";");
        line("  __asm__(\"\" : \"+x\"(" + own + "));");
        hidden_.push_back(*number);
      }
    }
  }

  void write_kernel() {
    line(
        "int wide_kernel(char* const* data, const long* column_bytes, const long* row_bytes, long rows, "
        "long columns) {");
    line("  unsigned far = 0;");
    hide_numbers();
    line("  for (long row = 0; row < rows; ++row) {");
    for (std::size_t i = 0; i < inputs(); ++i) write_row(i);
    line("    " + pointer("float*", "y", 0));
    line("    for (long i = 0; i < " + (columns_ != 0 ? std::to_string(columns_) : "columns") + "; ++i) {");
    for (std::size_t i = 0; i < inputs(); ++i) {
      if (!reads_.rows.numbers[i]) line("      const float " + name("x", i) + " = " + read(i, "i") + ";");
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) write_step(i);
    line("      " + at("float*", "y", 0, "i") + " = " + name("t", steps_.size() - 1) + ";");
    line("    }");
    line("  }");
    line("  return far != 0;");
    line("}");
  }

  void write_row(std::size_t input) {
    line("    " + pointer(type_of(input), name("p", input), input + 1));
    if (reads_.rows.numbers[input])
      line("    const float " + name("x", input) + " = " + read(input, "0") + ";");
  }

  // To the row of the result (0) or of an input (1, …).
  static std::string pointer(const std::string& type, const std::string& own, std::size_t tensor) {
    const auto at = std::to_string(tensor);
    return type + " restrict " + own + " = (" + type + ")(data[" + at + "] + row * row_bytes[" + at + "]);";
  }

  // Short rows may have gaps between their numbers.
  std::string at(const std::string& type, const std::string& own, std::size_t tensor,
                 const std::string& column) const {
    if (columns_ == 0 || column == "0") return own + "[" + column + "]";
    return "*(" + type + ")((char*)" + own + " + " + column + " * column_bytes[" + std::to_string(tensor) +
           "])";
  }

  const char* type_of(std::size_t input) const {
    return reads_.masks[input] ? "const unsigned char*" : "const float*";
  }

  std::string read(std::size_t input, const std::string& column) const {
    return at(type_of(input), name("p", input), input + 1, column) +
           (reads_.masks[input] ? " != 0 ? 1.0F : 0.0F" : "");
  }

  std::size_t inputs() const { return reads_.masks.size(); }

  void write_step(std::size_t index) {
    const auto& step = steps_[index];
    std::string operands;
    for (const auto& source : step.operands) operands += (operands.empty() ? "" : ", ") + text_of(source);
    if (step.function == "sin" || step.function == "cos")
      line("      far |= is_far(" + operands + ");", index);
    line("      const float " + name("t", index) + " = k_" + std::string(step.function) + "(" + operands +
             ");",
         index);
  }

  std::string text_of(const TileProgram::Source& source) const {
    if (const auto* input = std::get_if<TileProgram::Input>(&source)) return name("x", input->index);
    if (const auto* result = std::get_if<TileProgram::Result>(&source)) return name("t", result->step);
    const auto number = std::get<float>(source);
    if (!negates(number)) return number_text(number);
    return name("n", static_cast<std::size_t>(std::ranges::find(hidden_, number) - hidden_.begin()));
  }

  static std::string name(const char* stem, std::size_t index) { return stem + std::to_string(index); }

  void line(const std::string& text, std::size_t step = GroupText::kNone) {
    made_.text.append(text).append("\n");
    made_.steps.push_back(step);
  }

  const std::vector<TileProgram::Step>& steps_;
  const GroupReads& reads_;
  const std::int64_t columns_;
  std::vector<float> hidden_;
  GroupText made_;
};

}  // namespace

GroupReads::GroupReads(std::span<const at::Tensor> inputs) : rows(TileProgram::rows_of(inputs)) {
  for (const auto& input : inputs) masks.push_back(input.scalar_type() == at::kBool);
}

GroupText group_text(const std::vector<TileProgram::Step>& steps, const GroupReads& reads,
                     std::string_view level) {
  return Writer(steps, reads).write(level);
}

}  // namespace wide::kernels
