// Normalisation layers, with weight and bias that differ from 1 and 0.
#include <string>

#include "presets/zoo/flux.h"
#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

using Kind = TensorRecipe::Kind;

// In training mode each member's running statistics are written.
template <int kAxes>
Architecture batchnorm(const Sizes& s) {
  Builder b("batchnorm" + std::to_string(kAxes) + "d");
  b.output(b.batch_norm("norm", b.input("x", {feature_map(s, kAxes)}), s["channels"], s.on("train")));
  return b.take();
}

template <int kAxes>
Architecture instancenorm(const Sizes& s) {
  Builder b("instancenorm" + std::to_string(kAxes) + "d");
  const auto x = b.input("x", {feature_map(s, kAxes)});
  const auto weight = b.parameter("norm.weight", {{s["channels"]}, Kind::kPositive});
  const auto bias = b.parameter("norm.bias", {{s["channels"]}, Kind::kNormal, 0.1, 0});
  b.output(b.op("aten.instance_norm.default",
                {ref(x), ref(weight), ref(bias), {}, {}, {true}, {0.1}, {1e-5}, {false}}));
  return b.take();
}

ValueId tokens(Builder& b, const Sizes& s) {
  return b.input("x", {{s["batch"], s["length"], s["d_model"]}});
}

Architecture layernorm(const Sizes& s) {
  Builder b("layernorm");
  b.output(b.layer_norm("norm", tokens(b, s), s["d_model"]));
  return b.take();
}

Architecture rmsnorm(const Sizes& s) {
  Builder b("rmsnorm");
  b.output(rms_norm(b, "norm", tokens(b, s), s["d_model"]));
  return b.take();
}

Architecture groupnorm(const Sizes& s) {
  s.must_be_multiple("channels", "groups");
  Builder b("groupnorm");
  b.output(group_norm(b, "norm", b.input("x", {feature_map(s, 2)}), s["groups"], s["channels"]));
  return b.take();
}

// x [batch, length, d_model] and a vector [batch, d_model] -> x normed, scaled and shifted; the gate.
Architecture ada_layer_norm_zero_single(const Sizes& s) {
  Builder b("ada_layer_norm_zero_single");
  const auto x = tokens(b, s);
  const auto vector = b.input("vector", {{s["batch"], s["d_model"]}});
  const auto parts = chunk(b, b.linear("linear", silu(b, vector), s["d_model"], 3 * s["d_model"]), 3, 1);
  const auto over_tokens = [&](ValueId part) {
    return b.op("aten.unsqueeze.default", {ref(part), {std::int64_t{1}}});
  };
  b.output(modulate(b, plain_layer_norm(b, x, s["d_model"]), over_tokens(parts[0]), over_tokens(parts[1])));
  b.output(parts[2]);
  return b.take();
}

std::map<std::string, Size> with_train(std::map<std::string, Size> sizes) {
  sizes.emplace("train", flag(false));
  return sizes;
}

}  // namespace

std::vector<Subject> norms() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> line{{"batch", 8}, {"channels", 64}, {"length", 256}};
  const std::map<std::string, Size> image{{"batch", 8}, {"channels", 64}, {"height", 32}, {"width", 32}};
  const std::map<std::string, Size> volume{
      {"batch", 4}, {"channels", 32}, {"depth", 8}, {"height", 16}, {"width", 16}};
  const std::map<std::string, Size> tokens{{"batch", 8}, {"length", 64}, {"d_model", 256}};
  auto grouped = image;
  grouped.emplace("groups", 8);
  return {
      {"batchnorm1d", kind, "batch norm of sequences; train = 1 keeps running statistics per member",
       with_train(line), batchnorm<1>},
      {"batchnorm2d", kind, "batch norm of images; train = 1 keeps running statistics per member",
       with_train(image), batchnorm<2>},
      {"batchnorm3d", kind, "batch norm of volumes; train = 1 keeps running statistics per member",
       with_train(volume), batchnorm<3>},
      {"instancenorm1d", kind, "norm of each channel of each sequence", line, instancenorm<1>},
      {"instancenorm2d", kind, "norm of each channel of each image", image, instancenorm<2>},
      {"instancenorm3d", kind, "norm of each channel of each volume", volume, instancenorm<3>},
      {"layernorm", kind, "layer norm over the features of each token", tokens, layernorm},
      {"rmsnorm", kind, "root-mean-square norm over the features of each token", tokens, rmsnorm},
      {"groupnorm", kind, "norm of groups of channels of each image", grouped, groupnorm},
      {"ada_layer_norm_zero_single", kind,
       "layer norm with shift, scale and gate made from a vector (diffusion transformers)", tokens,
       ada_layer_norm_zero_single},
  };
}

}  // namespace wide::zoo
