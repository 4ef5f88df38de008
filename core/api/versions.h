#pragma once
// Whether weights that the caller keeps were written since they were taken in.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace widebench {

/// The counters outlive the tensors.
class Versions {
 public:
  void watch(const std::string& member, const std::string& fqn, const at::Tensor& tensor) {
    const auto& counter = tensor.unsafeGetTensorImpl()->version_counter();
    if (counter.enabled()) watched_.push_back({counter, counter.current_version(), member, fqn});
  }
  /// Goes on watching what `before` watches of its member `from`, now called `to`.
  void adopt(const Versions& before, const std::string& from, const std::string& to) {
    for (auto one : before.watched_) {
      if (one.member != from) continue;
      one.member = to;
      watched_.push_back(std::move(one));
    }
  }
  /// "member 'a', tensor 'w'" of the first that was; empty where none was. Buffers in `written` do not count:
  /// the model writes its own.
  std::string changed(const std::map<std::string, at::Tensor>& written) const {
    for (const auto& one : watched_) {
      if (one.counter.current_version() != one.seen && !written.contains(one.fqn))
        return "member '" + one.member + "', tensor '" + one.fqn + "'";
    }
    return {};
  }

 private:
  struct Watched {
    c10::VariableVersion counter;
    std::uint32_t seen;
    std::string member, fqn;
  };
  std::vector<Watched> watched_;
};

}  // namespace widebench
