// Convolutions, plain and transposed, over one to three spatial axes.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

// Padded to keep the size at stride 1 and odd kernels. groups == channels is a depthwise convolution.
template <int kAxes>
Architecture conv(const Sizes& s) {
  s.must_be_multiple("channels", "groups");
  Builder b("conv" + std::to_string(kAxes) + "d");
  const auto padding = s["dilation"] * (s["kernel"] / 2);
  b.output(convolution(
      b, "conv", b.input("x", {feature_map(s, kAxes)}), kAxes,
      {s["channels"], s["channels"], s["kernel"], s["stride"], padding, s["groups"], s["dilation"]}));
  return b.take();
}

// With stride 2 and kernel 4 the size doubles.
template <int kAxes>
Architecture convtranspose(const Sizes& s) {
  s.must_be_multiple("channels", "groups");
  Builder b("convtranspose" + std::to_string(kAxes) + "d");
  const auto padding = (s["kernel"] - 1) / 2;
  b.output(
      transposed_convolution(b, "conv", b.input("x", {feature_map(s, kAxes)}), kAxes,
                             {s["channels"], s["channels"], s["kernel"], s["stride"], padding, s["groups"]}));
  return b.take();
}

std::map<std::string, Size> with_kernel(std::map<std::string, Size> sizes) {
  sizes.insert({{"kernel", 3}, {"stride", 1}, {"groups", 1}, {"dilation", 1}});
  return sizes;
}

std::map<std::string, Size> with_doubling(std::map<std::string, Size> sizes) {
  sizes.insert({{"kernel", 4}, {"stride", 2}, {"groups", 1}});
  return sizes;
}

}  // namespace

std::vector<Subject> convolutions() {
  const std::string kind = "primitive";
  const std::map<std::string, Size> line{{"batch", 8}, {"channels", 32}, {"length", 128}};
  const std::map<std::string, Size> image{{"batch", 8}, {"channels", 32}, {"height", 16}, {"width", 16}};
  const std::map<std::string, Size> volume{
      {"batch", 2}, {"channels", 16}, {"depth", 8}, {"height", 16}, {"width", 16}};
  const std::map<std::string, Size> small{
      {"batch", 2}, {"channels", 8}, {"depth", 6}, {"height", 8}, {"width", 8}};
  return {
      {"conv1d", kind, "convolution over a sequence; strides, dilation, groups", with_kernel(line), conv<1>},
      {"conv2d", kind, "convolution over an image; strides, dilation, groups", with_kernel(image), conv<2>},
      {"conv3d", kind, "convolution over a volume; strides, dilation, groups", with_kernel(volume), conv<3>},
      {"convtranspose1d", kind, "transposed convolution that doubles a sequence", with_doubling(line),
       convtranspose<1>},
      {"convtranspose2d", kind, "transposed convolution that doubles an image", with_doubling(image),
       convtranspose<2>},
      {"convtranspose3d", kind, "transposed convolution that doubles a volume", with_doubling(small),
       convtranspose<3>},
  };
}

}  // namespace wide::zoo
