// Attention alone and with its projections.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

Architecture plain(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  Builder b("scaled_dot_product_attention");
  const Shape shape{s["batch"], s["heads"], s["length"], s["d_model"] / s["heads"]};
  const auto q = b.input("q", {shape}), k = b.input("k", {shape}), v = b.input("v", {shape});
  b.output(attend(b, q, k, v, s.on("causal")));
  return b.take();
}

Architecture multihead(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  Builder b("attention");
  const auto x = b.input("x", {{s["batch"], s["length"], s["d_model"]}});
  b.output(self_attention(b, "attn", x, {s["batch"], s["length"], s["d_model"], s["heads"]}, s.on("causal")));
  return b.take();
}

// Queries from x [batch, length, d_model], keys and values from context [batch, context, d_model].
Architecture cross(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  Builder b("multiheadcrossattention");
  const auto d = s["d_model"];
  const Sequence own{s["batch"], s["length"], d, s["heads"]}, other{s["batch"], s["context"], d, s["heads"]};
  const auto x = b.input("x", {{s["batch"], s["length"], d}});
  const auto context = b.input("context", {{s["batch"], s["context"], d}});
  const auto q = b.linear("attn.q_linear", x, d, d);
  const auto kv = chunk(b, b.linear("attn.kv_linear", context, d, 2 * d), 2, 2);
  const auto y =
      attend(b, split_heads(b, q, own), split_heads(b, kv[0], other), split_heads(b, kv[1], other));
  b.output(b.linear("attn.proj", merge_heads(b, y, own), d, d));
  return b.take();
}

}  // namespace

std::vector<Subject> attentions() {
  const std::string kind = "primitive";
  return {
      {"scaled_dot_product_attention",
       kind,
       "attention of given queries, keys and values, without projections",
       {{"batch", 4}, {"length", 64}, {"d_model", 128}, {"heads", 4}, {"causal", flag(false)}},
       plain},
      {"attention",
       kind,
       "multi-head self-attention with its projections",
       {{"batch", 4}, {"length", 64}, {"d_model", 128}, {"heads", 4}, {"causal", flag(false)}},
       multihead},
      {"multiheadcrossattention",
       kind,
       "multi-head attention to a second sequence, with its projections",
       {{"batch", 4}, {"length", 64}, {"context", 32}, {"d_model", 128}, {"heads", 4}},
       cross},
  };
}

}  // namespace wide::zoo
