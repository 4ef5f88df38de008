#include "cuda/graph_notes.h"

#include <array>
#include <optional>
#include <utility>

#include "cuda/refusal.h"

// Note [Nodes of a CUDA Graph]
// A kernel of a graph that is launched says which node of the graph it is (graphNodeId), and all of them were
// launched by one call. So which node of the model it works for is noted where the graph is made. While a
// stream is recorded, each launch makes a node of the graph, of which CUPTI tells at once, on the thread that
// launches: it is of the step that this thread is in. To instantiate the graph copies its nodes, and the
// copies are what runs; CUPTI tells the original of each. A copy may be told as made first, and that in a
// step that is no node's: what is known of a copy comes from its original, whichever comes first.

namespace wide::cuda {
namespace {

constexpr std::array kTold = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

}  // namespace

void GraphPlaces::set(std::uint64_t id, const Place& place) {
  const std::lock_guard lock(mutex_);
  places_.insert_or_assign(id, place);
}

void GraphPlaces::add(std::uint64_t id, const Place& place) {
  const std::lock_guard lock(mutex_);
  places_.try_emplace(id, place);
}

void GraphPlaces::copy(std::uint64_t id, std::uint64_t original) {
  const std::lock_guard lock(mutex_);
  if (const auto known = places_.find(original); known != places_.end()) {
    const auto place = known->second;
    places_.insert_or_assign(id, place);
  } else {
    places_.erase(id);
  }
}

std::optional<Place> GraphPlaces::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto known = places_.find(id);
  return known == places_.end() ? std::nullopt : std::optional(known->second);
}

void GraphPlaces::refuse(std::string reason) {
  const std::lock_guard lock(mutex_);
  refusal_ = std::move(reason);
}

std::string GraphPlaces::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

std::string GraphNotes::start(std::int64_t /*origin*/) {
  if (const auto code = api_.subscribe(&subscriber_, hear, this); code != CUPTI_SUCCESS) {
    subscriber_ = nullptr;
    places_.refuse(explain(api_, code, "cuptiSubscribe").reason);
    return "";
  }
  for (const auto what : kTold) {
    const auto code = api_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, what);
    if (code == CUPTI_SUCCESS) continue;
    stop();
    places_.refuse(explain(api_, code, "cuptiEnableCallback").reason);
    return "";
  }
  places_.refuse("");
  return "";
}

void GraphNotes::stop() {
  if (const auto handle = std::exchange(subscriber_, nullptr)) api_.unsubscribe(handle);
}

void GraphNotes::begin(const profiler::Step& step) {
  const std::lock_guard lock(mutex_);
  auto& steps = open_[std::this_thread::get_id()];
  const bool conversion =
      step.kind == profiler::Kind::kConversion || (!steps.empty() && steps.back().conversion);
  // Of the pass that launches it, which is none that records.
  steps.push_back({step.node, step.member, step.members, -1, conversion});
}

void GraphNotes::end() {
  const std::lock_guard lock(mutex_);
  const auto mine = open_.find(std::this_thread::get_id());
  if (mine == open_.end()) return;
  mine->second.pop_back();
  if (mine->second.empty()) open_.erase(mine);
}

void GraphNotes::hear(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId what, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || data == nullptr) return;
  const auto* graph =
      static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
  if (graph == nullptr) return;
  auto* const notes = static_cast<GraphNotes*>(self);
  if (what == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) notes->made(graph->node);
  if (what == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) notes->copied(graph->node, graph->originalNode);
}

void GraphNotes::made(CUgraphNode node) {
  std::uint64_t id = 0;
  if (api_.graph_node_id(node, &id) != CUPTI_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  const auto mine = open_.find(std::this_thread::get_id());
  if (mine == open_.end()) return;
  const auto& place = mine->second.back();
  if (place.node >= 0) return places_.set(id, place);
  places_.add(id, place);
}

void GraphNotes::copied(CUgraphNode node, CUgraphNode original) {
  std::uint64_t id = 0, known = 0;
  if (api_.graph_node_id(node, &id) != CUPTI_SUCCESS) return;
  if (api_.graph_node_id(original, &known) != CUPTI_SUCCESS) return;
  places_.copy(id, known);
}

}  // namespace wide::cuda
