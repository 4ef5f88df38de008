#pragma once
// The data in a pickle, read by a strict machine of few opcodes that can neither import nor call anything.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wide::formats {

/// One value of a pickle. Values refer to others by index, so that nothing recurses and cycles are harmless.
struct PickledValue {
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,
    kGlobal,  ///< the name of a Python object, and nothing but the name
    kTuple,
    kList,
    kDict,
    kReference,  ///< something outside the pickle, a storage for torch
    kCall,       ///< what the pickle asks to be called: written down, never done
  };
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;  ///< kBool, kInteger
  std::string text;          ///< kText; kGlobal: "module name"
  std::vector<std::size_t>
      items;  ///< kTuple, kList; kDict: key, value, …; kReference: its id; kCall: what, arguments
};

struct PickledData {
  std::vector<PickledValue> values;
  std::size_t root = 0;
};

/// Reads protocol 2 as torch.save writes it. Throws Fault on any opcode that plain data does not need, on a
/// global that is not in `globals`, on more than 1 MiB, and on damage.
PickledData read_pickle(std::span<const std::byte> bytes, std::span<const std::string_view> globals);

}  // namespace wide::formats
