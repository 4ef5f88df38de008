// Recurrent layers over [batch, length, features], from states of zero.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

template <Cell kCell>
Architecture layers(const Sizes& s) {
  const std::string name = kCell == Cell::kLstm ? "lstm" : kCell == Cell::kGru ? "gru" : "rnn";
  Builder b(name);
  const auto x = b.input("x", {{s["batch"], s["length"], s["features"]}});
  b.output(recurrent(b, name, x, kCell,
                     {s["batch"], s["features"], s["hidden"], s["layers"], s.on("bidirectional")}));
  return b.take();
}

}  // namespace

std::vector<Subject> recurrents() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> sizes{{"batch", 8},   {"length", 32}, {"features", 64},
                                          {"hidden", 64}, {"layers", 1},  {"bidirectional", flag(false)}};
  return {
      {"rnn", kind, "Elman layers with tanh; several layers, both directions", sizes, layers<Cell::kRnn>},
      {"gru", kind, "gated recurrent layers; several layers, both directions", sizes, layers<Cell::kGru>},
      {"lstm", kind, "long short-term memory layers; several layers, both directions", sizes,
       layers<Cell::kLstm>},
  };
}

}  // namespace wide::zoo
