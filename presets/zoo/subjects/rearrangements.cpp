// Operators that join, order, gather and scatter elements.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

ValueId rows(Builder& b, const Sizes& s, const std::string& name = "x") {
  return b.input(name, {{s["batch"], s["features"]}});
}

// [batch, picks] numbers of columns.
ValueId columns(Builder& b, const Sizes& s) {
  return b.input("columns", {{s["batch"], s["picks"]}, TensorRecipe::Kind::kInteger, 1, s["features"]});
}

Architecture cat(const Sizes& s) {
  Builder b("cat");
  b.output(concatenate(b, {rows(b, s), rows(b, s, "y")}, 1));
  return b.take();
}

Architecture sort(const Sizes& s) {
  Builder b("sort");
  b.output(b.ops("aten.sort.default", {ref(rows(b, s)), {std::int64_t{1}}}, 2)[0]);
  return b.take();
}

Architecture topk(const Sizes& s) {
  Builder b("topk");
  b.output(b.ops("aten.topk.default", {ref(rows(b, s)), {s["picks"]}, {std::int64_t{1}}}, 2)[0]);
  return b.take();
}

Architecture cumsum(const Sizes& s) {
  Builder b("cumsum");
  b.output(b.op("aten.cumsum.default", {ref(rows(b, s)), {std::int64_t{1}}}));
  return b.take();
}

Architecture gather(const Sizes& s) {
  Builder b("gather");
  const auto x = rows(b, s);
  b.output(b.op("aten.gather.default", {ref(x), {std::int64_t{1}}, ref(columns(b, s))}));
  return b.take();
}

Architecture scatter_add(const Sizes& s) {
  Builder b("scatter_add");
  const auto x = rows(b, s);
  const auto index = columns(b, s);
  const auto source = b.input("source", {{s["batch"], s["picks"]}});
  b.output(b.op("aten.scatter_add.default", {ref(x), {std::int64_t{1}}, ref(index), ref(source)}));
  return b.take();
}

Architecture mean(const Sizes& s) {
  Builder b("mean");
  b.output(b.op("aten.mean.dim", {ref(rows(b, s)), ints({1})}));
  return b.take();
}

}  // namespace

std::vector<Subject> rearrangements() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> sizes{{"batch", 64}, {"features", 256}};
  auto picking = sizes;
  picking.emplace("picks", 16);
  return {
      {"cat", kind, "two inputs joined along their features", sizes, cat},
      {"sort", kind, "features of each row in order", sizes, sort},
      {"topk", kind, "the largest features of each row", picking, topk},
      {"cumsum", kind, "running sums along the features", sizes, cumsum},
      {"gather", kind, "features of each row by number", picking, gather},
      {"scatter_add", kind, "values added to features of each row by number", picking, scatter_add},
      {"mean", kind, "mean over the features", sizes, mean},
  };
}

}  // namespace wide::zoo
