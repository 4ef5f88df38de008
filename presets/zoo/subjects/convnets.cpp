// Models of convolutions.
#include <string>

#include "presets/zoo/layers.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

// Two 3x3 convolutions with batch norm around a skip connection.
Architecture resblock(const Sizes& s) {
  Builder b("resblock");
  const auto c = s["channels"];
  const bool train = s.on("train");
  const auto x = b.input("x", {{s["batch"], c, s["height"], s["width"]}});
  auto y = relu(b, b.batch_norm("bn1", b.conv2d("conv1", x, c, c, 3, 1, 1), c, train));
  y = b.batch_norm("bn2", b.conv2d("conv2", y, c, c, 3, 1, 1), c, train);
  b.output(relu(b, add(b, y, x)));
  return b.take();
}

// Two stages, global pooling, a classifier.
Architecture convnet(const Sizes& s) {
  Builder b("convnet");
  const auto c = s["channels"];
  auto x = b.input("x", {{s["batch"], 3, s["height"], s["width"]}});
  x = relu(b, b.batch_norm("bn1", b.conv2d("conv1", x, 3, c, 3, 1, 1), c));
  x = b.op("aten.max_pool2d.default", {ref(x), ints({2, 2}), ints({2, 2})});
  x = relu(b, b.batch_norm("bn2", b.conv2d("conv2", x, c, 2 * c, 3, 1, 1), 2 * c));
  x = b.op("aten.adaptive_avg_pool2d.default", {ref(x), ints({1, 1})});
  x = b.op("aten.flatten.using_ints", {ref(x), {std::int64_t{1}}});
  b.output(b.linear("fc", x, 2 * c, s["classes"]));
  return b.take();
}

// z = mean + exp(log variance / 2) noise
ValueId sample(Builder& b, ValueId mean, ValueId log_variance) {
  const auto deviation = b.op("aten.exp.default", {ref(b.op("aten.mul.Scalar", {ref(log_variance), {0.5}}))});
  const auto noise = b.op("aten.randn_like.default", {ref(mean)});
  return add(b, mean, multiply(b, deviation, noise));
}

// Image -> its reconstruction, and mean and log variance of the latent vector. Two strided convolutions down,
// two transposed ones up. In training the latent vector is drawn, else it is the mean.
Architecture vae(const Sizes& s) {
  s.must_be_multiple("height", 4);
  s.must_be_multiple("width", 4);
  Builder b("vae");
  const auto c = s["channels"], latent = s["latent"], h = s["height"] / 4, w = s["width"] / 4;
  const auto flat = 2 * c * h * w;
  auto x = b.input("x", {{s["batch"], 3, s["height"], s["width"]}});
  x = relu(b, b.conv2d("encoder.conv1", x, 3, c, 3, 2, 1));
  x = relu(b, b.conv2d("encoder.conv2", x, c, 2 * c, 3, 2, 1));
  x = reshape(b, x, {s["batch"], flat});
  const auto mean = b.linear("mean", x, flat, latent);
  const auto log_variance = b.linear("log_variance", x, flat, latent);
  auto z = s.on("train") ? sample(b, mean, log_variance) : mean;
  z = reshape(b, relu(b, b.linear("decoder.fc", z, latent, flat)), {s["batch"], 2 * c, h, w});
  z = relu(b, transposed_convolution(b, "decoder.conv1", z, 2, {2 * c, c, 4, 2, 1}));
  z = transposed_convolution(b, "decoder.conv2", z, 2, {c, 3, 4, 2, 1});
  b.output(b.op("aten.sigmoid.default", {ref(z)}));
  b.output(mean);
  b.output(log_variance);
  return b.take();
}

}  // namespace

std::vector<Subject> convnets() {
  const std::string kind = "zoo";
  return {
      {"resblock",
       kind,
       "residual block of two 3x3 convolutions with batch norm; train = 1 keeps statistics",
       {{"batch", 8}, {"channels", 64}, {"height", 16}, {"width", 16}, {"train", flag(false)}},
       resblock},
      {"convnet",
       kind,
       "small image classifier",
       {{"batch", 8}, {"channels", 16}, {"height", 32}, {"width", 32}, {"classes", 10}},
       convnet},
      {"vae",
       kind,
       "convolutional variational autoencoder; train = 1 draws the latent vector",
       {{"batch", 8},
        {"channels", 16},
        {"height", 16},
        {"width", 16},
        {"latent", 16},
        {"train", flag(false)}},
       vae},
  };
}

}  // namespace wide::zoo
