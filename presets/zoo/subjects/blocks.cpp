// Transformer blocks, benchmarked like primitives.
#include <string>

#include "presets/zoo/flux.h"
#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

// x + mlp(norm(x)) with four times the features.
Architecture mlp_block(const Sizes& s) {
  Builder b("mlp_block");
  const auto d = s["d_model"];
  const auto x = b.input("x", {{s["batch"], s["length"], d}});
  const auto hidden = gelu(b, b.linear("fc1", b.layer_norm("norm", x, d), d, 4 * d));
  b.output(add(b, x, b.linear("fc2", hidden, 4 * d, d)));
  return b.take();
}

// x + attention(norm(x))
Architecture attention_block(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  Builder b("attention_block");
  const auto d = s["d_model"];
  const auto x = b.input("x", {{s["batch"], s["length"], d}});
  const auto y =
      self_attention(b, "attn", b.layer_norm("norm", x, d), {s["batch"], s["length"], d, s["heads"]});
  b.output(add(b, x, y));
  return b.take();
}

FluxSize flux_size(const Sizes& s) {
  s.must_be_multiple("d_model", "heads", 2);  // rotations turn pairs of features
  return {s["batch"], s["image"], s["text"], s["d_model"], s["heads"]};
}

struct Streams {
  ValueId image, text;
};

Streams streams(Builder& b, const FluxSize& size) {
  const auto image = b.input("img", {{size.batch, size.image, size.features}});
  return {image, b.input("txt", {{size.batch, size.text, size.features}})};
}

ValueId vector(Builder& b, const FluxSize& size) {
  return b.input("vec", {{size.batch, size.features}});
}

ValueId positions(Builder& b, const FluxSize& size) {
  return b.input("pe", rotations(size, size.text + size.image));
}

Architecture joint(const Sizes& s) {
  const auto size = flux_size(s);
  Builder b("joint_attention");
  const auto x = streams(b, size);
  const auto [image, text] = joint_attention(b, "", x.image, x.text, positions(b, size), size);
  b.output(image);
  b.output(text);
  return b.take();
}

Architecture double_stream(const Sizes& s) {
  const auto size = flux_size(s);
  Builder b("double_stream_block");
  const auto x = streams(b, size);
  const auto vec = vector(b, size);
  const auto [image, text] = double_stream_block(b, "", x.image, x.text, vec, positions(b, size), size);
  b.output(image);
  b.output(text);
  return b.take();
}

Architecture single_stream(const Sizes& s) {
  const auto size = flux_size(s);
  Builder b("single_stream_block");
  const auto x = b.input("x", {{size.batch, size.text + size.image, size.features}});
  const auto vec = vector(b, size);
  b.output(single_stream_block(b, "", x, vec, positions(b, size), size));
  return b.take();
}

}  // namespace

std::vector<Subject> blocks() {
  const std::string kind = "block";
  const std::map<std::string, Size> flux{
      {"batch", 2}, {"image", 64}, {"text", 16}, {"d_model", 128}, {"heads", 4}};
  return {
      {"mlp_block",
       kind,
       "transformer feed-forward with its norm and residual",
       {{"batch", 4}, {"length", 64}, {"d_model", 128}},
       mlp_block},
      {"attention_block",
       kind,
       "multi-head self-attention with its norm and residual",
       {{"batch", 4}, {"length", 64}, {"d_model", 128}, {"heads", 4}},
       attention_block},
      {"joint_attention", kind, "image and text tokens attend to both, with rotary positions (Flux)", flux,
       joint},
      {"double_stream_block", kind, "image and text streams, modulated, joined in attention (Flux)", flux,
       double_stream},
      {"single_stream_block", kind, "attention and feed-forward side by side, modulated (Flux)", flux,
       single_stream},
  };
}

}  // namespace wide::zoo
