// Built-in models. Shapes in comments are of one member.
#include <string>

#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

using Kind = TensorRecipe::Kind;

// [batch, features] -> [batch, outputs]
Architecture mlp(const Sizes& s) {
  Builder b("mlp");
  const auto x = b.input("x", {{s["batch"], s["features"]}});
  const auto hidden = b.op("aten.relu.default", {ref(b.linear("fc1", x, s["features"], s["hidden"]))});
  b.output(b.linear("fc2", hidden, s["hidden"], s["outputs"]));
  return b.take();
}

Architecture deep_mlp(const Sizes& s) {
  Builder b("deep_mlp");
  auto x = b.input("x", {{s["batch"], s["features"]}});
  for (std::int64_t i = 0; i < s["depth"]; ++i) {
    x = b.op("aten.gelu.default",
             {ref(b.linear("layers." + std::to_string(i), x, s["features"], s["features"]))});
  }
  b.output(x);
  return b.take();
}

// Two 3x3 convolutions with batch norm around a skip connection.
Architecture resblock(const Sizes& s) {
  Builder b("resblock");
  const auto c = s["channels"];
  const auto x = b.input("x", {{s["batch"], c, s["height"], s["width"]}});
  auto y = b.op("aten.relu.default", {ref(b.batch_norm("bn1", b.conv2d("conv1", x, c, c, 3, 1, 1), c))});
  y = b.batch_norm("bn2", b.conv2d("conv2", y, c, c, 3, 1, 1), c);
  b.output(b.op("aten.relu.default", {ref(b.op("aten.add.Tensor", {ref(y), ref(x)}))}));
  return b.take();
}

// Two strided stages, global pooling, a classifier.
Architecture convnet(const Sizes& s) {
  Builder b("convnet");
  const auto c = s["channels"];
  auto x = b.input("x", {{s["batch"], 3, s["height"], s["width"]}});
  x = b.op("aten.relu.default", {ref(b.batch_norm("bn1", b.conv2d("conv1", x, 3, c, 3, 1, 1), c))});
  x = b.op("aten.max_pool2d.default", {ref(x), ints({2, 2}), ints({2, 2})});
  x = b.op("aten.relu.default", {ref(b.batch_norm("bn2", b.conv2d("conv2", x, c, 2 * c, 3, 1, 1), 2 * c))});
  x = b.op("aten.adaptive_avg_pool2d.default", {ref(x), ints({1, 1})});
  x = b.op("aten.flatten.using_ints", {ref(x), {std::int64_t{1}}});
  b.output(b.linear("fc", x, 2 * c, s["classes"]));
  return b.take();
}

Architecture tiny_head(const Sizes& s) {
  Builder b("tiny_head");
  const auto x = b.input("x", {{s["batch"], s["features"]}});
  b.output(
      b.op("aten.softmax.int", {ref(b.linear("fc", x, s["features"], s["classes"])), {std::int64_t{1}}}));
  return b.take();
}

// One pre-norm block: causal attention, then a four times wider mlp.
ValueId gpt_block(Builder& b, const std::string& name, ValueId x, const Sizes& s) {
  const auto batch = s["batch"], length = s["length"], d = s["d_model"], heads = s["heads"];
  const auto qkv = b.linear(name + ".qkv", b.layer_norm(name + ".ln1", x, d), d, 3 * d);
  const auto parts = b.ops("aten.split.Tensor", {ref(qkv), {d}, {std::int64_t{2}}}, 3);
  std::vector<Argument> attention;
  for (const auto part : parts) {
    const auto split = b.op("aten.view.default", {ref(part), ints({batch, length, heads, d / heads})});
    attention.push_back(ref(b.op("aten.transpose.int", {ref(split), {std::int64_t{1}}, {std::int64_t{2}}})));
  }
  attention.insert(attention.end(), {{}, {0.0}, {true}});
  auto y = b.op("aten.scaled_dot_product_attention.default", attention);
  y = b.op("aten.transpose.int", {ref(y), {std::int64_t{1}}, {std::int64_t{2}}});
  y = b.linear(name + ".proj", b.op("aten.reshape.default", {ref(y), ints({batch, length, d})}), d, d);
  x = b.op("aten.add.Tensor", {ref(x), ref(y)});
  y = b.op("aten.gelu.default", {ref(b.linear(name + ".fc1", b.layer_norm(name + ".ln2", x, d), d, 4 * d))});
  return b.op("aten.add.Tensor", {ref(x), ref(b.linear(name + ".fc2", y, 4 * d, d))});
}

// Token ids [batch, length] -> logits [batch, length, vocabulary]
Architecture minigpt(const Sizes& s) {
  Builder b("minigpt");
  const auto ids = b.input("ids", {{s["batch"], s["length"]}, Kind::kInteger, 1, s["vocabulary"]});
  const auto tokens = b.parameter("tokens.weight", {{s["vocabulary"], s["d_model"]}});
  const auto places = b.parameter("positions.weight", {{s["length"], s["d_model"]}});
  const auto index = b.op("aten.arange.default", {{s["length"]}});
  auto x = b.op("aten.add.Tensor", {ref(b.op("aten.embedding.default", {ref(tokens), ref(ids)})),
                                    ref(b.op("aten.embedding.default", {ref(places), ref(index)}))});
  for (std::int64_t i = 0; i < s["layers"]; ++i) x = gpt_block(b, "blocks." + std::to_string(i), x, s);
  b.output(b.linear("head", b.layer_norm("norm", x, s["d_model"]), s["d_model"], s["vocabulary"]));
  return b.take();
}

// [batch, length, features] -> [batch, classes], from the last step.
Architecture lstm_classifier(const Sizes& s) {
  Builder b("lstm_classifier");
  const auto x = b.input("x", {{s["batch"], s["length"], s["features"]}});
  const auto h = s["hidden"];
  const auto zeros = b.op("aten.new_zeros.default", {ref(x), ints({1, s["batch"], h})});
  const Argument::List weights{ref(b.weight("lstm.weight_ih_l0", {4 * h, s["features"]})),
                               ref(b.weight("lstm.weight_hh_l0", {4 * h, h})),
                               ref(b.parameter("lstm.bias_ih_l0", {{4 * h}, Kind::kNormal, 0.1, 0})),
                               ref(b.parameter("lstm.bias_hh_l0", {{4 * h}, Kind::kNormal, 0.1, 0}))};
  const auto y = b.ops("aten.lstm.input",
                       {ref(x),
                        {Argument::List{ref(zeros), ref(zeros)}},
                        {weights},
                        {true},
                        {std::int64_t{1}},
                        {0.0},
                        {false},
                        {false},
                        {true}},
                       3);
  const auto last = b.op("aten.select.int", {ref(y[0]), {std::int64_t{1}}, {s["length"] - 1}});
  b.output(b.linear("fc", last, h, s["classes"]));
  return b.take();
}

}  // namespace

std::vector<Subject> models() {
  return {
      {"mlp",
       "zoo",
       "two linear layers with relu",
       {{"batch", 32}, {"features", 64}, {"hidden", 128}, {"outputs", 64}},
       mlp},
      {"deep_mlp",
       "zoo",
       "a stack of linear layers with gelu",
       {{"batch", 32}, {"features", 64}, {"depth", 8}},
       deep_mlp},
      {"resblock",
       "zoo",
       "residual block of two 3x3 convolutions with batch norm",
       {{"batch", 8}, {"channels", 64}, {"height", 16}, {"width", 16}},
       resblock},
      {"convnet",
       "zoo",
       "small image classifier",
       {{"batch", 8}, {"channels", 16}, {"height", 32}, {"width", 32}, {"classes", 10}},
       convnet},
      {"tiny_head",
       "zoo",
       "linear layer with softmax",
       {{"batch", 32}, {"features", 64}, {"classes", 600}},
       tiny_head},
      {"minigpt",
       "zoo",
       "causal transformer with learned positions",
       {{"batch", 4}, {"length", 32}, {"vocabulary", 256}, {"d_model", 64}, {"heads", 4}, {"layers", 2}},
       minigpt},
      {"lstm_classifier",
       "zoo",
       "lstm over a sequence, classified at its last step",
       {{"batch", 8}, {"length", 32}, {"features", 32}, {"hidden", 64}, {"classes", 10}},
       lstm_classifier},
  };
}

}  // namespace wide::zoo
