#include "core/passes/pipeline.h"

#include <chrono>

#include "core/ir/text.h"
#include "core/passes/verify.h"
#include "formats/error.h"

namespace wide {

Graph Pipeline::run(std::string_view stage, const std::function<Graph()>& body) {
  if (options_.cancelled && options_.cancelled()) throw Error("plan", "cancelled");
  const auto start = std::chrono::steady_clock::now();
  auto graph = body();
  verify(graph, stage);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  note(stage, elapsed.count(), [&] { return print(graph); });
  return graph;
}

void Pipeline::note(std::string_view stage, double milliseconds, const std::function<std::string()>& text) {
  records_.push_back({std::string(stage), milliseconds, options_.snapshots ? text() : std::string()});
}

}  // namespace wide
