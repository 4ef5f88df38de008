#pragma once

#include "core/ir/graph.h"
#include "formats/exported_program.h"

namespace wide {

/// An argument that names no value and is no list: a number, a dtype, a layout, … Throws wide::Error
/// ("capture") naming the node where there is nothing of the kind in a graph.
Argument literal(const formats::ProgramNode& node, const formats::Argument& argument);

}  // namespace wide
