// TorchScript files: refused without trust, then the same graph and members as any other model.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

#include <fstream>

#include "core/aten/torch_bridge.h"
#include "core/frontend/members.h"
#include "core/frontend/torchscript.h"
#include "core/model/wide_model.h"
#include "core/support.h"
#include "formats/safetensors.h"

namespace wide::test {
namespace {

namespace fs = std::filesystem;
namespace jit = torch::jit;
using testing::Contains;
using testing::HasSubstr;

// One layer with a buffer of its own, and `body` as forward(x).
jit::Module module(const std::string& body) {
  at::manual_seed(7);
  jit::Module layer("Layer"), net("Net");
  layer.register_parameter("weight", at::randn({6, 4}), false);
  layer.register_buffer("scale", at::rand({6}) + 0.5);
  net.register_module("layer", layer);
  net.register_attribute("limit", c10::FloatType::get(), 0.5);
  net.define("def forward(self, x):\n" + body);
  return net;
}

const std::string kLinear = "    return torch.matmul(x, self.layer.weight.t()) * self.layer.scale\n";

fs::path saved(const TemporaryFolder& folder, const jit::Module& net) {
  const auto path = folder / "net.pt";
  net.save(path.string());
  return path;
}

fs::path checkpoint(const TemporaryFolder& folder, const std::string& name,
                    const std::map<std::string, at::Tensor>& tensors) {
  std::vector<formats::SafetensorsEntry> entries;
  for (const auto& [fqn, tensor] : tensors) entries.push_back(to_entry(fqn, tensor));
  const auto path = folder / name;
  formats::write_safetensors(path, entries);
  return path;
}

LoadOptions trusting() {
  return {.trust = true};
}

// Two members with weights of their own against the module itself.
void expect_like_torch(const std::string& body, const at::Tensor& x) {
  const TemporaryFolder folder;
  auto net = module(body);
  const auto file = saved(folder, net);
  std::vector<fs::path> weights;
  std::vector<at::Tensor> expected;
  for (int i = 0; i < 2; ++i) {
    const std::map<std::string, at::Tensor> own = {{"layer.weight", at::randn({6, 4})},
                                                   {"layer.scale", at::rand({6}) + 0.5}};
    weights.push_back(checkpoint(folder, "member" + std::to_string(i) + ".safetensors", own));
    auto layer = net.attr("layer").toModule();
    layer.setattr("weight", own.at("layer.weight"));
    layer.setattr("scale", own.at("layer.scale"));
    expected.push_back(net.forward({x}).toTensor());
  }
  auto loaded = load({file}, weights, trusting());
  WideModel model(std::move(loaded.graph), std::move(loaded.members), {});
  const std::vector<ModelInput> inputs{{x, false}};
  const auto outputs = model.forward(inputs);
  ASSERT_EQ(outputs.size(), 1u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(agree(outputs[0].member(i), expected[static_cast<std::size_t>(i)])) << "member " << i;
  }
}

TEST(TorchScript, IsRefusedWithoutTrust) {
  const TemporaryFolder folder;
  const auto file = saved(folder, module(kLinear));
  expect_error([&] { load({file}, {}); }, "load", {file.string(), "executable code", "--trust"});
}

TEST(TorchScript, IsKnownByItsCode) {
  const TemporaryFolder folder;
  EXPECT_TRUE(is_torchscript(saved(folder, module(kLinear))));
  EXPECT_FALSE(is_torchscript(corpus("mlp") / "model.pt2"));
  EXPECT_FALSE(is_torchscript(corpus("mlp") / "seed0.safetensors"));
  EXPECT_FALSE(is_torchscript(folder / "missing.pt"));
}

// Bytes that this process has read from files so far.
std::int64_t bytes_read() {
  std::ifstream in("/proc/self/io");
  std::string key;
  std::int64_t value = 0;
  in >> key >> value;
  return value;
}

TEST(TorchScript, IsKnownWithoutReadingItsTensors) {
  const TemporaryFolder folder;
  auto net = module(kLinear);
  net.register_buffer("large", at::zeros({1 << 22}));  // 16 MiB
  const auto file = saved(folder, net);
  const auto before = bytes_read();
  EXPECT_TRUE(is_torchscript(file));
  EXPECT_LT(bytes_read() - before, 1 << 20);
}

TEST(TorchScript, RunsLikeTheModule) {
  expect_like_torch(kLinear, at::randn({3, 4}));
}

TEST(TorchScript, SizesStaySymbolic) {
  expect_like_torch(
      "    n = x.size(0)\n"
      "    y = torch.matmul(x, self.layer.weight.t()) * self.layer.scale\n"
      "    return y.view(n * 2, -1) / n\n",
      at::randn({5, 4}));
}

TEST(TorchScript, BranchesOnAttributesAndChecksFold) {
  expect_like_torch(
      "    assert x.dim() == 2, 'wants a matrix'\n"
      "    y = torch.matmul(x, self.layer.weight.t()) * self.layer.scale\n"
      "    if self.limit > 0.1:\n"
      "        y = torch.clamp(y, -self.limit, self.limit)\n"
      "    return y\n",
      at::randn({3, 4}));
}

TEST(TorchScript, ListsGrowAndComeApart) {
  expect_like_torch(
      "    y = torch.matmul(x, self.layer.weight.t()) * self.layer.scale\n"
      "    a, b = torch.chunk(y, 2, 1)\n"
      "    parts = [b]\n"
      "    same = parts\n"
      "    parts.append(a)\n"
      "    return torch.cat(same, 1)\n",
      at::randn({3, 4}));
}

TEST(TorchScript, BranchesAndLoopsOnDataAreRefusedByName) {
  const TemporaryFolder folder;
  const auto branch = saved(folder, module("    if bool(x.sum() > 0):\n"
                                           "        return x\n"
                                           "    return x + 1\n"));
  expect_error([&] { load({branch}, {}, trusting()); }, "capture", {"prim::If", "run time"});
  const auto loop = saved(folder, module("    while bool(x.sum() > 0):\n"
                                         "        x = x - 1\n"
                                         "    return x\n"));
  expect_error([&] { load({loop}, {}, trusting()); }, "capture", {"prim::Loop"});
}

TEST(TorchScript, CheckpointsAreCheckedLikeAnyOther) {
  const TemporaryFolder folder;
  const auto file = saved(folder, module(kLinear));
  const auto weight = at::randn({6, 4}), scale = at::rand({6});
  const auto wrong =
      checkpoint(folder, "wrong.safetensors", {{"layer.weight", at::randn({4, 6})}, {"layer.scale", scale}});
  expect_error([&] { load({file}, {wrong}, trusting()); }, "load", {"layer.weight", "[4, 6]", "[6, 4]"});
  const auto lacking = checkpoint(folder, "lacking.safetensors", {{"layer.scale", scale}});
  expect_error([&] { load({file}, {lacking}, trusting()); }, "load", {"lacks 'layer.weight'"});
  // The file does not say whether a state dict holds the buffer.
  const auto without = checkpoint(folder, "without.safetensors", {{"layer.weight", weight}});
  const auto loaded = load({file}, {without}, trusting());
  EXPECT_THAT(loaded.warnings, Contains(HasSubstr("'layer.scale'")));
}

TEST(TorchScript, ABrokenFileIsAnError) {
  const TemporaryFolder folder;
  const auto file = saved(folder, module(kLinear));
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  // Behind the local header of the code: its compressed bytes.
  const auto code = bytes.find(".py");
  ASSERT_LT(code + 200, bytes.size());
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(code) + 100, 40, '\xff');
  std::ofstream(file, std::ios::binary) << bytes;
  expect_error([&] { load({file}, {}, trusting()); }, "load", {file.string()});
}

}  // namespace
}  // namespace wide::test
