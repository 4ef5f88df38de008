#include "presets/zoo/zoo.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "core/strategy/primitive.h"
#include "core/strategy/sequential.h"
#include "formats/error.h"

namespace wide::zoo {
namespace {

// Primitives, blocks, models: from small to large.
int rank_of(const std::string& kind) {
  return kind == "primitive" ? 0 : kind == "block" ? 1 : 2;
}

// The node works on a member's values; others make constants.
bool computes(const Node& node) {
  bool uses = false;
  for_each_use(node, [&](ValueId) { uses = true; });
  return uses && !depends_on_shape_only(node.op);
}

// The primitive that owns every node that computes, or null: there are several, or one without an owner.
const Primitive* only_primitive(const Graph& graph) {
  const Primitive* only = nullptr;
  for (const auto& node : graph.nodes) {
    if (!computes(node)) continue;
    const auto* owner = find_primitive(node.op);
    if (!owner || (only && owner != only)) return nullptr;
    only = owner;
  }
  return only;
}

}  // namespace

void Sizes::set(const std::string& name, std::int64_t size) {
  const auto known = sizes_.find(name);
  if (known == sizes_.end()) {
    std::string names;
    for (const auto& [other, value] : sizes_) names.append(names.empty() ? "" : ", ").append(other);
    throw Error("preset", "subject '" + subject_ + "' has no size '" + name + "'; it has " + names);
  }
  auto& own = known->second;
  if (size < own.least || size > own.most) {
    throw Error("preset", "subject '" + subject_ + "': size '" + name + "' must lie in " +
                              std::to_string(own.least) + "…" + std::to_string(own.most) + ", is " +
                              std::to_string(size));
  }
  own.value = size;
}

void Sizes::must_be_multiple(const std::string& name, const std::string& of, std::int64_t times) const {
  if ((*this)[name] % (times * (*this)[of]) == 0) return;
  std::string unit = "'" + of + "' (" + std::to_string((*this)[of]) + ")";
  if (times != 1) unit.insert(0, std::to_string(times) + " x ");
  fail_multiple(name, unit);
}

void Sizes::must_be_multiple(const std::string& name, std::int64_t unit) const {
  if ((*this)[name] % unit != 0) fail_multiple(name, std::to_string(unit));
}

void Sizes::fail_multiple(const std::string& name, const std::string& unit) const {
  throw Error("preset", "subject '" + subject_ + "': size '" + name + "' (" + std::to_string((*this)[name]) +
                            ") must be a multiple of " + unit);
}

std::vector<std::int64_t> feature_map(const Sizes& sizes, int axes) {
  std::vector<std::int64_t> shape{sizes["batch"], sizes["channels"]};
  if (axes == 1) shape.push_back(sizes["length"]);
  if (axes == 3) shape.push_back(sizes["depth"]);
  if (axes >= 2) shape.insert(shape.end(), {sizes["height"], sizes["width"]});
  return shape;
}

const std::vector<Subject>& subjects() {
  static const auto all = [] {
    std::vector<Subject> list;
    for (auto& family : families()) std::move(family.begin(), family.end(), std::back_inserter(list));
    std::sort(list.begin(), list.end(), [](const Subject& a, const Subject& b) {
      return std::tuple(rank_of(a.kind), std::string_view(a.name)) <
             std::tuple(rank_of(b.kind), std::string_view(b.name));
    });
    return list;
  }();
  return all;
}

const Subject& find_subject(const std::string& name) {
  const auto found = std::find_if(subjects().begin(), subjects().end(),
                                  [&](const Subject& one) { return one.name == name; });
  if (found != subjects().end()) return *found;
  std::string names;
  for (const auto& subject : subjects()) names.append(names.empty() ? "" : ", ").append(subject.name);
  throw Error("preset", "there is no subject '" + name + "'; there are " + names);
}

Architecture build(const std::string& subject, const std::map<std::string, std::int64_t>& sizes) {
  const auto& found = find_subject(subject);
  Sizes all(found.name, found.sizes);
  for (const auto& [name, size] : sizes) all.set(name, size);
  return found.build(all);
}

std::vector<std::string> strategies(const Subject& subject) {
  const auto graph = subject.build(Sizes(subject.name, subject.sizes)).graph;
  const auto computing = std::count_if(graph.nodes.begin(), graph.nodes.end(), computes);
  std::vector<std::string> names;
  const auto* only = only_primitive(graph);
  if (only) {
    for (const auto& strategy : only->strategies) names.emplace_back(strategy.name);
  } else if (computing > 1) {
    names.emplace_back("wide");
  }
  names.emplace_back(kSequential.name);
  return names;
}

}  // namespace wide::zoo
