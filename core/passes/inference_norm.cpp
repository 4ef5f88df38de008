#include "core/passes/inference_norm.h"

#include <utility>
#include <vector>

namespace wide {
namespace {

constexpr const char* kStem = "folded";

}  // namespace

bool is_inference_norm(const Node& node) {
  using namespace batch_norm;
  return node.op == "aten.batch_norm.default" && node.arguments[kTraining] == Argument{false} &&
         !node.arguments[kMean].is_none() && !node.arguments[kVariance].is_none() &&
         node.arguments[kInput].ref() != nullptr;
}

// scale = gamma / sqrt(variance + epsilon); shift = (bias - mean) * scale + beta.
NormTerms norm_terms(Rewriter& rewriter, const Node& norm, const Argument& bias) {
  using namespace batch_norm;
  const auto& old = rewriter.old().values[static_cast<std::size_t>(norm.arguments[kMean].ref()->id)];
  const auto channels = concrete(old);
  const auto make = [&](const char* op, std::vector<Argument> arguments) {
    return Argument{ValueRef{rewriter.emit(op, std::move(arguments), channels, kStem, norm.module_path)}};
  };
  const Argument one{std::int64_t{1}};
  const auto mean = rewriter.map(norm.arguments[kMean]);
  auto scale = make(
      "aten.rsqrt.default",
      {make("aten.add.Scalar", {rewriter.map(norm.arguments[kVariance]), norm.arguments[kEpsilon], one})});
  if (!norm.arguments[kGamma].is_none())
    scale = make("aten.mul.Tensor", {scale, rewriter.map(norm.arguments[kGamma])});
  auto shift = bias.is_none() ? make("aten.neg.default", {mean})
                              : make("aten.sub.Tensor", {rewriter.map(bias), mean, one});
  shift = make("aten.mul.Tensor", {shift, scale});
  if (!norm.arguments[kBeta].is_none())
    shift = make("aten.add.Tensor", {shift, rewriter.map(norm.arguments[kBeta]), one});
  return {std::move(scale), std::move(shift)};
}

Argument along_axis(Rewriter& rewriter, const Argument& term, std::size_t rank, std::size_t axis,
                    std::string_view module_path) {
  auto type = concrete(rewriter.value(term.ref()->id));
  const auto channels = type.shape[0];
  type.shape.assign(rank, 1);
  type.shape[axis] = channels;
  Argument::List sizes;
  for (const auto size : type.shape) sizes.push_back({size});
  return {ValueRef{rewriter.emit("aten.reshape.default", {term, {sizes}}, type, kStem, module_path)}};
}

}  // namespace wide
