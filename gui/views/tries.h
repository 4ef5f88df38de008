#pragma once
// What was tried on the open model: each choice of strategies with what it was expected to take, and what it
// took where it was measured.

#include <cstdint>
#include <string>
#include <vector>

#include "app/bench.h"
#include "gui/views/table.h"
#include "results/record.h"

namespace wide::gui {

/// A node as a try runs it.
struct TryNode {
  std::string name, kind, strategy;
  std::string layout;  ///< of its result; empty: known once it is built
  double microseconds = 0;
  bool estimate = true;  ///< not built, or not timed on this machine
};

struct Try {
  BuildWish wish;
  double predicted_us = 0;  ///< of a pass
  bool built = false;       ///< the prediction is of what was built, not of the choice alone
  std::vector<TryNode> nodes;
  // Measured, where it was.
  profiler::Interval time, speedup;  ///< of a pass; over N eager runs
  std::string doubt;                 ///< why the measuring says nothing; empty: it does, or was not done
  std::int64_t run = 0;              ///< of the history; 0: not measured
};

/// "AUTO", "conv2d=grouped", "AUTO, reduce-overhead".
std::string name(const BuildWish& wish);

/// What is built.
Try try_of(const ModelView& model);
/// One row a wish: what is known of it now replaces what was, but a measurement stays, and what was built is
/// not replaced by an estimate. The oldest ones that were not measured go beyond `most`.
void note_try(std::vector<Try>& tries, Try another, std::size_t most = 100);
/// Takes over what a measurement of that wish says.
void note_measured(std::vector<Try>& tries, const BuildWish& wish, const results::CaseRecord& record,
                   std::int64_t run);

/// Columns: try, predicted, measured, speedup, state, run.
Table tries_table(const std::vector<Try>& tries);
/// Two of them node by node. Columns: node, kind, differs, first, second, first_layout, second_layout,
/// first_time, second_time, change. What differs stands first.
Table tries_compared(const Try& first, const Try& second);

}  // namespace wide::gui
