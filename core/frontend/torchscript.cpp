#include "core/frontend/torchscript.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/loop_unrolling.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>

#include "core/aten/torch_error.h"
#include "core/frontend/torchscript_graph.h"
#include "formats/error.h"
#include "formats/fault.h"
#include "formats/zip_directory.h"

namespace wide {
namespace {

namespace jit = torch::jit;

// Attributes that are plain values (`training`, a stride) become constants, so that branches on them fold.
void fold_attributes(jit::Block* block, const std::unordered_map<const jit::Value*, c10::IValue>& known,
                     jit::Graph& graph) {
  auto objects = known;
  for (auto it = block->nodes().begin(); it != block->nodes().end();) {
    auto* node = *it++;
    for (auto* nested : node->blocks()) fold_attributes(nested, objects, graph);
    if (node->kind() != c10::prim::GetAttr) continue;
    const auto owner = objects.find(node->input());
    if (owner == objects.end()) continue;
    const auto value = owner->second.toObjectRef().getAttr(node->s(c10::attr::name));
    if (value.isObject()) {
      objects[node->output()] = value;
    } else if (value.isInt() || value.isDouble() || value.isBool() || value.isNone() || value.isString()) {
      const jit::WithInsertPoint here(node);
      if (value.isNone() && node->output()->type()->kind() != c10::TypeKind::NoneType) continue;
      node->output()->replaceAllUsesWith(graph.insertConstant(value));
    }
  }
}

std::shared_ptr<jit::Graph> simplified(const jit::Module& module) {
  auto graph = module.get_method("forward").graph()->copy();
  jit::Inline(*graph);
  fold_attributes(graph->block(), {{graph->inputs()[0], module._ivalue()}}, *graph);
  jit::ConstantPropagation(graph);
  if (jit::UnrollConstantLoops(graph)) jit::ConstantPropagation(graph);
  jit::EliminateDeadCode(graph);
  return graph;
}

// The compiler of TorchScript throws exceptions of its own too.
template <typename Body>
void within_torchscript(const char* stage, const std::string& where, Body body) {
  try {
    with_torch_errors(
        stage, [&] { return where; }, body);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const auto start = std::min(text.find_first_not_of('\n'), text.size());
    throw Error(stage,
                std::string(where).append(": ").append(text.substr(start, text.find('\n', start) - start)));
  }
}

}  // namespace

bool is_torchscript(const std::filesystem::path& file) {
  try {
    const auto names = formats::read_zip_names(file);
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
      const auto folder = name.find('/');
      return folder != std::string::npos && name.compare(folder, 6, "/code/") == 0;
    });
  } catch (const Error&) {
    return false;
  }
}

Graph capture_torchscript(const std::filesystem::path& file, std::string name,
                          std::map<std::string, at::Tensor>& tensors) {
  const auto where = formats::display_name(file);
  std::optional<jit::Module> module;
  within_torchscript("load", where, [&] {
    module = jit::load(file.string(), at::Device(at::kCPU));
    module->eval();
  });
  std::shared_ptr<jit::Graph> graph;
  within_torchscript("capture", where, [&] { graph = simplified(*module); });
  return convert_torchscript(*module, *graph, std::move(name), tensors);
}

}  // namespace wide
