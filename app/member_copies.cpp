#include "app/member_copies.h"

#include <ATen/ATen.h>

#include <set>

namespace wide::app {

std::vector<Member> copies_of(const Graph& graph, const Member& member, std::int64_t count) {
  std::set<std::string> trained;
  for (const auto& input : graph.inputs) {
    if (input.kind == InputKind::kParameter || (input.kind == InputKind::kBuffer && input.persistent))
      trained.insert(input.target);
  }
  std::vector<Member> members;
  for (std::int64_t i = 0; i < count; ++i) {
    Member copy{member.name + "#" + std::to_string(i + 1), {}};
    for (const auto& [fqn, tensor] : member.tensors) {
      copy.tensors.emplace(fqn, trained.contains(fqn) && tensor.is_floating_point()
                                    ? tensor * (1 + 0.01 * static_cast<double>(i))
                                    : tensor);
    }
    members.push_back(std::move(copy));
  }
  return members;
}

}  // namespace wide::app
