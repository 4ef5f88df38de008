#pragma once
// Graphs whose members each compute what they compute alone, by every way of running.

#include <span>
#include <string_view>

namespace wide::test {

struct ByMemberCase {
  std::string_view name;
  std::string_view text;        ///< inputs: float32[4, 4], made up
  std::string_view sequential;  ///< an operator that must be counted as run member by member; "": none may be
};

/// Data decide shapes, numbers and branches.
std::span<const ByMemberCase> data_cases();
/// Writes, also through views and where ATen has no pure operator for them.
std::span<const ByMemberCase> write_cases();

}  // namespace wide::test
