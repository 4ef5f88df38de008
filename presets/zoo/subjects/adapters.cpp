// Fine-tunes of one backbone: its weights are the same for all members, low-rank adapters are each member's.
#include <cmath>
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

using Kind = TensorRecipe::Kind;

constexpr double kScale = 2;  // of an adapter: alpha / rank

// A weight of the backbone, drawn with deviation `scale`.
ValueId frozen(Builder& b, const std::string& fqn, Shape shape, double scale, Kind kind = Kind::kNormal) {
  return b.parameter(fqn, {std::move(shape), kind, scale, 0, true});
}

ValueId frozen_norm(Builder& b, const std::string& fqn, ValueId x, std::int64_t features) {
  const auto weight = frozen(b, fqn + ".weight", {features}, 1, Kind::kPositive);
  const auto bias = frozen(b, fqn + ".bias", {features}, 0.1);
  return b.op("aten.layer_norm.default", {ref(x), ints({features}), ref(weight), ref(bias)});
}

// x · Wᵀ + bias + (x · A · B) · scale: [batch, length, in] -> [batch, length, out]
ValueId adapted(Builder& b, const std::string& fqn, ValueId x, std::int64_t in, std::int64_t out,
                std::int64_t rank) {
  const double deviation = 1 / std::sqrt(static_cast<double>(in));
  const auto weight = frozen(b, fqn + ".weight", {out, in}, deviation);
  const auto bias = frozen(b, fqn + ".bias", {out}, 0.1);
  const auto base = b.op("aten.linear.default", {ref(x), ref(weight), ref(bias)});
  const auto down = b.parameter(fqn + ".lora_a", {{in, rank}, Kind::kNormal, deviation, 0});
  const auto up = b.parameter(fqn + ".lora_b",
                              {{rank, out}, Kind::kNormal, 0.3 / std::sqrt(static_cast<double>(rank)), 0});
  const auto narrow = b.op("aten.matmul.default", {ref(x), ref(down)});
  const auto change = b.op("aten.matmul.default", {ref(narrow), ref(up)});
  return add(b, base, b.op("aten.mul.Tensor", {ref(change), {kScale}}));
}

ValueId attention(Builder& b, const std::string& fqn, ValueId x, const Sequence& size, std::int64_t rank,
                  bool merged) {
  const auto d = size.features;
  std::vector<ValueId> parts;
  if (merged) {
    parts = chunk(b, adapted(b, fqn + ".qkv", x, d, 3 * d, rank), 3, 2);
  } else {
    for (const char* name : {".q", ".k", ".v"}) parts.push_back(adapted(b, fqn + name, x, d, d, rank));
  }
  const auto y = attend(b, split_heads(b, parts[0], size), split_heads(b, parts[1], size),
                        split_heads(b, parts[2], size), true);
  return adapted(b, fqn + ".proj", merge_heads(b, y, size), d, d, rank);
}

// Token ids [batch, length] -> logits [batch, length, vocabulary]; the head is the table of tokens.
Architecture lora_gpt(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  Builder b("lora_gpt");
  const auto d = s["d_model"], rank = s["rank"];
  const auto ids = b.input("ids", {{s["batch"], s["length"]}, Kind::kInteger, 1, s["vocabulary"]});
  const auto table = frozen(b, "tokens.weight", {s["vocabulary"], d}, 1 / std::sqrt(static_cast<double>(d)));
  const auto places = frozen(b, "positions.weight", {s["length"], d}, 0.1);
  const auto index = b.op("aten.arange.default", {{s["length"]}});
  auto x = add(b, b.op("aten.embedding.default", {ref(table), ref(ids)}),
               b.op("aten.embedding.default", {ref(places), ref(index)}));
  const Sequence size{s["batch"], s["length"], d, s["heads"]};
  for (std::int64_t i = 0; i < s["layers"]; ++i) {
    const auto block = "blocks." + std::to_string(i);
    x = add(b, x,
            attention(b, block + ".attn", frozen_norm(b, block + ".norm1", x, d), size, rank,
                      s.on("merged_qkv")));
    const auto hidden =
        gelu(b, adapted(b, block + ".mlp.fc1", frozen_norm(b, block + ".norm2", x, d), d, 4 * d, rank));
    x = add(b, x, adapted(b, block + ".mlp.fc2", hidden, 4 * d, d, rank));
  }
  b.output(b.op("aten.linear.default", {ref(frozen_norm(b, "norm", x, d)), ref(table)}));
  return b.take();
}

}  // namespace

std::vector<Subject> adapters() {
  return {{"lora_gpt",
           "zoo",
           "causal transformer: one backbone, low-rank adapters of each member's own",
           {{"batch", 1},
            {"length", 16},
            {"vocabulary", 64},
            {"d_model", 192},
            {"heads", 6},
            {"layers", 2},
            {"rank", 8},
            {"merged_qkv", flag(true)}},
           lora_gpt}};
}

}  // namespace wide::zoo
