#include "presets/zoo/flux.h"

namespace wide::zoo {
namespace {

struct Heads {
  ValueId q, k, v;  ///< [batch, heads, length, head]
};

// Queries and keys are RMS-normed over the features of a head.
Heads normed_heads(Builder& b, const std::string& fqn, ValueId qkv, const Sequence& size) {
  const auto parts = chunk(b, qkv, 3, 2);
  const auto head = size.features / size.heads;
  return {rms_norm(b, fqn + ".query_norm", split_heads(b, parts[0], size), head),
          rms_norm(b, fqn + ".key_norm", split_heads(b, parts[1], size), head),
          split_heads(b, parts[2], size)};
}

Heads project(Builder& b, const std::string& fqn, ValueId x, const Sequence& size) {
  return normed_heads(b, fqn + ".norm", b.linear(fqn + ".qkv", x, size.features, 3 * size.features), size);
}

ValueId feed_forward(Builder& b, const std::string& fqn, ValueId x, std::int64_t features) {
  const auto hidden = gelu_tanh(b, b.linear(fqn + ".0", x, features, 4 * features));
  return b.linear(fqn + ".2", hidden, 4 * features, features);
}

// The stream's tail: gated attention, then a gated mlp. mod: shift, scale, gate of each.
ValueId finish_stream(Builder& b, const std::string& fqn, ValueId x, ValueId attention,
                      const std::vector<ValueId>& mod, std::int64_t features) {
  x = add(b, x, multiply(b, mod[2], attention));
  const auto y = modulate(b, plain_layer_norm(b, x, features), mod[3], mod[4]);
  return add(b, x, multiply(b, mod[5], feed_forward(b, fqn + "_mlp", y, features)));
}

ValueId pick(Builder& b, ValueId x, std::int64_t dim, std::int64_t index) {
  return b.op("aten.select.int", {ref(x), {dim}, {index}});
}

}  // namespace

ValueId mlp_embedder(Builder& b, const std::string& fqn, ValueId x, std::int64_t in, std::int64_t features) {
  const auto hidden = silu(b, b.linear(fqn + ".in_layer", x, in, features));
  return b.linear(fqn + ".out_layer", hidden, features, features);
}

std::vector<ValueId> modulation(Builder& b, const std::string& fqn, ValueId vector, std::int64_t features,
                                int parts) {
  const auto all = b.linear(fqn + ".lin", silu(b, vector), features, parts * features);
  return chunk(b, b.op("aten.unsqueeze.default", {ref(all), {std::int64_t{1}}}), parts, 2);
}

ValueId modulate(Builder& b, ValueId x, ValueId shift, ValueId scale) {
  const auto factor = b.op("aten.add.Scalar", {ref(scale), {std::int64_t{1}}});
  return add(b, multiply(b, factor, x), shift);
}

TensorRecipe rotations(const FluxSize& size, std::int64_t length) {
  constexpr double kLikeSines = 0.7;
  return {{1, 1, length, size.head() / 2, 2, 2}, TensorRecipe::Kind::kNormal, kLikeSines, 0, true};
}

ValueId rotate(Builder& b, ValueId x, ValueId rotations, const Sequence& size) {
  const auto head = size.features / size.heads;
  const auto pairs = reshape(b, x, {size.batch, size.heads, size.length, head / 2, 1, 2});
  const auto first = multiply(b, pick(b, rotations, 5, 0), pick(b, pairs, 5, 0));
  const auto second = multiply(b, pick(b, rotations, 5, 1), pick(b, pairs, 5, 1));
  return reshape(b, add(b, first, second), {size.batch, size.heads, size.length, head});
}

std::pair<ValueId, ValueId> joint_attention(Builder& b, const std::string& fqn, ValueId image, ValueId text,
                                            ValueId rotations, const FluxSize& size) {
  const auto whole = size.stream(size.text + size.image);
  const auto from_text = project(b, fqn + "txt_attn", text, size.stream(size.text));
  const auto from_image = project(b, fqn + "img_attn", image, size.stream(size.image));
  const auto q = rotate(b, concatenate(b, {from_text.q, from_image.q}, 2), rotations, whole);
  const auto k = rotate(b, concatenate(b, {from_text.k, from_image.k}, 2), rotations, whole);
  const auto y = merge_heads(b, attend(b, q, k, concatenate(b, {from_text.v, from_image.v}, 2)), whole);
  const auto d = size.features;
  const auto text_part = slice(b, y, 1, 0, size.text);
  const auto image_part = slice(b, y, 1, size.text, whole.length);
  return {b.linear(fqn + "img_attn.proj", image_part, d, d),
          b.linear(fqn + "txt_attn.proj", text_part, d, d)};
}

std::pair<ValueId, ValueId> double_stream_block(Builder& b, const std::string& fqn, ValueId image,
                                                ValueId text, ValueId vector, ValueId rotations,
                                                const FluxSize& size) {
  const auto d = size.features;
  const auto image_mod = modulation(b, fqn + "img_mod", vector, d, 6);
  const auto text_mod = modulation(b, fqn + "txt_mod", vector, d, 6);
  const auto [from_image, from_text] =
      joint_attention(b, fqn, modulate(b, plain_layer_norm(b, image, d), image_mod[0], image_mod[1]),
                      modulate(b, plain_layer_norm(b, text, d), text_mod[0], text_mod[1]), rotations, size);
  return {finish_stream(b, fqn + "img", image, from_image, image_mod, d),
          finish_stream(b, fqn + "txt", text, from_text, text_mod, d)};
}

ValueId single_stream_block(Builder& b, const std::string& fqn, ValueId x, ValueId vector, ValueId rotations,
                            const FluxSize& size) {
  const auto d = size.features, hidden = 4 * d;
  const auto whole = size.stream(size.text + size.image);
  const auto mod = modulation(b, fqn + "modulation", vector, d, 3);
  const auto y =
      b.linear(fqn + "linear1", modulate(b, plain_layer_norm(b, x, d), mod[0], mod[1]), d, 3 * d + hidden);
  const auto heads = normed_heads(b, fqn + "norm", slice(b, y, 2, 0, 3 * d), whole);
  const auto attention = merge_heads(
      b, attend(b, rotate(b, heads.q, rotations, whole), rotate(b, heads.k, rotations, whole), heads.v),
      whole);
  const auto both = concatenate(b, {attention, gelu_tanh(b, slice(b, y, 2, 3 * d, 3 * d + hidden))}, 2);
  return add(b, x, multiply(b, mod[2], b.linear(fqn + "linear2", both, d + hidden, d)));
}

}  // namespace wide::zoo
