#pragma once
// One wrapper that runs every stage alike: cancelled? time it, run it, verify, snapshot.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// What a stage left behind, for `trace`, the log and tests.
struct StageRecord {
  std::string name;
  double milliseconds = 0;
  std::string text;  ///< print() of its result; empty unless snapshots are on
};

struct PipelineOptions {
  bool snapshots = false;                ///< keep the text after each stage
  std::function<bool()> cancelled = {};  ///< asked before each stage
};

/// Runs stages in order. Stages are pure functions from graph to graph.
class Pipeline {
 public:
  explicit Pipeline(PipelineOptions options) : options_(std::move(options)) {}

  /// Throws wide::Error("plan", "cancelled") when cancelled.
  Graph run(std::string_view stage, const std::function<Graph()>& body);
  /// For a stage whose result is not a graph: `text` is its snapshot.
  void note(std::string_view stage, double milliseconds, const std::function<std::string()>& text);

  const std::vector<StageRecord>& records() const { return records_; }

 private:
  PipelineOptions options_;
  std::vector<StageRecord> records_;
};

}  // namespace wide
