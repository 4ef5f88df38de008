#include "core/tune/examples.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/aten/side_by_side.h"

namespace wide {
namespace {

// Of all sets where they are small: a part of a core's own cache. One set that no cache holds needs no other.
constexpr double kAllBytes = 256 << 10, kLargest = 64 << 20;

}  // namespace

Examples::Examples(const PlanRequest& request) : sets_(1, {request.example.begin(), request.example.end()}) {
  double bytes = 1;
  for (std::size_t i = 0; i < sets_[0].size(); ++i) {
    const auto& tensor = sets_[0][i].tensor;
    if (request.parts.inputs[i].constant || !tensor.defined()) continue;
    given_.push_back(i);
    bytes += static_cast<double>(tensor.nbytes());
  }
  if (!request.parts.device.device.is_cpu() || bytes > kLargest) return;
  is_small_ = bytes <= kAllBytes;
  const auto count = static_cast<std::size_t>(std::clamp(kAllBytes / bytes, 2.0, 8.0));
  while (sets_.size() < count) {
    auto set = sets_[0];
    for (const auto i : given_) set[i].tensor = set[i].tensor.clone();
    sets_.push_back(std::move(set));
  }
}

std::function<void()> Examples::passes(const std::optional<Execution>& execution, MemoryPool& pool) {
  return [this, &execution, &pool] {
    turn_ = (turn_ + 1) % sets_.size();
    (void)execution->run(sets_[turn_], pool);
  };
}

void Examples::renew() {
  if (is_small_) return;
  // The first set is the caller's.
  if (turn_ + 1 >= sets_.size()) turn_ = 0;
  run_side_by_side(1, 1, [&](std::size_t) {
    for (const auto i : given_) sets_[turn_ + 1][i].tensor.copy_(sets_[turn_][i].tensor);
  });
}

}  // namespace wide
