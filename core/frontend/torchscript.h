#pragma once
// TorchScript becomes a Graph. Reading such a file can run code: callers ask for the user's trust first.

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/ir/graph.h"

namespace wide {

/// True for a zip archive with a code/ folder, which is what torch.jit.save writes. Reads the archive's
/// directory only; no code runs. False when the file cannot be read.
bool is_torchscript(const std::filesystem::path& file);

/// The inlined forward of the module in `file`; `tensors` receives its parameters, buffers and constants by
/// fqn. User inputs have no types: the file does not keep them. Sizes that the trace fixed stay fixed. Throws
/// wide::Error ("load", "capture") naming what cannot be represented: loops, branches on data, dictionaries.
Graph capture_torchscript(const std::filesystem::path& file, std::string name,
                          std::map<std::string, at::Tensor>& tensors);

}  // namespace wide
