#include "core/strategy/sequential.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/aten/dense_copy.h"
#include "core/aten/device.h"
#include "core/aten/torch_bridge.h"
#include "core/eager/observe.h"
#include "core/eager/operators.h"
#include "core/ir/ragged.h"
#include "core/strategy/cost.h"
#include "formats/error.h"

namespace wide {
namespace {

thread_local MemberStreams* current_streams = nullptr;

Answer ask(const Call& call) {
  Offer one;
  double bytes = 0;
  for (const auto& operand : call.operands) {
    one.operands.push_back(operand.mapped ? Layout::kFront : Layout::kShared);
    bytes += static_cast<double>(operand.type.bytes());
  }
  for (const auto& result : call.results) {
    one.results.push_back(Layout::kFront);
    bytes += 3.0 * static_cast<double>(result.bytes());  // written, then stacked
  }
  // Each member pays for its own call and for the views of its operands.
  const auto views = 0.3 * kNanosecondsPerCall * static_cast<double>(call.operands.size());
  one.cost = static_cast<double>(call.members) * (kernel_cost(bytes) + views) + kNanosecondsPerCall;
  return offer(std::move(one));
}

// A number as the operator takes it.
c10::IValue as_operand(const Operand& operand, const at::Tensor& tensor) {
  if (!operand.number) return tensor;
  const auto number = tensor.item();
  if (number.isBoolean()) return number.toBool();
  return number.isFloatingPoint() ? c10::IValue(number.toDouble()) : c10::IValue(number.toLong());
}

at::Tensor as_result(const c10::IValue& value, const ConcreteType& type) {
  if (value.isTensor()) return value.toTensor();
  return value.isScalar() ? at::scalar_tensor(value.toScalar(), type.dtype) : at::Tensor();
}

// What the graph says of a result holds for every member and pass.
void check_type(const Call& call, std::size_t result, const at::Tensor& tensor, const std::string& who) {
  const auto& wanted = call.results[result];
  if (tensor.scalar_type() == wanted.dtype &&
      (wanted.varies || tensor.sizes() == at::IntArrayRef(wanted.shape)))
    return;
  throw Error("run", call.node.op + ": its result is " + dtype_name(tensor.scalar_type()) +
                         shape_text(tensor.sizes()) + who + " where the model has " +
                         dtype_name(wanted.dtype) + shape_text(wanted.shape) +
                         "; other inputs may need the model exported for them");
}

// ATen's kernels that take it for granted that operands lie in the order of their axes, as they do for a
// member alone: what they are given is not looked at, or a view of it fails, or (group norms of channels that
// lie side by side: the mean of squares less the square of the mean) they are less exact.
bool reads_in_order(std::string_view op) {
  constexpr std::array<std::string_view, 5> kThese = {"aten._weight_norm_interface", "aten.isin.",
                                                      "aten.kron.", "aten.group_norm.",
                                                      "wide.group_norm_activation."};
  return std::ranges::any_of(kThese, [&](std::string_view one) { return op.starts_with(one); });
}

// What the operator `op` is given of one member. The strides of as_strided go by memory, where a neighbour's
// elements may lie: it has memory of its own, in the order of the axes.
at::Tensor as_read(const at::Tensor& tensor, std::string_view op, bool ordered) {
  if (op.starts_with("aten.as_strided")) return tensor.clone(at::MemoryFormat::Contiguous);
  return ordered ? in_order(tensor) : tensor;
}

// In memory that no other tensor has: whoever writes it changes nothing else.
at::Tensor in_own_memory(const at::Tensor& tensor) {
  const auto plain = tensor.resolve_conj().resolve_neg();
  const bool is_own = plain.is_contiguous() && plain.has_storage() && plain.storage().use_count() == 1;
  return is_own ? plain : plain.clone(at::MemoryFormat::Contiguous);
}

Kernel prepare(const Call& call, const Offer& offer) {
  struct Prepared {
    Call call;
    Offer offer;
    PreparedCall run;
    bool random;
  };
  auto prepared =
      std::make_shared<Prepared>(Prepared{call, offer, PreparedCall(call.node), draws_random(call.node)});
  return [prepared](std::span<const at::Tensor> operands, std::span<at::Tensor> results) {
    const auto& [kept, layouts, run, random] = *prepared;
    // What draws may go by the order in memory, which capture() made that of the axes.
    const bool ordered = random || reads_in_order(kept.node.op);
    auto* streams = random ? MemberStreams::current() : nullptr;
    std::vector<std::vector<at::Tensor>> parts(results.size());
    std::vector<c10::IValue> inputs(operands.size()), outputs;
    for (std::int64_t member = 0; member < kept.members; ++member) {
      const ObservedMembers observed({member, 1});
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const auto own =
            member_view(operands[i], layouts.operands[i], kept.operands[i].type, member, kept.members);
        inputs[i] = as_operand(kept.operands[i], as_read(own, kept.node.op, ordered));
      }
      if (streams) streams->enter(static_cast<std::size_t>(member));
      run.run(inputs, outputs);
      if (streams) streams->leave(static_cast<std::size_t>(member));
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (kept.node.results[i] < 0) continue;
        auto part = as_result(outputs[i], kept.results[i]);
        check_type(kept, i, part, " for member " + std::to_string(member));
        parts[i].push_back(kept.results[i].varies ? in_own_memory(part) : std::move(part));
      }
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (parts[i].empty()) continue;
      results[i] = kept.results[i].varies ? ragged(std::move(parts[i])) : at::stack(parts[i]);
    }
  };
}

}  // namespace

const Strategy kSequential{.name = "sequential", .ask = ask, .prepare = prepare, .random = true};

bool depends_on_shape_only(std::string_view op) {
  static constexpr std::array<std::string_view, 12> kOps = {
      "aten.zeros_like.default", "aten.ones_like.default",         "aten.full_like.default",
      "aten.empty_like.default", "aten.new_zeros.default",         "aten.new_ones.default",
      "aten.new_full.default",   "aten.new_empty.default",         "aten.sym_size.int",
      "aten.zero.default",       "aten.new_empty_strided.default", "aten.sym_numel.default"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

Kernel once(const Call& call) {
  struct Prepared {
    Call call;
    PreparedCall run;
  };
  auto prepared = std::make_shared<Prepared>(Prepared{call, PreparedCall(call.node)});
  return [prepared](std::span<const at::Tensor> operands, std::span<at::Tensor> results) {
    const auto& [kept, run] = *prepared;
    const bool ordered = reads_in_order(kept.node.op);
    std::vector<c10::IValue> inputs, outputs;
    inputs.reserve(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i)
      inputs.push_back(as_operand(kept.operands[i], as_read(operands[i], kept.node.op, ordered)));
    run.run(inputs, outputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i >= outputs.size() || kept.node.results[i] < 0) continue;
      results[i] = as_result(outputs[i], kept.results[i]);
      if (results[i].defined()) check_type(kept, i, results[i], "");
    }
  };
}

MemberStreams::MemberStreams(const std::vector<std::uint64_t>& seeds, at::Device device) : device_(device) {
  for (const auto seed : seeds) generators_.push_back(new_generator(device, seed));
}

MemberStreams::Active::Active(MemberStreams* streams)
    : previous_(current_streams),
      device_(streams ? streams->device_ : at::kCPU),
      outside_(default_generator(device_).get_state()) {
  current_streams = streams;
}

MemberStreams::Active::~Active() {
  current_streams = previous_;
  default_generator(device_).set_state(outside_);
}

MemberStreams* MemberStreams::current() {
  return current_streams;
}

void MemberStreams::enter(std::size_t i) {
  default_generator(device_).set_state(generators_[i].get_state());
}

void MemberStreams::leave(std::size_t i) {
  generators_[i].set_state(default_generator(device_).get_state());
}

}  // namespace wide
