#pragma once
// load: the members of a wide model, from one exported program and checkpoints, or from several programs.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// One model of the architecture.
struct Member {
  std::string name;                           ///< stem of its file
  std::map<std::string, at::Tensor> tensors;  ///< parameters, buffers and constants by fqn
};

struct LoadedModel {
  Graph graph;  ///< as captured
  std::vector<Member> members;
  std::vector<std::string> warnings;
};

struct LoadOptions {
  bool trust = false;  ///< TorchScript is executable code: read it only when the user says so
};

/// One program and K checkpoints: K members, and all of a checkpoint that `widebench pack` wrote; one program
/// alone: one member with its own weights; several programs: one member each, which must have the same graph.
/// Throws wide::Error ("load") naming file and tensor, with both sides, for a key that is missing or extra, a
/// wrong shape or dtype, or graphs that differ.
LoadedModel load(const std::vector<std::filesystem::path>& models,
                 const std::vector<std::filesystem::path>& weights, const LoadOptions& options = {});

/// What a program file says, without members.
struct LoadedProgram {
  Graph graph;
  std::map<std::string, at::Tensor> tensors;  ///< the file's own, by fqn, but those in `given`
  std::vector<std::string> warnings;
};

/// From the bytes of a .pt2 file; `name` stands in messages. Tensors named in `given` are the caller's to
/// bring and are not copied out of the file. Throws as load() does.
LoadedProgram load_program(std::vector<std::byte> file, const std::string& name,
                           const std::set<std::string>& given = {});
/// Its graph alone: no tensor is copied.
Graph load_graph(std::vector<std::byte> file, const std::string& name);

/// The first line in which two graphs differ, both sides of it; empty where they are one architecture.
std::string architecture_difference(const Graph& a, const Graph& b);

/// Names of all tensors that a member of the graph has.
std::set<std::string> tensor_names(const Graph& graph);

/// Throws wide::Error ("load") naming the tensor, with both sides, where the member lacks one that the graph
/// names or has it in another shape or dtype.
void check_member(const Graph& graph, const Member& member);

/// Unique member names for files: the stem; "#2" is added for the same file or equal contents given again,
/// and the folder's name is put before the stem where different files share one.
std::vector<std::string> member_names(const std::vector<std::filesystem::path>& files);

}  // namespace wide
