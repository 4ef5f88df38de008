#include "gui/views/tries.h"

#include <algorithm>
#include <map>

#include "gui/views/quantity.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {
namespace {

std::string state_of(const Try& one) {
  if (!one.doubt.empty()) return one.doubt;
  if (one.run > 0) return "measured";
  return one.built ? "built, not measured" : "estimate, not built";
}

std::string difference(const TryNode* first, const TryNode* second) {
  if (first == nullptr) return "only in the second";
  if (second == nullptr) return "only in the first";
  std::string text;
  if (first->strategy != second->strategy) text = "strategy";
  const bool layouts = !first->layout.empty() && !second->layout.empty();
  if (layouts && first->layout != second->layout) text.append(text.empty() ? "" : ", ").append("layout");
  return text;
}

std::string signed_time(double microseconds) {
  return (microseconds > 0 ? "+" : "") + show_time({microseconds});
}

}  // namespace

std::string name(const BuildWish& wish) {
  const auto word = strategy_word(wish);
  auto text = word == "auto" ? std::string("AUTO") : results::printable(word, 200);
  if (wish.mode != "eager") text.append(", ").append(wish.mode);
  return text;
}

Try try_of(const ModelView& model) {
  Try result{.wish = model.wish, .predicted_us = model.pass_us, .built = true};
  for (const auto& node : model.graph) {
    if (!node.choosable()) continue;
    result.nodes.push_back(
        {node.name, node.kind, node.strategy, node.layout, node.microseconds, !node.measured});
  }
  return result;
}

void note_try(std::vector<Try>& tries, Try another, std::size_t most) {
  const auto same =
      std::find_if(tries.begin(), tries.end(), [&](const Try& one) { return one.wish == another.wish; });
  if (same == tries.end()) {
    tries.push_back(std::move(another));
  } else if (another.built || !same->built) {
    same->predicted_us = another.predicted_us, same->built = another.built;
    same->nodes = std::move(another.nodes);
  }
  for (auto at = tries.begin(); tries.size() > most && at + 1 != tries.end();)
    at = at->run == 0 ? tries.erase(at) : at + 1;
}

void note_measured(std::vector<Try>& tries, const BuildWish& wish, const results::CaseRecord& record,
                   std::int64_t run) {
  const auto same =
      std::find_if(tries.begin(), tries.end(), [&](const Try& one) { return one.wish == wish; });
  if (same == tries.end()) return;
  same->run = run;
  same->time = same->speedup = {};
  same->doubt.clear();
  if (record.verdict != results::Verdict::kPass) {
    same->doubt = std::string(results::name(record.verdict)) + ": " + results::printable(record.reason, 300);
    return;
  }
  same->time = record.wide.ci95.known() ? record.wide.ci95 : profiler::Interval{record.wide.median_us};
  same->speedup = record.speedup;
  if (const auto why = results::unreliable(record); !why.empty())
    same->doubt = std::string(results::kUnreliable) + "; " + results::printable(why, 300);
}

Table tries_table(const std::vector<Try>& tries) {
  Table table({{"try", "try"},
               {"predicted", "predicted", CellKind::kNumber, show_time, "us"},
               {"measured", "measured", CellKind::kInterval, show_time, "us"},
               {"speedup", "over N eager", CellKind::kInterval, show_ratio},
               {"state", "state"},
               {"run", "run", CellKind::kNumber, show_count}});
  for (const auto& one : tries) {
    const auto row = table.add_row();
    table.set(row, 0, name(one.wish));
    table.set(row, 1, one.predicted_us);
    table.set(row, 2, one.time);
    table.set(row, 3, one.speedup);
    table.set(row, 4, state_of(one));
    if (one.run > 0) table.set(row, 5, static_cast<double>(one.run));
  }
  table.refresh();
  return table;
}

Table tries_compared(const Try& first, const Try& second) {
  Table table({{"node", "node"},
               {"kind", "operation"},
               {"differs", "differs in"},
               {"first", "first"},
               {"second", "second"},
               {"first_time", "its time", CellKind::kNumber, show_time, "us"},
               {"second_time", "its time", CellKind::kNumber, show_time, "us"},
               {"change", "change", CellKind::kNumber,
                [](const Interval& us) { return signed_time(us.value); }, "us"},
               {"first_layout", "layout"},
               {"second_layout", "layout"}});
  std::map<std::string, const TryNode*> others;
  for (const auto& node : second.nodes) others.emplace(node.name, &node);
  const auto add = [&](const TryNode* a, const TryNode* b) {
    const auto row = table.add_row();
    const auto& either = a != nullptr ? *a : *b;
    table.set(row, 0, results::printable(either.name, 100));
    table.set(row, 1, results::printable(either.kind, 60));
    table.set(row, 2, difference(a, b));
    if (a != nullptr) {
      table.set(row, 3, a->strategy);
      table.set(row, 5, a->microseconds);
      table.set(row, 8, a->layout);
    }
    if (b != nullptr) {
      table.set(row, 4, b->strategy);
      table.set(row, 6, b->microseconds);
      table.set(row, 9, b->layout);
    }
    if (a != nullptr && b != nullptr) table.set(row, 7, b->microseconds - a->microseconds);
  };
  for (const bool differing : {true, false}) {  // what differs first
    for (const auto& node : first.nodes) {
      const auto found = others.find(node.name);
      const auto* other = found == others.end() ? nullptr : found->second;
      if (difference(&node, other).empty() != differing) add(&node, other);
    }
  }
  for (const auto& node : second.nodes) {
    const bool known = std::any_of(first.nodes.begin(), first.nodes.end(),
                                   [&](const TryNode& one) { return one.name == node.name; });
    if (!known) add(nullptr, &node);
  }
  table.refresh();
  return table;
}

}  // namespace wide::gui
