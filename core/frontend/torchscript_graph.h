#pragma once
// An inlined TorchScript graph, node by node, as a Graph.

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>

#include "core/ir/graph.h"

namespace wide {

/// `graph` is the inlined forward of `module`, its first input the module itself. Throws wide::Error
/// ("capture").
Graph convert_torchscript(const torch::jit::Module& module, const torch::jit::Graph& graph, std::string name,
                          std::map<std::string, at::Tensor>& tensors);

}  // namespace wide
