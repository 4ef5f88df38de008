#include "core/eager/higher_order.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <array>

#include "core/eager/interpreter.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::array kForms = {
    HigherOrderForm{kCond, 2, 2}, HigherOrderForm{kWhileLoop, 2, 2}, HigherOrderForm{kWhileLoopStacked, 2, 2},
    HigherOrderForm{kMap, 1, 2},  HigherOrderForm{kScan, 1, 3},      HigherOrderForm{kAutocast, 1, 2},
    HigherOrderForm{kCall, 1, 1}, HigherOrderForm{kGroup, 1, 1}};

c10::IValue constant(const Argument& argument) {
  if (const auto* number = std::get_if<std::int64_t>(&argument.value)) return *number;
  if (const auto* number = std::get_if<double>(&argument.value)) return *number;
  if (const auto* flag = std::get_if<bool>(&argument.value)) return *flag;
  return {};
}

bool is_true(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().item().toBool();
  if (value.isBool()) return value.toBool();
  return value.isInt() ? value.toInt() != 0 : value.toDouble() != 0;
}

// Where the first of the tensors lies.
at::DeviceType device_of(std::span<const c10::IValue> values) {
  for (const auto& value : values)
    if (value.isTensor() && value.toTensor().defined()) return value.toTensor().device().type();
  return at::kCPU;
}

// Autocast of a device as a `with` block of Python's sets it, while this lives.
class Autocast {
 public:
  Autocast(at::DeviceType device, at::ScalarType dtype)
      : device_(device),
        enabled_(at::autocast::is_autocast_enabled(device)),
        cache_(at::autocast::is_autocast_cache_enabled()),
        dtype_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, dtype);
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~Autocast() {
    at::autocast::set_autocast_enabled(device_, enabled_);
    at::autocast::set_autocast_dtype(device_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  // The dispatcher looks for autocast only where it is not excluded, as it is for this library's own calls.
  at::DeviceType device_;
  bool enabled_, cache_;
  at::ScalarType dtype_;
};

}  // namespace

const HigherOrderForm* higher_order_form(std::string_view op) {
  const auto found =
      std::find_if(kForms.begin(), kForms.end(), [&](const HigherOrderForm& form) { return form.op == op; });
  return found == kForms.end() ? nullptr : &*found;
}

HigherOrderCall::HigherOrderCall(const Node& node) : node_(node) {
  const auto* form = higher_order_form(node.op);
  if (!form) throw Error("capture", node.op + ": unknown operator over graphs");
  if (node.bodies.size() != form->bodies || node.arguments.size() != form->arguments)
    throw Error("capture", node.op + ": its graphs or arguments are not as the operator wants them");
  for (const auto& body : node.bodies) bodies_.push_back(std::make_unique<Interpreter>(*body, false));
}

HigherOrderCall::~HigherOrderCall() = default;

HigherOrderCall::Values HigherOrderCall::values(std::size_t argument,
                                                std::span<const c10::IValue> operands) const {
  Values all;
  const auto add = [&](const Argument& item) {
    all.push_back(item.ref() ? operands[static_cast<std::size_t>(item.ref()->id)] : constant(item));
  };
  const auto* list = node_.arguments[argument].list();
  if (!list) {
    add(node_.arguments[argument]);
  } else {
    for (const auto& item : *list) add(item);
  }
  return all;
}

HigherOrderCall::Values HigherOrderCall::step(
    std::size_t body, std::initializer_list<std::span<const c10::IValue>> inputs) const {
  Values all;
  for (const auto part : inputs) all.insert(all.end(), part.begin(), part.end());
  if (all.size() != node_.bodies[body]->inputs.size())
    throw Error("run", node_.op + ": a graph of it wants " +
                           std::to_string(node_.bodies[body]->inputs.size()) + " inputs, " +
                           std::to_string(all.size()) + " are given");
  return bodies_[body]->run(all);
}

HigherOrderCall::Values HigherOrderCall::while_loop(Values carried, const Values& others) const {
  while (is_true(step(0, {carried, others}).at(0))) carried = step(1, {carried, others});
  return carried;
}

// As WhileLoopStackOutputOp of PyTorch: each carried value after every step; after none, the first ones as
// one row.
HigherOrderCall::Values HigherOrderCall::while_loop_stacked(Values carried, const Values& others) const {
  std::vector<std::vector<at::Tensor>> steps(carried.size());
  while (is_true(step(0, {carried, others}).at(0))) {
    carried = step(1, {carried, others});
    if (carried.size() != steps.size())
      throw Error("run", node_.op + ": its step gives another number of values than it carries");
    for (std::size_t k = 0; k < carried.size(); ++k) {
      if (!carried[k].isTensor())
        throw Error("run", node_.op + ": carries a number, which cannot be stacked");
      steps[k].push_back(carried[k].toTensor());
    }
  }
  for (std::size_t k = 0; k < carried.size(); ++k) {
    if (!steps[k].empty()) {
      carried[k] = at::stack(steps[k]);
    } else if (carried[k].isTensor()) {
      carried[k] = carried[k].toTensor().unsqueeze(0);
    }
  }
  return carried;
}

// The step on one row of each x after the other; what it gives beyond the carried values is stacked. Of no
// rows at all a row of zeros says what shapes would have been stacked.
HigherOrderCall::Values HigherOrderCall::over_rows(Values carried, const Values& rows,
                                                   const Values& others) const {
  if (rows.empty()) throw Error("run", node_.op + ": it is given nothing that has rows");
  const auto count = rows[0].toTensor().size(0);
  const auto step_at = [&](const auto& row_of) {
    Values row;
    for (const auto& x : rows) row.emplace_back(row_of(x.toTensor()));
    return step(0, {carried, row, others});
  };
  const auto kept = carried.size();
  if (count == 0) {
    const auto given =
        step_at([](const at::Tensor& x) { return at::zeros(x.sizes().slice(1), x.options()); });
    for (std::size_t k = kept; k < given.size(); ++k)
      carried.emplace_back(given[k].toTensor().unsqueeze(0).narrow(0, 0, 0).clone());
    return carried;
  }
  std::vector<std::vector<at::Tensor>> stacked;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto given = step_at([&](const at::Tensor& x) { return x.select(0, i); });
    std::copy_n(given.begin(), kept, carried.begin());
    stacked.resize(given.size() - kept);
    for (std::size_t k = kept; k < given.size(); ++k) stacked[k - kept].push_back(given[k].toTensor());
  }
  for (const auto& one : stacked) carried.emplace_back(at::stack(one));
  return carried;
}

void HigherOrderCall::run(std::span<const c10::IValue> operands, std::vector<c10::IValue>& results) const {
  if (node_.op == kCond) {
    const bool taken = is_true(values(0, operands)[0]);
    results = step(taken ? 0 : 1, {values(1, operands)});
  } else if (node_.op == kWhileLoop) {
    results = while_loop(values(0, operands), values(1, operands));
  } else if (node_.op == kWhileLoopStacked) {
    results = while_loop_stacked(values(0, operands), values(1, operands));
  } else if (node_.op == kMap) {
    results = over_rows({}, values(0, operands), values(1, operands));
  } else if (node_.op == kScan) {
    results = over_rows(values(0, operands), values(1, operands), values(2, operands));
  } else if (node_.op == kAutocast) {
    const Autocast autocast(device_of(operands), std::get<at::ScalarType>(node_.arguments[0].value));
    results = step(0, {values(1, operands)});
  } else {
    results = step(0, {values(0, operands)});
  }
  for (auto& result : results) {
    if (!result.isTensor() || !result.toTensor().defined()) continue;
    const auto shares = [&](const c10::IValue& operand) {
      return operand.isTensor() && operand.toTensor().defined() &&
             operand.toTensor().is_alias_of(result.toTensor());
    };
    if (std::any_of(operands.begin(), operands.end(), shares)) result = result.toTensor().clone();
  }
}

}  // namespace wide
