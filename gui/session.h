#pragma once
// The open model as all panels see it, and what may be done with it.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/bench.h"
#include "gui/views/tries.h"

namespace wide::gui {

/// What was chosen before, to go back to.
struct WishHistory {
  BuildWish last;  ///< as the session had it when it was last looked at
  std::vector<BuildWish> undo, redo;
};

struct Session {
  std::shared_ptr<const ModelView> model;  ///< null: nothing is open
  std::shared_ptr<const ModelView>
      planned;  ///< the same model as AUTO plans it: what there is to choose from
  std::shared_ptr<const ModelView> offered;  ///< `planned`, with the times of what `model` runs by
  BuildWish wish;  ///< as edited; where it differs from model->wish there is something to build
  std::optional<ProofView> proof;  ///< of `model` as it is built
  std::optional<Calls> calls;      ///< of `model`, where somebody asked
  WishHistory history;
  std::vector<Try> tries;      ///< of `model`, in the order they were first chosen
  std::uint64_t revision = 0;  ///< grows with every model shown

  /// Each frame: a wish that somebody changed can be taken back, and is noted as a try.
  void note_changes();
  /// Takes back the last change, or makes it again; nothing where there is none.
  void undo();
  void redo();
  /// What the node would take as it is chosen now, where that is not how it is built; nothing: it is built
  /// so, or no time is known. An estimate even of measured strategies: other nodes, layouts and threads
  /// matter.
  std::optional<double> estimated_us(const NodeView& node) const;
  /// A pass with all that is chosen and not built yet; what is not known counts as it is.
  double estimated_pass_us() const;
  /// What is chosen and not built yet, as a try.
  Try estimated() const;
  bool edited() const { return model && !(wish == model->wish); }
  /// The node as AUTO sees it, with all it could be run by; null where there is none.
  const NodeView* offers(const std::string& node) const { return offered ? offered->find(node) : nullptr; }
};

/// The plan of an open model as a file, for other processes; the same file for the same plan. Throws
/// wide::Error when it cannot be written.
std::filesystem::path plan_file(const ModelView& model);

/// Why AUTO took a strategy though another takes less by itself; empty: none does.
std::string why_not_fastest(const NodeView& node);

/// What the user chose for a node: by value, then by kind, then for all. "auto" where nothing was.
std::string chosen(const BuildWish& wish, const NodeView& node);

}  // namespace wide::gui
