#include "app/member_copies.h"

#include <ATen/ATen.h>

#include <set>

namespace wide::app {

namespace {

std::set<std::string> trained_tensors(const Graph& graph) {
  std::set<std::string> trained;
  for (const auto& input : graph.inputs) {
    if (input.kind == InputKind::kParameter || (input.kind == InputKind::kBuffer && input.persistent))
      trained.insert(input.target);
  }
  return trained;
}

// The first copy (0) is the member itself under another name.
Member copy_of(const Member& member, std::int64_t which, const std::set<std::string>& trained) {
  Member copy{member.name + "#" + std::to_string(which + 1), {}};
  for (const auto& [fqn, tensor] : member.tensors) {
    copy.tensors.emplace(fqn, trained.contains(fqn) && tensor.is_floating_point()
                                  ? tensor * (1 + 0.01 * static_cast<double>(which))
                                  : tensor);
  }
  return copy;
}

}  // namespace

std::vector<Member> copies_of(const Graph& graph, const Member& member, std::int64_t count,
                              const std::function<void()>& before_each) {
  const auto trained = trained_tensors(graph);
  std::vector<Member> members;
  for (std::int64_t i = 0; i < count; ++i) {
    if (before_each) before_each();
    members.push_back(copy_of(member, i, trained));
  }
  return members;
}

void fill_up(const Graph& graph, std::vector<Member>& members, std::int64_t count) {
  const auto given = std::ssize(members);
  if (given == 0 || given >= count) return;
  const auto trained = trained_tensors(graph);
  members.reserve(static_cast<std::size_t>(count));  // copies are made of its own elements
  for (auto i = given; i < count; ++i)
    members.push_back(copy_of(members[static_cast<std::size_t>(i % given)], i / given, trained));
}

}  // namespace wide::app
