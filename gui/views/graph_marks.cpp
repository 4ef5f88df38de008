#include "gui/views/graph_marks.h"

#include <map>

namespace wide::gui {
namespace {

std::map<std::string, const TryNode*> nodes_by_name(const Try& one) {
  std::map<std::string, const TryNode*> nodes;
  for (const auto& node : one.nodes) nodes.emplace(node.name, &node);
  return nodes;
}

// What another plan does otherwise; empty: nothing that is known.
std::string otherwise(const TryNode& shown, const TryNode& other) {
  if (shown.strategy != other.strategy) return other.strategy + " to " + shown.strategy;
  const bool layouts = !shown.layout.empty() && !other.layout.empty();
  return layouts && shown.layout != other.layout ? other.layout + " to " + shown.layout : "";
}

}  // namespace

GraphMarks marks_of_times(const ModelView& model, const ProfileData* profile) {
  GraphMarks marks;
  std::map<std::string, const profiler::Limit*> captured;
  if (profile != nullptr) {
    const auto& trace = profile->traces[profile->wide];
    const bool same =
        trace.subject == model.name && trace.members == static_cast<std::int64_t>(model.members.size());
    if (same) {
      for (const auto& limit : profile->limits.nodes) captured.emplace(selection_name(limit.name), &limit);
    }
  }
  for (const auto& node : model.graph) {
    marks.choices += node.choosable() ? 1 : 0;
    NodeMark mark{.us = node.microseconds, .measured = node.measured};
    const auto found = captured.find(node.name);
    if (found != captured.end() && found->second->strategy == node.strategy) {
      mark.us = found->second->wide_us, mark.measured = true;
      marks.captured += node.choosable() ? 1 : 0;
    }
    marks.nodes.push_back(std::move(mark));
  }
  return marks;
}

GraphMarks marks_of_plans(const ModelView& model, const Try& shown, const Try& other) {
  GraphMarks marks;
  const auto here = nodes_by_name(shown), there = nodes_by_name(other);
  for (const auto& node : model.graph) {
    marks.choices += node.choosable() ? 1 : 0;
    NodeMark mark{.us = node.microseconds, .measured = node.measured};
    const auto now = here.find(node.name), then = there.find(node.name);
    if (now != here.end() && then != there.end()) {
      mark.us = now->second->microseconds, mark.measured = !now->second->estimate;
      mark.differs = otherwise(*now->second, *then->second);
      if (!mark.differs.empty()) {
        mark.change_us = now->second->microseconds - then->second->microseconds;
        mark.measured = mark.measured && !then->second->estimate;
        marks.change_us += mark.change_us;
        ++marks.differing;
      }
    }
    marks.nodes.push_back(std::move(mark));
  }
  return marks;
}

}  // namespace wide::gui
