#include "core/passes/running_statistics.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/ir/rewriter.h"
#include "core/passes/infer.h"

namespace wide {
namespace {

class BatchNormalized {
 public:
  BatchNormalized(Rewriter& rewriter, const Node& node) : rewriter_(rewriter), node_(node) {}

  RunningStatistics of_batch(ValueId mean, ValueId variance) {
    const auto input = type(node_.arguments[kInput].ref()->id);
    if (node_.op == "aten.batch_norm.default" && is_empty(input)) {
      const auto output = rewriter_.emit("aten.clone.default", {rewriter_.map(node_.arguments[kInput]), {}},
                                         input, name(node_.results[0]), node_.module_path);
      rewriter_.bind(node_.results[0], {ValueRef{output}});
      return {kept(mean), kept(variance)};
    }
    std::vector<Argument> arguments;
    for (const auto index : {kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps}) {
      arguments.push_back(rewriter_.map(node_.arguments[index]));
    }
    const auto results = rewriter_.emit(
        "aten._native_batch_norm_legit_functional.default", std::move(arguments),
        {as_type(input), type_of_result(1), type_of_result(2), as_type(type(mean)), as_type(type(variance))},
        name(node_.results[0]), node_.module_path);
    for (std::size_t i = 0; i < node_.results.size(); ++i) {
      if (node_.results[i] >= 0) rewriter_.bind(node_.results[i], {ValueRef{results[i]}});
    }
    return {results[3], results[4]};
  }

  // ATen normalises every sample on its own and moves the running values towards the batch's mean of their
  // statistics.
  RunningStatistics of_samples(ValueId mean, ValueId variance) {
    std::vector<Argument> arguments;
    for (const auto index : {kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps, kCudnn}) {
      const bool running = index == kMean || index == kVariance;
      arguments.push_back(running ? Argument{} : rewriter_.map(node_.arguments[index]));
    }
    const auto input = type(node_.arguments[kInput].ref()->id);
    const auto output =
        rewriter_.emit(node_.op, std::move(arguments), input, name(node_.results[0]), node_.module_path);
    rewriter_.bind(node_.results[0], {ValueRef{output}});
    if (is_empty(input)) return {kept(mean), kept(variance)};
    Argument::List spatial;
    for (std::int64_t dim = 2; dim < input.rank(); ++dim) spatial.push_back({dim});
    const TensorType each = as_type({type(mean).dtype, {input.shape[0], input.shape[1]}});
    const auto statistics =
        rewriter_.emit("aten.var_mean.correction",
                       {rewriter_.map(node_.arguments[kInput]), {spatial}, {std::int64_t{1}}, {false}},
                       {each, each}, name(mean), node_.module_path);
    return {moved(mean, statistics[1]), moved(variance, statistics[0])};
  }

 private:
  // Of nothing there are no statistics.
  static bool is_empty(const ConcreteType& input) {
    return std::count(input.shape.begin(), input.shape.end(), 0) > 0;
  }

  // None where nobody uses it.
  std::optional<TensorType> type_of_result(std::size_t i) const {
    if (i >= node_.results.size() || node_.results[i] < 0) return std::nullopt;
    return as_type(type(node_.results[i]));
  }

  // Its arguments.
  enum { kInput, kWeight, kBias, kMean, kVariance, kTraining, kMomentum, kEps, kCudnn };

  const Value& value(ValueId id) const { return rewriter_.old().values[static_cast<std::size_t>(id)]; }
  ConcreteType type(ValueId id) const { return concrete(value(id)); }
  const std::string& name(ValueId id) const { return value(id).name; }

  ValueId kept(ValueId running) {
    return rewriter_.emit("aten.clone.default", {rewriter_.bound(running), {}}, type(running), name(running),
                          node_.module_path);
  }

  // running + momentum * (mean over the batch - running)
  ValueId moved(ValueId running, ValueId each) {
    const auto running_type = type(running);
    const auto batch =
        rewriter_.emit("aten.mean.dim", {{ValueRef{each}}, {Argument::List{{std::int64_t{0}}}}, {false}, {}},
                       running_type, name(running), node_.module_path);
    return rewriter_.emit("aten.lerp.Scalar",
                          {rewriter_.bound(running), {ValueRef{batch}}, node_.arguments[kMomentum]},
                          running_type, name(running), node_.module_path);
  }

  Rewriter& rewriter_;
  const Node& node_;
};

}  // namespace

RunningStatistics move_running_statistics(Rewriter& rewriter, const Node& norm, ValueId mean,
                                          ValueId variance) {
  BatchNormalized it(rewriter, norm);
  return norm.op == "aten.instance_norm.default" ? it.of_samples(mean, variance)
                                                 : it.of_batch(mean, variance);
}

}  // namespace wide
