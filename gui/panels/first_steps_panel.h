#pragma once
// From a model to a verdict, step by step, for who opens the window for the first time.

#include <cstddef>

#include "gui/workbench.h"

namespace wide::gui {

struct FirstStepsPanel {
  bool graph = false, strategies = false;  ///< were looked at from here
};

/// How many of the steps are done, and how many there are.
struct StepsDone {
  std::size_t done = 0, all = 0;
};
StepsDone steps_done(const FirstStepsPanel& panel, const Workbench& bench);

void draw(FirstStepsPanel& panel, Workbench& bench, const Ui& ui);

}  // namespace wide::gui
