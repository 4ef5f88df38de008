#pragma once
// How a model is compiled, named as in PyTorch.

#include <array>
#include <cstdint>
#include <string_view>

namespace wide {

/// Each has what those before it have, and more.
enum class Mode : std::uint8_t {
  kEager,           ///< operator by operator; memory from a pool
  kDefault,         ///< pointwise operators in groups, too; ways that round otherwise than ATen, but no worse
  kReduceOverhead,  ///< and, on the CPU, a static memory plan: a pass in steady state allocates its results
                    ///< only; on a GPU a pass is recorded and launched as a whole, unless it draws random
                    ///< numbers
  kMaxAutotune,     ///< and ways with errors of up to four times ATen's
};
inline constexpr std::array kAllModes = {Mode::kEager, Mode::kDefault, Mode::kReduceOverhead,
                                         Mode::kMaxAutotune};
/// "eager", "default", "reduce-overhead", "max-autotune".
std::string_view name(Mode mode);
/// Throws wide::Error ("usage") naming the modes.
Mode parse_mode(std::string_view name);

}  // namespace wide
