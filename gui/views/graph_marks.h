#pragma once
// What colours can say in the graph of a model: how long each node takes, or how another plan runs it.

#include <cstddef>
#include <string>
#include <vector>

#include "app/bench.h"
#include "gui/views/profile_data.h"
#include "gui/views/tries.h"

namespace wide::gui {

struct NodeMark {
  double us = 0;          ///< of a pass
  bool measured = false;  ///< else estimated
  std::string differs;    ///< "grouped to sequential"; empty: both plans run it alike
  double change_us = 0;   ///< that it takes more by the plan that is shown
};

struct GraphMarks {
  std::vector<NodeMark> nodes;  ///< by index into ModelView::graph
  std::size_t choices = 0;      ///< nodes that have a strategy to choose: not those computed at build
  std::size_t captured = 0;     ///< nodes whose time is that of the profile
  std::size_t differing = 0;    ///< nodes that the plans run otherwise
  double change_us = 0;         ///< of all of them
};

/// As captured, where the profile is of this model and ran the node by the same strategy; else as planned.
GraphMarks marks_of_times(const ModelView& model, const ProfileData* profile);
/// What differs between the plan that is shown and another one.
GraphMarks marks_of_plans(const ModelView& model, const Try& shown, const Try& other);

}  // namespace wide::gui
