// Models of linear layers.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

// [batch, features] -> [batch, outputs]
Architecture mlp(const Sizes& s) {
  Builder b("mlp");
  const auto x = b.input("x", {{s["batch"], s["features"]}});
  const auto hidden = relu(b, b.linear("fc1", x, s["features"], s["hidden"]));
  b.output(b.linear("fc2", hidden, s["hidden"], s["outputs"]));
  return b.take();
}

Architecture deep_mlp(const Sizes& s) {
  Builder b("deep_mlp");
  auto x = b.input("x", {{s["batch"], s["features"]}});
  for (std::int64_t i = 0; i < s["depth"]; ++i) {
    x = gelu(b, b.linear("layers." + std::to_string(i), x, s["features"], s["features"]));
  }
  b.output(x);
  return b.take();
}

Architecture tiny_head(const Sizes& s) {
  Builder b("tiny_head");
  const auto x = b.input("x", {{s["batch"], s["features"]}});
  b.output(
      b.op("aten.softmax.int", {ref(b.linear("fc", x, s["features"], s["classes"])), {std::int64_t{1}}}));
  return b.take();
}

// Categorical ids [batch, columns] and numbers [batch, numbers] -> [batch, outputs]: a table per column, then
// two hidden layers with batch norm and dropout.
Architecture tabular(const Sizes& s) {
  Builder b("tabular");
  const auto ids =
      b.input("categories", {{s["batch"], s["columns"]}, TensorRecipe::Kind::kInteger, 1, s["vocabulary"]});
  const auto numbers = b.input("numbers", {{s["batch"], s["numbers"]}});
  const bool train = s.on("train");
  constexpr double kProbability = 0.1;
  std::vector<ValueId> parts;
  for (std::int64_t j = 0; j < s["columns"]; ++j) {
    const auto column = b.op("aten.select.int", {ref(ids), {std::int64_t{1}}, {j}});
    parts.push_back(embedding(b, "embeddings." + std::to_string(j), column, s["vocabulary"], s["embedding"]));
  }
  parts.push_back(b.batch_norm("norm", numbers, s["numbers"], train));
  auto x = concatenate(b, parts, 1);
  auto width = s["columns"] * s["embedding"] + s["numbers"];
  for (int i = 1; i <= 2; ++i) {
    const auto name = std::to_string(i);
    x = relu(b, b.batch_norm("bn" + name, b.linear("fc" + name, x, width, s["hidden"]), s["hidden"], train));
    x = dropout(b, x, kProbability, train);
    width = s["hidden"];
  }
  b.output(b.linear("head", x, width, s["outputs"]));
  return b.take();
}

}  // namespace

std::vector<Subject> perceptrons() {
  const std::string kind = "zoo";
  return {
      {"mlp",
       kind,
       "two linear layers with relu",
       {{"batch", 32}, {"features", 64}, {"hidden", 128}, {"outputs", 64}},
       mlp},
      {"deep_mlp",
       kind,
       "a stack of linear layers with gelu",
       {{"batch", 32}, {"features", 64}, {"depth", 8}},
       deep_mlp},
      {"tiny_head",
       kind,
       "linear layer with softmax",
       {{"batch", 32}, {"features", 64}, {"classes", 600}},
       tiny_head},
      {"tabular",
       kind,
       "embedded categories and numbers, then an mlp with batch norm; train = 1 adds dropout",
       {{"batch", 32},
        {"columns", 6},
        {"vocabulary", 50},
        {"embedding", 8},
        {"numbers", 10},
        {"hidden", 64},
        {"outputs", 2},
        {"train", flag(false)}},
       tabular},
  };
}

}  // namespace wide::zoo
