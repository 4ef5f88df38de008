// Tables looked up by id.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

ValueId ids(Builder& b, const Sizes& s, const Shape& shape) {
  return b.input("ids", {shape, TensorRecipe::Kind::kInteger, 1, s["vocabulary"]});
}

Architecture lookup(const Sizes& s) {
  Builder b("embedding");
  b.output(embedding(b, "embedding", ids(b, s, {s["batch"], s["length"]}), s["vocabulary"], s["d_model"]));
  return b.take();
}

// Each bag has `length` ids; mode 0: their sum.
Architecture bag(const Sizes& s) {
  Builder b("embedding_bag");
  const auto rows = ids(b, s, {s["batch"] * s["length"]});
  const auto table = b.parameter("bag.weight", {{s["vocabulary"], s["d_model"]}});
  const auto offsets =
      b.op("aten.arange.start_step", {{std::int64_t{0}}, {s["batch"] * s["length"]}, {s["length"]}});
  b.output(b.ops("aten.embedding_bag.padding_idx",
                 {ref(table), ref(rows), ref(offsets), {false}, {std::int64_t{0}}, {false}, {}, {false}, {}},
                 4)[0]);
  return b.take();
}

}  // namespace

std::vector<Subject> tables() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> sizes{
      {"batch", 8}, {"length", 64}, {"vocabulary", 1000}, {"d_model", 128}};
  return {
      {"embedding", kind, "rows of a table by id", sizes, lookup},
      {"embedding_bag", kind, "sums of rows of a table by id", sizes, bag},
  };
}

}  // namespace wide::zoo
