#pragma once
// Members as a caller brings them.

#include <wide/model.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/api/versions.h"
#include "core/frontend/members.h"

namespace widebench {

struct Taken {
  std::vector<wide::Member> members;
  Versions versions;
};

/// Adds a member of `given`, and of `file` what that does not bring. `known` are the tensors that the graph
/// names. Throws wide::Error ("load") naming member and tensor.
void take(Taken& taken, const wide::Graph& graph, const std::set<std::string>& known,
          const std::map<std::string, at::Tensor>& file, const MemberWeights& given);

/// Throws wide::Error ("load") where two have one name.
void check_names(const std::vector<wide::Member>& members);

/// What a replaced member need not bring: a checkpoint holds no constants.
std::map<std::string, at::Tensor> constants_of(const wide::Graph& graph,
                                               const std::map<std::string, at::Tensor>& tensors);

}  // namespace widebench
