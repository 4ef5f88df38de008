#pragma once
// capture: an exported program becomes a Graph with every argument in schema order and defaults filled in.

#include "core/ir/graph.h"
#include "formats/exported_program.h"

namespace wide {

/// `name` is shown in messages and prints (the file's stem). The higher-order operator that only sets a mode
/// (wrap_with_set_grad_enabled) is inlined. Throws wide::Error ("capture") naming the
/// node for an operator that no library registers, or an argument that does not fit its schema.
Graph capture(const formats::ExportedProgram& program, std::string name);

}  // namespace wide
