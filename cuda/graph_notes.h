#pragma once
// Notes for which node of a model each node of a CUDA Graph was recorded.

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda/cupti_api.h"
#include "cuda/places.h"
#include "profiler/trace/source.h"

namespace wide::cuda {

/// A source that is told the steps in which graphs are recorded; what runs is not its business. While it
/// lives no other tool can be told of CUDA's calls. See Note [Nodes of a CUDA Graph].
class GraphNotes final : public profiler::Source {
 public:
  GraphNotes(const CuptiApi& api, GraphPlaces& places) : api_(api), places_(places) {}
  ~GraphNotes() override { GraphNotes::stop(); }

  /// Always begins: where CUPTI does not tell of graphs, `places` says why.
  std::string start(std::int64_t origin) override;
  void begin(const profiler::Step& step) override;
  void end() override;
  void stop() override;
  void add_to(profiler::Trace& /*trace*/) override {}

 private:
  static void hear(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId what, const void* data);
  void made(CUgraphNode node);
  void copied(CUgraphNode node, CUgraphNode original);

  const CuptiApi& api_;
  GraphPlaces& places_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::mutex mutex_;
  std::map<std::thread::id, std::vector<Place>> open_;  ///< steps that each thread is in
};

}  // namespace wide::cuda
