// Denoising models: a U-Net and a small Flux.
#include <cmath>
#include <string>
#include <tuple>

#include "presets/zoo/flux.h"
#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

// exp(-log(10000) i / half) for i in [0, half)
ValueId frequencies(Builder& b, std::int64_t half) {
  const auto steps = b.op("aten.arange.default", {{half}});
  return b.op("aten.exp.default",
              {ref(b.op("aten.mul.Scalar", {ref(steps), {-std::log(10000.0) / static_cast<double>(half)}}))});
}

// Times [batch] -> cosines and sines [batch, features].
ValueId time_features(Builder& b, ValueId time, std::int64_t features) {
  const auto scaled = b.op("aten.mul.Scalar", {ref(time), {1000.0}});
  const auto column = b.op("aten.unsqueeze.default", {ref(scaled), {std::int64_t{1}}});
  const auto row = b.op("aten.type_as.default", {ref(frequencies(b, features / 2)), ref(time)});
  const auto angles = multiply(b, column, row);
  return concatenate(b, {b.op("aten.cos.default", {ref(angles)}), b.op("aten.sin.default", {ref(angles)})},
                     1);
}

constexpr std::int64_t kGroups = 4;

ValueId normed_convolution(Builder& b, const std::string& fqn, ValueId x, std::int64_t in, std::int64_t out) {
  return b.conv2d(fqn + ".conv", silu(b, group_norm(b, fqn + ".norm", x, kGroups, in)), in, out, 3, 1, 1);
}

// Two normed convolutions around a skip connection, the time [batch, width] added in between.
ValueId residual(Builder& b, const std::string& fqn, ValueId x, ValueId time, std::int64_t width,
                 std::int64_t in, std::int64_t out) {
  auto y = normed_convolution(b, fqn + ".1", x, in, out);
  const auto shift = b.linear(fqn + ".time", silu(b, time), width, out);
  const auto column = b.op("aten.unsqueeze.default", {ref(shift), {std::int64_t{2}}});
  y = add(b, y, b.op("aten.unsqueeze.default", {ref(column), {std::int64_t{3}}}));
  y = normed_convolution(b, fqn + ".2", y, out, out);
  return add(b, y, in == out ? x : b.conv2d(fqn + ".skip", x, in, out, 1, 1, 0));
}

// x [batch, channels, height, width] attends to itself, pixel by pixel.
ValueId pixel_attention(Builder& b, const std::string& fqn, ValueId x, const Shape& image) {
  const auto channels = image[1], pixels = image[2] * image[3];
  const Sequence size{image[0], pixels, channels, 1};
  const auto flat =
      reshape(b, group_norm(b, fqn + ".norm", x, kGroups, channels), {image[0], channels, pixels});
  const auto rows = b.op("aten.transpose.int", {ref(flat), {std::int64_t{1}}, {std::int64_t{2}}});
  const auto y = self_attention(b, fqn, rows, size);
  const auto back = b.op("aten.transpose.int", {ref(y), {std::int64_t{1}}, {std::int64_t{2}}});
  return add(b, x, reshape(b, back, image));
}

ValueId twice_as_large(Builder& b, ValueId x) {
  return b.op("aten.upsample_nearest2d.vec", {ref(x), {}, {Argument::List{{2.0}, {2.0}}}});
}

// A noisy image and its time -> the noise. Two halvings down with skips to the two doublings up.
Architecture unet(const Sizes& s) {
  for (const auto* side : {"height", "width", "channels"}) s.must_be_multiple(side, 4);
  Builder b("unet");
  const auto c = s["channels"], width = 4 * c, h = s["height"], w = s["width"];
  const auto image = b.input("x", {{s["batch"], 3, h, w}});
  const auto when = b.input("time", {{s["batch"]}, TensorRecipe::Kind::kPositive});
  const auto time = mlp_embedder(b, "time", time_features(b, when, c), c, width);
  const auto full = residual(b, "down1", b.conv2d("stem", image, 3, c, 3, 1, 1), time, width, c, c);
  const auto half = residual(b, "down2", b.conv2d("half", full, c, c, 3, 2, 1), time, width, c, 2 * c);
  auto x =
      residual(b, "middle1", b.conv2d("quarter", half, 2 * c, 2 * c, 3, 2, 1), time, width, 2 * c, 2 * c);
  x = pixel_attention(b, "attn", x, {s["batch"], 2 * c, h / 4, w / 4});
  x = residual(b, "middle2", x, time, width, 2 * c, 2 * c);
  x = b.conv2d("up2.conv", twice_as_large(b, x), 2 * c, 2 * c, 3, 1, 1);
  x = residual(b, "up2", concatenate(b, {x, half}, 1), time, width, 4 * c, c);
  x = b.conv2d("up1.conv", twice_as_large(b, x), c, c, 3, 1, 1);
  x = residual(b, "up1", concatenate(b, {x, full}, 1), time, width, 2 * c, c);
  b.output(normed_convolution(b, "out", x, c, 3));
  return b.take();
}

// Positions ids [tokens, 2] -> rotations of pairs [1, 1, tokens, head / 2, 2, 2], half of them per axis.
ValueId rotary_positions(Builder& b, ValueId ids, std::int64_t tokens, std::int64_t head) {
  std::vector<ValueId> axes;
  const auto pairs = head / 4;
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const auto place = b.op("aten.select.int", {ref(ids), {std::int64_t{1}}, {axis}});
    const auto column = b.op("aten.unsqueeze.default", {ref(place), {std::int64_t{1}}});
    const auto angles = multiply(b, column, frequencies(b, pairs));
    const auto cosine = b.op("aten.cos.default", {ref(angles)}),
               sine = b.op("aten.sin.default", {ref(angles)});
    const auto minus = b.op("aten.neg.default", {ref(sine)});
    const auto table =
        b.op("aten.stack.default",
             {{Argument::List{ref(cosine), ref(minus), ref(sine), ref(cosine)}}, {std::int64_t{2}}});
    axes.push_back(reshape(b, table, {1, 1, tokens, pairs, 2, 2}));
  }
  return concatenate(b, axes, 3);
}

// [batch, features] modulates the last norm: tokens -> channels.
ValueId last_layer(Builder& b, ValueId x, ValueId vec, std::int64_t features, std::int64_t channels) {
  const auto mod = modulation(b, "final_layer.adaLN", vec, features, 2);
  return b.linear("final_layer.linear", modulate(b, plain_layer_norm(b, x, features), mod[0], mod[1]),
                  features, channels);
}

// Image latents, text, time and a text vector -> the flow of the latents, as Flux computes it.
Architecture flux_tiny(const Sizes& s) {
  s.must_be_multiple("d_model", "heads", 4);
  Builder b("flux_tiny");
  const FluxSize size{s["batch"], s["image"], s["text"], s["d_model"], s["heads"]};
  const auto d = size.features, tokens = size.text + size.image;
  constexpr std::int64_t kTimeFeatures = 64;
  auto image = b.input("img", {{size.batch, size.image, s["channels"]}});
  auto text = b.input("txt", {{size.batch, size.text, s["context"]}});
  const auto time = b.input("timesteps", {{size.batch}, TensorRecipe::Kind::kPositive});
  const auto pooled = b.input("y", {{size.batch, s["vector"]}});
  const auto ids = b.input("ids", {{tokens, 2}, TensorRecipe::Kind::kInteger, 1, 16, true});
  image = b.linear("img_in", image, s["channels"], d);
  text = b.linear("txt_in", text, s["context"], d);
  const auto vec = add(b, mlp_embedder(b, "time_in", time_features(b, time, kTimeFeatures), kTimeFeatures, d),
                       mlp_embedder(b, "vector_in", pooled, s["vector"], d));
  const auto pe =
      b.op("aten.type_as.default", {ref(rotary_positions(b, ids, tokens, size.head())), ref(image)});
  for (std::int64_t i = 0; i < s["double_layers"]; ++i) {
    const auto name = "double_blocks." + std::to_string(i) + ".";
    std::tie(image, text) = double_stream_block(b, name, image, text, vec, pe, size);
  }
  auto x = concatenate(b, {text, image}, 1);
  for (std::int64_t i = 0; i < s["single_layers"]; ++i) {
    x = single_stream_block(b, "single_blocks." + std::to_string(i) + ".", x, vec, pe, size);
  }
  b.output(last_layer(b, slice(b, x, 1, size.text, tokens), vec, d, s["channels"]));
  return b.take();
}

}  // namespace

std::vector<Subject> diffusion() {
  const std::string kind = "zoo";
  return {
      {"unet",
       kind,
       "denoising U-Net with time embedding, group norm and attention in the middle",
       {{"batch", 4}, {"channels", 16}, {"height", 16}, {"width", 16}},
       unet},
      {"flux_tiny",
       kind,
       "small Flux: double and single stream blocks over image and text, rotary positions",
       {{"batch", 1},
        {"image", 32},
        {"text", 8},
        {"d_model", 64},
        {"heads", 4},
        {"channels", 16},
        {"context", 32},
        {"vector", 32},
        {"double_layers", 1},
        {"single_layers", 2}},
       flux_tiny},
  };
}

}  // namespace wide::zoo
