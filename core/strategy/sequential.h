#pragma once
// The fallback that is always right: one member after the other through the dispatcher, results stacked.

#include <ATen/core/Generator.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/strategy/primitive.h"

namespace wide {

/// Wants mapped operands with the model axis in front, gives [N, …]. Never refuses.
extern const Strategy kSequential;

/// Operators whose result depends on an operand's shape and dtype only (zeros_like, new_full, …): their
/// result is shared even where the operand is mapped.
bool depends_on_shape_only(std::string_view op);

/// Runs the node once on one member's operands; for shared values and as the meaning of every primitive.
Kernel once(const Call& call);

/// Per-member random streams: member i draws what it would draw alone with its own seed.
class MemberStreams {
 public:
  /// Seeds member i with `seeds[i]`.
  explicit MemberStreams(const std::vector<std::uint64_t>& seeds, at::Device device = at::kCPU);

  /// While it lives, sequential kernels of this thread switch the default generator from member to member; at
  /// its end the generator is as it was before.
  class Active {
   public:
    explicit Active(MemberStreams* streams);
    ~Active();
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;

   private:
    MemberStreams* previous_;
    at::Device device_;
    at::Tensor outside_;
  };

  /// The streams active on this thread, or null.
  static MemberStreams* current();
  /// Makes the default generator continue member `i`'s stream; leave() saves it.
  void enter(std::size_t i);
  void leave(std::size_t i);
  /// Member `i`'s stream, for kernels that take a generator: drawing from it continues the stream.
  at::Generator& generator(std::size_t i) { return generators_[i]; }

 private:
  at::Device device_;
  std::vector<at::Generator> generators_;
};

}  // namespace wide
