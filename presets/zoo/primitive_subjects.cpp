// Primitives as models of one operation, with the parameters that a torch module of that name would have.
#include <string>

#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

using Kind = TensorRecipe::Kind;
using Shape = std::vector<std::int64_t>;

// [batch, channels, spatial…]; the spatial sizes that a subject of `axes` axes has.
Shape image(const Sizes& s, int axes) {
  Shape shape{s["batch"], s["channels"]};
  if (axes == 1) shape.push_back(s["length"]);
  if (axes == 3) shape.push_back(s["depth"]);
  if (axes >= 2) shape.insert(shape.end(), {s["height"], s["width"]});
  return shape;
}

Argument repeat(std::int64_t value, int times) {
  return {Argument::List(static_cast<std::size_t>(times), Argument{value})};
}

Architecture linear(const Sizes& s) {
  Builder b("linear");
  b.output(b.linear("linear", b.input("x", {{s["batch"], s["in_features"]}}), s["in_features"],
                    s["out_features"]));
  return b.take();
}

template <int kAxes>
Architecture conv(const Sizes& s) {
  const auto name = "conv" + std::to_string(kAxes) + "d";
  Builder b(name);
  const auto x = b.input("x", {image(s, kAxes)});
  Shape kernel{s["channels"], s["channels"]};
  kernel.insert(kernel.end(), kAxes, s["kernel"]);
  const auto w = b.weight("weight", kernel);
  const auto bias = b.parameter("bias", {{s["channels"]}, Kind::kNormal, 0.1, 0});
  b.output(b.op("aten." + name + ".default", {ref(x),
                                              ref(w),
                                              ref(bias),
                                              repeat(1, kAxes),
                                              repeat(s["kernel"] / 2, kAxes),
                                              repeat(1, kAxes),
                                              {std::int64_t{1}}}));
  return b.take();
}

template <int kAxes>
Architecture batchnorm(const Sizes& s) {
  Builder b("batchnorm" + std::to_string(kAxes) + "d");
  b.output(b.batch_norm("norm", b.input("x", {image(s, kAxes)}), s["channels"]));
  return b.take();
}

Architecture layernorm(const Sizes& s) {
  Builder b("layernorm");
  b.output(b.layer_norm("norm", b.input("x", {{s["batch"], s["length"], s["d_model"]}}), s["d_model"]));
  return b.take();
}

Architecture rmsnorm(const Sizes& s) {
  Builder b("rmsnorm");
  const auto x = b.input("x", {{s["batch"], s["length"], s["d_model"]}});
  const auto weight = b.parameter("weight", {{s["d_model"]}, Kind::kPositive});
  b.output(b.op("aten.rms_norm.default", {ref(x), ints({s["d_model"]}), ref(weight), {1e-6}}));
  return b.take();
}

Architecture groupnorm(const Sizes& s) {
  Builder b("groupnorm");
  const auto x = b.input("x", {image(s, 2)});
  const auto weight = b.parameter("weight", {{s["channels"]}, Kind::kPositive});
  const auto bias = b.parameter("bias", {{s["channels"]}, Kind::kNormal, 0.1, 0});
  b.output(b.op("aten.group_norm.default", {ref(x), {s["groups"]}, ref(weight), ref(bias)}));
  return b.take();
}

Architecture instancenorm2d(const Sizes& s) {
  Builder b("instancenorm2d");
  const auto x = b.input("x", {image(s, 2)});
  const auto weight = b.parameter("weight", {{s["channels"]}, Kind::kPositive});
  const auto bias = b.parameter("bias", {{s["channels"]}, Kind::kNormal, 0.1, 0});
  b.output(b.op("aten.instance_norm.default",
                {ref(x), ref(weight), ref(bias), {}, {}, {true}, {0.1}, {1e-5}, {false}}));
  return b.take();
}

Architecture embedding(const Sizes& s) {
  Builder b("embedding");
  const auto ids = b.input("ids", {{s["batch"], s["length"]}, Kind::kInteger, 1, s["vocabulary"]});
  const auto table = b.parameter("weight", {{s["vocabulary"], s["d_model"]}});
  b.output(b.op("aten.embedding.default", {ref(table), ref(ids)}));
  return b.take();
}

Architecture attention(const Sizes& s) {
  Builder b("attention");
  const Shape shape{s["batch"], s["heads"], s["length"], s["d_model"] / s["heads"]};
  const auto q = b.input("q", {shape}), k = b.input("k", {shape}), v = b.input("v", {shape});
  b.output(b.op("aten.scaled_dot_product_attention.default", {ref(q), ref(k), ref(v)}));
  return b.take();
}

Architecture softmax(const Sizes& s) {
  Builder b("softmax");
  b.output(b.op("aten.softmax.int", {ref(b.input("x", {{s["batch"], s["features"]}})), {std::int64_t{1}}}));
  return b.take();
}

Architecture gelu(const Sizes& s) {
  Builder b("gelu");
  b.output(b.op("aten.gelu.default", {ref(b.input("x", {{s["batch"], s["features"]}}))}));
  return b.take();
}

Architecture cat(const Sizes& s) {
  Builder b("cat");
  const Shape shape{s["batch"], s["features"]};
  const auto x = b.input("x", {shape}), y = b.input("y", {shape});
  b.output(b.op("aten.cat.default", {{Argument::List{ref(x), ref(y)}}, {std::int64_t{1}}}));
  return b.take();
}

Architecture prelu(const Sizes& s) {
  Builder b("prelu");
  const auto x = b.input("x", {image(s, 2)});
  const auto slope = b.parameter("weight", {{s["channels"]}, Kind::kNormal, 0.25, 0});
  b.output(b.op("aten.prelu.default", {ref(x), ref(slope)}));
  return b.take();
}

Architecture adaptiveavgpool2d(const Sizes& s) {
  Builder b("adaptiveavgpool2d");
  b.output(b.op("aten.adaptive_avg_pool2d.default",
                {ref(b.input("x", {image(s, 2)})), ints({s["output"], s["output"]})}));
  return b.take();
}

Architecture maxpool2d(const Sizes& s) {
  Builder b("maxpool2d");
  const auto kernel = ints({s["kernel"], s["kernel"]});
  b.output(b.op("aten.max_pool2d.default", {ref(b.input("x", {image(s, 2)})), kernel, kernel}));
  return b.take();
}

Architecture matmul(const Sizes& s) {
  Builder b("matmul");
  const auto x = b.input("x", {{s["batch"], s["rows"], s["inner"]}}),
             y = b.input("y", {{s["batch"], s["inner"], s["columns"]}});
  b.output(b.op("aten.matmul.default", {ref(x), ref(y)}));
  return b.take();
}

Architecture einsum(const Sizes& s) {
  Builder b("einsum");
  const auto x = b.input("x", {{s["batch"], s["rows"], s["inner"]}}),
             y = b.input("y", {{s["batch"], s["columns"], s["inner"]}});
  b.output(
      b.op("aten.einsum.default", {{std::string("bri,bci->brc")}, {Argument::List{ref(x), ref(y)}}, {}}));
  return b.take();
}

// Gates: 4 for lstm, 3 for gru.
ValueId recurrent(Builder& b, const Sizes& s, std::int64_t gates) {
  const auto h = s["hidden"];
  const auto x = b.input("x", {{s["batch"], s["length"], s["features"]}});
  const auto zeros = b.op("aten.new_zeros.default", {ref(x), ints({1, s["batch"], h})});
  const Argument::List weights{ref(b.weight("weight_ih_l0", {gates * h, s["features"]})),
                               ref(b.weight("weight_hh_l0", {gates * h, h})),
                               ref(b.parameter("bias_ih_l0", {{gates * h}, Kind::kNormal, 0.1, 0})),
                               ref(b.parameter("bias_hh_l0", {{gates * h}, Kind::kNormal, 0.1, 0}))};
  const bool lstm = gates == 4;
  const Argument state = lstm ? Argument{Argument::List{ref(zeros), ref(zeros)}} : ref(zeros);
  return b.ops(lstm ? "aten.lstm.input" : "aten.gru.input",
               {ref(x), state, {weights}, {true}, {std::int64_t{1}}, {0.0}, {false}, {false}, {true}},
               lstm ? 3 : 2)[0];
}

Architecture lstm(const Sizes& s) {
  Builder b("lstm");
  b.output(recurrent(b, s, 4));
  return b.take();
}

Architecture gru(const Sizes& s) {
  Builder b("gru");
  b.output(recurrent(b, s, 3));
  return b.take();
}

}  // namespace

std::vector<Subject> primitive_subjects() {
  const std::string kind = "primitive";
  return {
      {"linear", kind, "y = x W^T + b", {{"batch", 32}, {"in_features", 256}, {"out_features", 256}}, linear},
      {"conv1d",
       kind,
       "convolution over a sequence, same size out",
       {{"batch", 8}, {"channels", 32}, {"kernel", 3}, {"length", 128}},
       conv<1>},
      {"conv2d",
       kind,
       "convolution over an image, same size out",
       {{"batch", 8}, {"channels", 32}, {"kernel", 3}, {"height", 16}, {"width", 16}},
       conv<2>},
      {"conv3d",
       kind,
       "convolution over a volume, same size out",
       {{"batch", 2}, {"channels", 16}, {"kernel", 3}, {"depth", 8}, {"height", 16}, {"width", 16}},
       conv<3>},
      {"batchnorm1d",
       kind,
       "batch norm in evaluation mode",
       {{"batch", 8}, {"channels", 64}, {"length", 256}},
       batchnorm<1>},
      {"batchnorm2d",
       kind,
       "batch norm in evaluation mode",
       {{"batch", 8}, {"channels", 64}, {"height", 32}, {"width", 32}},
       batchnorm<2>},
      {"batchnorm3d",
       kind,
       "batch norm in evaluation mode",
       {{"batch", 4}, {"channels", 32}, {"depth", 8}, {"height", 16}, {"width", 16}},
       batchnorm<3>},
      {"layernorm",
       kind,
       "layer norm over the last axis",
       {{"batch", 8}, {"length", 64}, {"d_model", 256}},
       layernorm},
      {"rmsnorm",
       kind,
       "root-mean-square norm over the last axis",
       {{"batch", 8}, {"length", 64}, {"d_model", 256}},
       rmsnorm},
      {"groupnorm",
       kind,
       "group norm",
       {{"batch", 8}, {"channels", 64}, {"groups", 8}, {"height", 16}, {"width", 16}},
       groupnorm},
      {"instancenorm2d",
       kind,
       "instance norm",
       {{"batch", 8}, {"channels", 32}, {"height", 16}, {"width", 16}},
       instancenorm2d},
      {"embedding",
       kind,
       "rows of a table by id",
       {{"batch", 8}, {"length", 64}, {"vocabulary", 1000}, {"d_model", 128}},
       embedding},
      {"attention",
       kind,
       "scaled dot-product attention",
       {{"batch", 4}, {"length", 64}, {"d_model", 128}, {"heads", 4}},
       attention},
      {"softmax", kind, "softmax over the last axis", {{"batch", 64}, {"features", 512}}, softmax},
      {"gelu", kind, "pointwise activation", {{"batch", 64}, {"features", 512}}, gelu},
      {"prelu",
       kind,
       "activation with a learned slope per channel",
       {{"batch", 8}, {"channels", 32}, {"height", 16}, {"width", 16}},
       prelu},
      {"adaptiveavgpool2d",
       kind,
       "average pooling to a given size",
       {{"batch", 8}, {"channels", 32}, {"height", 32}, {"width", 32}, {"output", 4}},
       adaptiveavgpool2d},
      {"maxpool2d",
       kind,
       "max pooling",
       {{"batch", 8}, {"channels", 32}, {"kernel", 2}, {"height", 32}, {"width", 32}},
       maxpool2d},
      {"matmul",
       kind,
       "batched matrix product",
       {{"batch", 8}, {"rows", 64}, {"inner", 64}, {"columns", 64}},
       matmul},
      {"einsum",
       kind,
       "batched contraction",
       {{"batch", 8}, {"rows", 64}, {"inner", 64}, {"columns", 64}},
       einsum},
      {"cat", kind, "concatenation of features", {{"batch", 64}, {"features", 256}}, cat},
      {"lstm",
       kind,
       "one lstm layer",
       {{"batch", 8}, {"length", 32}, {"features", 64}, {"hidden", 64}},
       lstm},
      {"gru", kind, "one gru layer", {{"batch", 8}, {"length", 32}, {"features", 64}, {"hidden", 64}}, gru},
  };
}

}  // namespace wide::zoo
