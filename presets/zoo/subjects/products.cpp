// Linear layers and matrix products.
#include <string>

#include "presets/zoo/flux.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

Architecture linear(const Sizes& s) {
  Builder b("linear");
  TensorRecipe x{{s["batch"], s["in_features"]}};
  x.shared = s.on("shared_input");
  b.output(b.linear("linear", b.input("x", x), s["in_features"], s["out_features"]));
  return b.take();
}

Architecture embedder(const Sizes& s) {
  Builder b("mlp_embedder");
  b.output(mlp_embedder(b, "embedder", b.input("x", {{s["batch"], s["in_features"]}}), s["in_features"],
                        s["d_model"]));
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

// Scores of every pair of x and y: [batch, outputs].
Architecture bilinear(const Sizes& s) {
  Builder b("bilinear");
  const auto n = s["features"];
  const auto x = b.input("x", {{s["batch"], n}}), y = b.input("y", {{s["batch"], n}});
  const auto weight = b.weight("weight", {s["outputs"], n, n});
  const auto bias = b.parameter("bias", {{s["outputs"]}, TensorRecipe::Kind::kNormal, 0.1, 0});
  b.output(b.op("aten.bilinear.default", {ref(x), ref(y), ref(weight), ref(bias)}));
  return b.take();
}

}  // namespace

std::vector<Subject> products() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> matrices{{"batch", 8}, {"rows", 64}, {"inner", 64}, {"columns", 64}};
  return {
      {"linear",
       kind,
       "y = x W^T + b; shared_input = 1 gives all members the same x",
       {{"batch", 32}, {"in_features", 256}, {"out_features", 256}, {"shared_input", flag(false)}},
       linear},
      {"mlp_embedder",
       kind,
       "two linear layers with silu, as diffusion transformers embed time and text",
       {{"batch", 8}, {"in_features", 128}, {"d_model", 256}},
       embedder},
      {"matmul", kind, "batched matrix product of two inputs", matrices, matmul},
      {"einsum", kind, "batched contraction of two inputs, written as an equation", matrices, einsum},
      {"bilinear",
       kind,
       "bilinear form of two inputs",
       {{"batch", 32}, {"features", 32}, {"outputs", 16}},
       bilinear},
  };
}

}  // namespace wide::zoo
