// Transformers and recurrent models.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

// Token ids [batch, length] -> logits [batch, length, vocabulary]
Architecture minigpt(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  Builder b("minigpt");
  const auto d = s["d_model"];
  const auto ids =
      b.input("ids", {{s["batch"], s["length"]}, TensorRecipe::Kind::kInteger, 1, s["vocabulary"]});
  const auto index = b.op("aten.arange.default", {{s["length"]}});
  auto x = add(b, embedding(b, "tokens", ids, s["vocabulary"], d),
               embedding(b, "positions", index, s["length"], d));
  for (std::int64_t i = 0; i < s["layers"]; ++i) {
    x = transformer_block(b, "blocks." + std::to_string(i), x, {s["batch"], s["length"], d, s["heads"]},
                          true);
  }
  b.output(b.linear("head", b.layer_norm("norm", x, d), d, s["vocabulary"]));
  return b.take();
}

// Image [batch, 3, image, image] -> [batch, classes]: patches as tokens behind a class token.
Architecture vit(const Sizes& s) {
  s.must_be_multiple("d_model", "heads");
  s.must_be_multiple("image", "patch");
  Builder b("vit");
  const auto d = s["d_model"], patch = s["patch"], side = s["image"] / patch, patches = side * side;
  const auto image = b.input("x", {{s["batch"], 3, s["image"], s["image"]}});
  const auto embedded =
      reshape(b, b.conv2d("patch_embed", image, 3, d, patch, patch, 0), {s["batch"], d, patches});
  const auto rows = b.op("aten.transpose.int", {ref(embedded), {std::int64_t{1}}, {std::int64_t{2}}});
  const auto token = b.parameter("cls_token", {{1, 1, d}});
  const auto first = b.op("aten.expand.default", {ref(token), ints({s["batch"], 1, d})});
  auto x = add(b, concatenate(b, {first, rows}, 1), b.parameter("pos_embed", {{1, patches + 1, d}}));
  for (std::int64_t i = 0; i < s["layers"]; ++i) {
    x = transformer_block(b, "blocks." + std::to_string(i), x, {s["batch"], patches + 1, d, s["heads"]},
                          false);
  }
  const auto out =
      b.op("aten.select.int", {ref(b.layer_norm("norm", x, d)), {std::int64_t{1}}, {std::int64_t{0}}});
  b.output(b.linear("head", out, d, s["classes"]));
  return b.take();
}

// [batch, length, features] -> [batch, classes], from the last step.
Architecture lstm_classifier(const Sizes& s) {
  Builder b("lstm_classifier");
  const auto x = b.input("x", {{s["batch"], s["length"], s["features"]}});
  const auto y = recurrent(b, "lstm", x, Cell::kLstm, {s["batch"], s["features"], s["hidden"]});
  const auto last = b.op("aten.select.int", {ref(y), {std::int64_t{1}}, {s["length"] - 1}});
  b.output(b.linear("fc", last, s["hidden"], s["classes"]));
  return b.take();
}

}  // namespace

std::vector<Subject> sequence_models() {
  const std::string kind = "zoo";
  return {
      {"minigpt",
       kind,
       "causal transformer with learned positions",
       {{"batch", 4}, {"length", 32}, {"vocabulary", 256}, {"d_model", 64}, {"heads", 4}, {"layers", 2}},
       minigpt},
      {"vit",
       kind,
       "vision transformer with a class token",
       {{"batch", 4},
        {"image", 32},
        {"patch", 8},
        {"d_model", 64},
        {"heads", 4},
        {"layers", 2},
        {"classes", 10}},
       vit},
      {"lstm_classifier",
       kind,
       "lstm over a sequence, classified at its last step",
       {{"batch", 8}, {"length", 32}, {"features", 32}, {"hidden", 64}, {"classes", 10}},
       lstm_classifier},
  };
}

}  // namespace wide::zoo
