#pragma once
// The seam everything rests on: a primitive's strategies answer with offers or refusals, and give kernels.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/layout.h"
#include "core/native/source.h"
#include "core/strategy/constant.h"
#include "core/strategy/mode.h"

namespace wide {

/// What is known of an operand when a strategy is chosen.
struct Operand {
  ConcreteType type;      ///< of one member
  bool mapped = false;    ///< differs per member
  ConstantPart constant;  ///< its value where it never changes ([N, …] if mapped); undefined otherwise
  bool number = false;    ///< the operator takes it as a number: a tensor of no axes stands for it
  bool fixed = false;  ///< it never changes, also while strategies are asked and `constant` is not known yet
};

/// One operation to run wide: a node, its operands in order of use, its results.
struct Call {
  Node node;                 ///< ValueRef{k} means operands[k]
  std::int64_t members = 1;  ///< N
  std::vector<Operand> operands;
  std::vector<ConcreteType> results;  ///< of one member
  at::Device device = at::kCPU;       ///< where the operands lie
  bool by_member = false;  ///< it works on values that depend on data, or runs graphs: member by member only

  /// The operand in argument `index`, or nothing when it is None or a constant.
  std::optional<std::size_t> operand_of(std::size_t index) const;
  const Operand* operand_at(std::size_t index) const;
  bool is_none(std::size_t index) const { return node.arguments[index].is_none(); }
  std::int64_t integer(std::size_t index) const;
  bool is_real(std::size_t index) const;  ///< a number, and not a complex one
  double real(std::size_t index) const;
  bool flag(std::size_t index) const;
  /// A list of integers; a single integer is a list of one; None is empty.
  std::vector<std::int64_t> integers(std::size_t index) const;
};

/// For kernels to keep: a call whose constants others may set free.
Call without_constants(Call call);

/// How a strategy would run a call.
struct Offer {
  std::vector<Layout> operands;  ///< the layout wanted of each operand
  std::vector<Layout> results;   ///< the layout given of each result
  double cost = 0;               ///< estimated nanoseconds, conversions of operands excluded
};

/// Offers, or the reason why there is none.
struct Answer {
  std::vector<Offer> offers;
  std::string refusal;
};
inline Answer refuse(std::string reason) {
  return {{}, std::move(reason)};
}
inline Answer offer(Offer one) {
  return {{std::move(one)}, {}};
}

/// Runs on operands in the layouts of the offer and assigns every result in the layout promised.
using Kernel = std::function<void(std::span<const at::Tensor> operands, std::span<at::Tensor> results)>;

/// The function in the text that a strategy compiles.
inline constexpr const char* kEntry = "wide_kernel";

/// One way to run a primitive wide.
struct Strategy {
  std::string_view name;
  Answer (*ask)(const Call& call);
  /// Called once per build; may pack operands that are constant. The kernel must not keep references to
  /// `call`.
  Kernel (*prepare)(const Call& call, const Offer& offer);
  bool differentiable = true;  ///< false: a kernel of our own that autograd cannot see into
  bool random = false;         ///< draws for member i what it draws alone; others never run nodes that draw
  bool cpu_only = false;       ///< never offered on another device
  bool on_request = false;  ///< computes something else than the members alone: only where the user names it
  /// The C text whose function kEntry prepare() has compiled, which takes long. May be null.
  native::Source (*source)(const Call& call, const Offer& offer) = nullptr;
  /// What runs, for people to read; `names` of the operands, then of the results. May be null.
  std::string (*listing)(const Call& call, const Offer& offer, std::span<const std::string> names) = nullptr;
  Mode least_mode = Mode::kEager;  ///< the first in which it is chosen unasked: it rounds otherwise than ATen
  /// Operands that prepare() packs where they are constant: the kernel then never reads them. May be null.
  std::vector<std::size_t> (*packs)(const Call& call) = nullptr;
  double packed_size = 1;  ///< what it packs grows by this factor
};

/// An operation on made-up operands, for tests and benchmarks.
struct SampleOperand {
  std::vector<std::int64_t> shape;  ///< of one member
  bool mapped = true;
  at::ScalarType dtype = at::kFloat;  ///< kFloat stands for the dtype under test
  std::int64_t bound = 10;            ///< integers are drawn from [0, bound)
  bool positive = false;              ///< floats are drawn from [0.5, 1.5)
};
struct Sample {
  std::string name;
  std::string op;
  std::vector<Argument>
      arguments;  ///< ValueRef{k} means operands[k]; omitted defaults may be left out at the end
  std::vector<SampleOperand> operands;
  std::size_t results = std::string::npos;  ///< only so many results are used, from the first
  std::vector<std::shared_ptr<const Graph>> bodies =
      {};  ///< of the node; kFloat stands for the dtype under test
};

/// A family of operators with one meaning, and the ways to run it wide.
struct Primitive {
  std::string_view name;
  std::vector<std::string_view> ops;  ///< "aten.linear.default", …
  /// For families too large to list: true when the operator belongs here. May be null.
  bool (*matches)(std::string_view op) = nullptr;
  std::vector<Strategy> strategies;
  /// Floating-point operations of all members together, where they matter. May be null.
  double (*flops)(const Call& call) = nullptr;
  std::vector<Sample> (*samples)(std::int64_t members) = nullptr;
  /// Estimated nanoseconds of the operator for one member alone, where it is more than one kernel. May be
  /// null.
  double (*alone)(const Call& call) = nullptr;
};

/// All primitives, one per file of primitives/. The first that lists or matches an operator owns it.
const std::vector<Primitive>& primitives();
/// Why the code that the strategy's kernel needs is not there, or nothing. Compiles it if `may_compile`.
std::string missing_code(const Strategy& strategy, const Call& call, const Offer& offer, bool may_compile);
/// The primitive that owns `op`, or null: the operator then runs `sequential`.
const Primitive* find_primitive(std::string_view op);

}  // namespace wide
