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
  double x = 0, y = 0;             ///< place after wrap(), in boxes; (0, 0) is the first one's
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

/// Breaks the layers into lines below one another, as a text is, such that all of it fits into `wide` times
/// `high` boxes as large as can be; one line where that is readable already.
void wrap(GraphPicture& picture, double wide, double high);

/// How deep modules of two nodes or more lie in one another; 0: there is none.
int module_levels(const ModelView& model);
/// Modules to fold so that those of `level` are boxes, 0 the outermost; module_levels() folds nothing.
std::set<std::string> fold_to(const ModelView& model, int level);
/// Opens one module by one level: the modules right in it stay folded.
void unfold_once(const ModelView& model, std::set<std::string>& folded, const std::string& path);
/// Folds the innermost module of two nodes or more that holds this one. False: there is none.
bool fold_around(const ModelView& model, std::set<std::string>& folded, const std::string& module);

/// Modules of one depth, the outermost that leaves five boxes or more, so that a folded graph still says
/// something. Empty where no module holds two nodes.
std::set<std::string> fold_all(const ModelView& model);

/// Whether `module` is `outer` or lies in it.
bool lies_in(const std::string& module, const std::string& outer);

}  // namespace wide::gui
