#pragma once
// Where nodes of a graph stand on the canvas: layers from left to right, modules folded into one box where
// asked for.

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/bench.h"

namespace wide::gui {

/// A box of the picture: one node, a user input, or a whole module.
struct GraphBox {
  std::string key;                 ///< "%NAME" of a node, "input NAME", or "module PATH"
  std::string module;              ///< path of a folded module; empty: it is none
  std::vector<std::size_t> nodes;  ///< indices into ModelView::graph; none for an input
  int layer = 0;                   ///< column
  double row = 0;                  ///< centre, in boxes; 0 is the middle
};

struct GraphPicture {
  std::vector<GraphBox> boxes;
  std::vector<std::pair<std::size_t, std::size_t>> links;  ///< from box to box, each once
};

/// `folded` holds module paths; all that lies in one of them, however deep, is in its box. What is computed
/// once, at build, is left out unless `constants`.
GraphPicture picture_of(const ModelView& model, const std::set<std::string>& folded, bool constants);

/// Paths that hold two nodes at least, the outer before the inner.
std::vector<std::string> modules_of(const ModelView& model);

/// Modules of one depth, the outermost that leaves five boxes or more, so that a folded graph still says
/// something. Empty where no module holds two nodes.
std::set<std::string> fold_all(const ModelView& model);

/// Whether `module` is `outer` or lies in it.
bool lies_in(const std::string& module, const std::string& outer);

}  // namespace wide::gui
