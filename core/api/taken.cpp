#include "core/api/taken.h"

#include <ATen/ATen.h>

#include "core/api/values.h"
#include "formats/error.h"

namespace widebench {

void take(Taken& taken, const wide::Graph& graph, const std::set<std::string>& known,
          const std::map<std::string, at::Tensor>& file, const MemberWeights& given) {
  if (given.same_as) {
    throw wide::Error("load", "member '" + given.name +
                                  "': same_as is for replace_members(), and for who brings "
                                  "no tensors; give one or the other");
  }
  wide::Member member{given.name, file};
  for (const auto& [fqn, own] : given.tensors) {
    const at::Tensor& tensor = own;
    if (!known.contains(fqn)) {
      throw wide::Error("load", "member '" + given.name + "' has the tensor '" + fqn +
                                    "', which the model lacks; give members of one architecture");
    }
    if (!tensor.defined())
      throw wide::Error("load", "member '" + given.name + "', tensor '" + fqn + "': is no tensor; give one");
    if (!tensor.is_cpu()) {
      throw wide::Error("load", "member '" + given.name + "', tensor '" + fqn + "': lies on " +
                                    tensor.device().str() +
                                    "; models run on the CPU here, move the members there");
    }
    const bool is_dense = tensor.layout() == at::kStrided && !tensor.is_nested() && !tensor.is_quantized();
    if (!is_dense || tensor._is_zerotensor() || lacks_memory(tensor)) {
      throw wide::Error("load", "member '" + given.name + "', tensor '" + fqn +
                                    "': is sparse, nested, quantized or without memory; give a dense one");
    }
    taken.versions.watch(given.name, fqn, tensor);
    member.tensors.insert_or_assign(fqn, tensor.detach());
  }
  check_member(graph, member);
  taken.members.push_back(std::move(member));
}

void check_names(const std::vector<wide::Member>& members) {
  std::set<std::string> seen;
  for (const auto& member : members) {
    if (!seen.insert(member.name).second)
      throw wide::Error("load", "two members have the name '" + member.name + "'; give each its own");
  }
}

std::map<std::string, at::Tensor> constants_of(const wide::Graph& graph,
                                               const std::map<std::string, at::Tensor>& tensors) {
  std::map<std::string, at::Tensor> constants;
  for (const auto& input : graph.inputs) {
    if (input.kind != wide::InputKind::kConstant && input.persistent) continue;
    if (const auto found = tensors.find(input.target); found != tensors.end()) constants.insert(*found);
  }
  return constants;
}

}  // namespace widebench
