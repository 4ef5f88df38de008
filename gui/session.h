#pragma once
// The open model as all panels see it, and what may be done with it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench.h"

namespace wide::gui {

/// What was chosen before, to go back to.
struct WishHistory {
  BuildWish last;  ///< as the session had it when it was last looked at
  std::vector<BuildWish> undo, redo;
};

struct Session {
  std::shared_ptr<const ModelView> model;  ///< null: nothing is open
  std::shared_ptr<const ModelView>
      planned;     ///< the same model as AUTO plans it: what there is to choose from
  BuildWish wish;  ///< as edited; where it differs from model->wish there is something to build
  std::optional<ProofView> proof;  ///< of `model` as it is built
  std::optional<Calls> calls;      ///< of `model`, where somebody asked
  WishHistory history;
  std::uint64_t revision = 0;  ///< grows with every model shown

  /// Each frame: a wish that somebody changed can be taken back.
  void note_changes();
  /// Takes back the last change, or makes it again; nothing where there is none.
  void undo();
  void redo();
  bool edited() const { return model && !(wish == model->wish); }
  /// The node as AUTO sees it, with all it could be run by; null where there is none.
  const NodeView* offers(const std::string& node) const { return planned ? planned->find(node) : nullptr; }
};

/// What the user chose for a node: by value, then by kind, then for all. "auto" where nothing was.
std::string chosen(const BuildWish& wish, const NodeView& node);

}  // namespace wide::gui
