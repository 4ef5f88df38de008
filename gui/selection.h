#pragma once
// What is selected, once for all panels: a node in the graph is the same node in strategies, timeline and
// inspector.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace wide::gui {

struct Selection {
  std::string node;      ///< first result's name in the graph, "batch_norm" of "%batch_norm"; empty: none
  std::string op_kind;   ///< "conv": the kind of operation last chosen in a table; empty: none
  std::string case_key;  ///< a case of a sweep, as Case::key says it; empty: none
  std::vector<std::int64_t>
      runs;                    ///< of the history, in the order they were chosen; the first is the baseline
  std::uint64_t revision = 0;  ///< grows with every change

  void choose_node(std::string name) { change(node, std::move(name)); }
  void choose_kind(std::string name) { change(op_kind, std::move(name)); }
  void choose_case(std::string key) { change(case_key, std::move(key)); }
  bool has_run(std::int64_t run) const { return std::find(runs.begin(), runs.end(), run) != runs.end(); }
  void toggle_run(std::int64_t run) {
    if (has_run(run)) {
      std::erase(runs, run);
    } else {
      runs.push_back(run);
    }
    ++revision;
  }

 private:
  void change(std::string& what, std::string to) {
    if (what == to) return;
    what = std::move(to);
    ++revision;
  }
};

}  // namespace wide::gui
