// Pointwise operators and softmax.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

ValueId row_input(Builder& b, const Sizes& s) {
  return b.input("x", {{s["batch"], s["features"]}});
}

Architecture softmax(const Sizes& s) {
  Builder b("softmax");
  b.output(b.op("aten.softmax.int", {ref(row_input(b, s)), {std::int64_t{1}}}));
  return b.take();
}

Architecture activation(const Sizes& s) {
  Builder b("gelu");
  b.output(gelu(b, row_input(b, s)));
  return b.take();
}

Architecture prelu(const Sizes& s) {
  Builder b("prelu");
  const auto x = b.input("x", {{s["batch"], s["channels"], s["height"], s["width"]}});
  const auto slope = b.parameter("prelu.weight", {{s["channels"]}, TensorRecipe::Kind::kNormal, 0.25, 0});
  b.output(b.op("aten.prelu.default", {ref(x), ref(slope)}));
  return b.take();
}

Architecture drop(const Sizes& s) {
  Builder b("dropout");
  constexpr double kProbability = 0.1;
  b.output(dropout(b, row_input(b, s), kProbability, s.on("train")));
  return b.take();
}

}  // namespace

std::vector<Subject> activations() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> rows{{"batch", 64}, {"features", 512}};
  auto trained = rows;
  trained.emplace("train", flag(true));
  return {
      {"softmax", kind, "softmax over the last axis", rows, softmax},
      {"gelu", kind, "pointwise activation without weights", rows, activation},
      {"prelu",
       kind,
       "activation with a learned slope per channel",
       {{"batch", 8}, {"channels", 32}, {"height", 16}, {"width", 16}},
       prelu},
      {"dropout", kind, "each member's own random zeros; train = 0 passes its input through", trained, drop},
  };
}

}  // namespace wide::zoo
