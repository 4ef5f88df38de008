// Operators on images that have no weights: pooling, resizing, padding.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

ValueId image(Builder& b, const Sizes& s) {
  return b.input("x", {{s["batch"], s["channels"], s["height"], s["width"]}});
}

Architecture adaptiveavgpool2d(const Sizes& s) {
  Builder b("adaptiveavgpool2d");
  b.output(b.op("aten.adaptive_avg_pool2d.default", {ref(image(b, s)), ints({s["output"], s["output"]})}));
  return b.take();
}

Architecture maxpool2d(const Sizes& s) {
  Builder b("maxpool2d");
  const auto kernel = ints({s["kernel"], s["kernel"]});
  b.output(b.op("aten.max_pool2d.default", {ref(image(b, s)), kernel, kernel}));
  return b.take();
}

Architecture avgpool2d(const Sizes& s) {
  Builder b("avgpool2d");
  const auto kernel = ints({s["kernel"], s["kernel"]});
  b.output(b.op("aten.avg_pool2d.default", {ref(image(b, s)), kernel, kernel}));
  return b.take();
}

// To twice the height and width.
Architecture upsample(const Sizes& s) {
  Builder b("upsample");
  b.output(
      b.op("aten.upsample_bilinear2d.vec", {ref(image(b, s)), {}, {false}, {Argument::List{{2.0}, {2.0}}}}));
  return b.take();
}

Architecture pixel_shuffle(const Sizes& s) {
  Builder b("pixel_shuffle");
  const auto factor = s["factor"];
  const auto x = b.input("x", {{s["batch"], s["channels"] * factor * factor, s["height"], s["width"]}});
  b.output(b.op("aten.pixel_shuffle.default", {ref(x), {factor}}));
  return b.take();
}

Architecture reflection(const Sizes& s) {
  Builder b("pad");
  const auto p = s["padding"];
  b.output(b.op("aten.pad.default", {ref(image(b, s)), ints({p, p, p, p}), {std::string("reflect")}, {}}));
  return b.take();
}

std::map<std::string, Size> sizes(std::int64_t side, const std::string& name, std::int64_t value) {
  return {{"batch", 8}, {"channels", 32}, {"height", side}, {"width", side}, {name, value}};
}

}  // namespace

std::vector<Subject> images() {
  const std::string kind = "primitive";
  return {
      {"adaptiveavgpool2d", kind, "average pooling to a given size", sizes(32, "output", 4),
       adaptiveavgpool2d},
      {"maxpool2d", kind, "largest of each window", sizes(32, "kernel", 2), maxpool2d},
      {"avgpool2d", kind, "average of each window", sizes(32, "kernel", 2), avgpool2d},
      {"upsample",
       kind,
       "bilinear resizing to twice the size",
       {{"batch", 8}, {"channels", 32}, {"height", 16}, {"width", 16}},
       upsample},
      {"pixel_shuffle", kind, "channels rearranged into a larger image", sizes(16, "factor", 2),
       pixel_shuffle},
      {"pad", kind, "an image padded by its reflection", sizes(16, "padding", 1), reflection},
  };
}

}  // namespace wide::zoo
