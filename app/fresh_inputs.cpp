#include "app/fresh_inputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "core/aten/side_by_side.h"

namespace wide::app {
namespace {

constexpr int kDraws = 4;
constexpr std::size_t kFewestSlots = 2, kMostSlots = 8;
constexpr double kSlotBytes = 256 << 10;  // of all slots: a part of a core's own cache

bool alike(const std::vector<ModelInput>& a, const std::vector<ModelInput>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ModelInput& x, const ModelInput& y) {
    return x.mapped == y.mapped && x.tensor.sizes() == y.tensor.sizes() &&
           x.tensor.scalar_type() == y.tensor.scalar_type() && x.tensor.device() == y.tensor.device();
  });
}

bool is_real(const at::Tensor& tensor) {
  return tensor.is_floating_point() || tensor.is_complex();
}

}  // namespace

FreshInputs::FreshInputs(std::vector<ModelInput> like, const Draw& draw, std::uint64_t seed)
    : random_(profiler::derive(seed, 31)) {
  const c10::InferenceMode guard;
  for (int i = 0; i < kDraws && draw; ++i) {
    if (auto one = draw(random_.next() >> 33); alike(one, like)) drawn_.push_back(std::move(one));
  }
  drawn_.push_back(std::move(like));
}

// In the same memory each time: what was freed here would be what rivals next make their outputs in, and
// would lie in the cache.
const std::vector<ModelInput>& FreshInputs::next() {
  const c10::InferenceMode guard;
  if (last_.empty()) last_ = cloned(drawn_.back());
  const auto& values = drawn_[random_.below(static_cast<std::uint32_t>(drawn_.size()))];
  const auto first = static_cast<std::int64_t>(random_.next() >> 40),
             row = static_cast<std::int64_t>(random_.next() >> 40);
  const double factor = 0.75 + 0.5 * static_cast<double>(random_.next() >> 11) * 0x1p-53;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto& [tensor, mapped] = values[k];
    if (is_real(tensor)) {
      at::mul_out(last_[k].tensor, tensor, at::scalar_tensor(factor, at::kDouble));
      continue;
    }
    std::vector<std::int64_t> by, dims;
    if (mapped) by.push_back(first), dims.push_back(0);
    if (tensor.dim() > (mapped ? 2 : 1)) by.push_back(row), dims.push_back(mapped ? 1 : 0);
    last_[k].tensor.copy_(dims.empty() ? tensor : tensor.roll(by, dims));
  }
  return last_;
}

std::vector<ModelInput> FreshInputs::next_with_nan() {
  const c10::InferenceMode guard;
  auto inputs = cloned(next());
  bool any = false;
  for (auto& [tensor, mapped] : inputs) {
    if (!tensor.is_floating_point() || tensor.numel() == 0) continue;
    const auto place = static_cast<std::int64_t>(random_.next() >> 1) % tensor.numel();
    tensor = tensor.contiguous();
    tensor.view({-1}).select(0, place).fill_(std::numeric_limits<double>::quiet_NaN());
    any = true;
  }
  return any ? inputs : std::vector<ModelInput>();
}

std::size_t FreshInputs::slots() const {
  double bytes = 1;
  for (const auto& input : drawn_.back()) bytes += static_cast<double>(input.tensor.nbytes());
  return static_cast<std::size_t>(
      std::clamp(kSlotBytes / bytes, static_cast<double>(kFewestSlots), static_cast<double>(kMostSlots)));
}

std::vector<ModelInput> cloned(const std::vector<ModelInput>& inputs) {
  const c10::InferenceMode guard;
  auto copies = inputs;
  for (auto& input : copies) input.tensor = input.tensor.clone();
  return copies;
}

void copy_into(const std::vector<ModelInput>& to, const std::vector<ModelInput>& from) {
  const c10::InferenceMode guard;
  run_side_by_side(1, 1, [&](std::size_t) {
    for (std::size_t k = 0; k < to.size(); ++k) to[k].tensor.copy_(from[k].tensor);
  });
}

}  // namespace wide::app
