#include "primitives/kernels/prepacked_conv.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>

#include "core/aten/pages.h"
#include "core/strategy/activation.h"

// libtorch has them, and no header of its packages: another one may lack them.
namespace at::native {
[[gnu::weak]] void* data_ptr_from_mkldnn(const Tensor& packed);
[[gnu::weak]] std::int64_t nbytes_from_mkldnn(const Tensor& packed);
}  // namespace at::native

namespace wide::kernels {
namespace {

using Bias = std::optional<at::Tensor>;
using Scalars = c10::List<std::optional<at::Scalar>>;
using Run = at::Tensor(const at::Tensor&, const at::Tensor&, const Bias&, at::IntArrayRef, at::IntArrayRef,
                       at::IntArrayRef, std::int64_t, c10::string_view, Scalars,
                       std::optional<c10::string_view>);
using RunTransposed = at::Tensor(const at::Tensor&, const at::Tensor&, const Bias&, at::IntArrayRef,
                                 at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t,
                                 c10::string_view, Scalars, std::optional<c10::string_view>);
using Pack = at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef, std::int64_t,
                        at::OptionalIntArrayRef);
using PackTransposed = at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, at::IntArrayRef,
                                  at::IntArrayRef, std::int64_t, at::OptionalIntArrayRef);

constexpr auto kRun = "mkldnn::_convolution_pointwise", kPack = "mkldnn::_reorder_convolution_weight",
               kRunTransposed = "mkldnn::_convolution_transpose_pointwise",
               kPackTransposed = "mkldnn::_reorder_convolution_transpose_weight";

template <class Signature>
auto operator_called(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

struct Packed {
  explicit Packed(at::Tensor of)
      : tensor(std::move(of)),
        data(static_cast<char*>(at::native::data_ptr_from_mkldnn(tensor))),
        bytes(static_cast<std::size_t>(at::native::nbytes_from_mkldnn(tensor))) {}
  at::Tensor tensor;
  char* data;
  std::size_t bytes;
};

struct Named {
  std::string_view activation;
  Epilogue epilogue;
  std::once_flag tried_out = {};
  bool usable = false;  ///< once tried out
};
// Not those with exp in them: our own loops over what was stored are faster than oneDNN's code.
std::array<Named, 7>& epilogues() {
  static std::array<Named, 7> all = {Named{"relu", {"relu", {}}},
                                     Named{"relu6", {"hardtanh", {0, 6}}},
                                     Named{"hardswish", {"hardswish", {}}},
                                     Named{"hardsigmoid", {"hardsigmoid", {}}},
                                     Named{"leaky_relu 0.01", {"leaky_relu", {0.01}}},
                                     Named{"leaky_relu 0.1", {"leaky_relu", {0.1}}},
                                     Named{"leaky_relu 0.2", {"leaky_relu", {0.2}}}};
  return all;
}

// Tried with one channel and with many, which are different code.
bool is_the_activation(const Named& one, const at::Tensor& numbers) {
  for (const std::int64_t channels : {1, 32}) {
    auto x = at::zeros({1, channels, 1, numbers.numel()}, at::kFloat);
    x.select(1, 0).copy_(numbers);
    const ConvolutionSizes convolution{{1, 1}, {0, 0}, {1, 1}, {}, 1, false};
    const auto packed = prepack(convolution, at::ones({32, channels, 1, 1}, at::kFloat), x.sizes().vec());
    const auto wanted = activation(one.activation).apply(prepacked_conv(convolution, x, packed, {}));
    const auto got = prepacked_conv(convolution, x, packed, {}, one.epilogue);
    if (!at::allclose(got, wanted, 1e-6, 1e-6, /*equal_nan=*/true)) return false;
  }
  return true;
}

// relu makes 0 of NaN; ATen's hardswish is infinite from 5.7e37 on.
void try_out(Named& one) {
  using Limits = std::numeric_limits<float>;
  const auto options = at::TensorOptions(at::kFloat);
  const auto sizes = at::exp2(at::linspace(-140, std::log2(kFarFromOverflow), 1000, options));
  const auto near = at::cat({at::linspace(-20, 20, 1001, options), sizes, -sizes, at::zeros({1}, options)});
  const auto far = at::tensor(
      {Limits::max(), Limits::lowest(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()},
      options);
  one.usable = is_the_activation(one, near);
  one.epilogue.far_from_overflow = one.usable && !is_the_activation(one, far);
}

}  // namespace

at::Tensor weights_to_pack(std::int64_t members, at::IntArrayRef sizes, const at::TensorOptions& options) {
  auto turned = sizes.vec();
  turned.push_back(turned[1]);
  turned.erase(turned.begin() + 1);
  turned.insert(turned.begin(), members);
  return empty_in_pages(turned, options).movedim(-1, 2);
}

at::Tensor prepack_members(const ConvolutionSizes& sizes, std::int64_t members,
                           const std::function<at::Tensor(std::int64_t)>& weights_of,
                           const std::vector<std::int64_t>& input) {
  if (!at::native::data_ptr_from_mkldnn || !at::native::nbytes_from_mkldnn || members < 3) return {};
  const auto first = weights_of(0);
  // Each is packed as the first of two, which are groups as they are in the whole.
  auto sizes_of_two = sizes;
  sizes_of_two.groups = sizes.groups / members * 2;
  auto input_of_two = input;
  input_of_two[1] = input[1] / members * 2;
  const auto two = weights_to_pack(2, first.sizes(), first.options());
  const auto packed = [&](const at::Tensor& w) {
    two.select(0, 0).copy_(w);
    return Packed(prepack(sizes_of_two, two.flatten(0, 1), input_of_two));
  };
  // What is known of the last member's place and order holds for all, which are alike. Pages of the others
  // that nobody writes take no memory.
  const auto numbers = at::arange(1, first.numel() + 1, first.options()).view(first.sizes());
  auto given = weights_to_pack(members, first.sizes(), first.options());
  given.select(0, members - 1).copy_(numbers);
  const Packed whole(prepack(sizes, given.flatten(0, 1), input));
  given.reset();
  {
    const auto last = packed(numbers);
    const auto one = last.bytes / 2;
    const auto count = static_cast<std::size_t>(members);
    if (whole.bytes != count * one || std::memcmp(whole.data + (count - 1) * one, last.data, one) != 0)
      return {};
  }
  for (std::int64_t i = 0; i < members; ++i) {
    const auto own = packed(i == 0 ? first : weights_of(i));
    const auto one = own.bytes / 2;
    std::memcpy(whole.data + static_cast<std::size_t>(i) * one, own.data, one);
  }
  return whole.tensor;
}

std::string prepacking_refusal(bool transposed) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const bool there = dispatcher.findSchema({transposed ? kRunTransposed : kRun, ""}) &&
                     dispatcher.findSchema({transposed ? kPackTransposed : kPack, ""});
  if (!there || !at::globalContext().hasMKLDNN()) return "this libtorch packs no weights for oneDNN";
  if (!at::globalContext().userEnabledMkldnn()) return "oneDNN is switched off";
  return {};
}

at::Tensor prepack(const ConvolutionSizes& sizes, const at::Tensor& w,
                   const std::vector<std::int64_t>& input) {
  const auto& [stride, padding, dilation, output_padding, groups, transposed] = sizes;
  if (transposed) {
    static const auto run = operator_called<PackTransposed>(kPackTransposed);
    return run.call(w, padding, output_padding, stride, dilation, groups, input);
  }
  static const auto run = operator_called<Pack>(kPack);
  return run.call(w, padding, stride, dilation, groups, input);
}

const Epilogue* epilogue_of(std::string_view activation) {
  auto& all = epilogues();
  const auto found = std::ranges::find(all, activation, &Named::activation);
  if (found == all.end() || !prepacking_refusal(/*transposed=*/false).empty()) return nullptr;
  std::call_once(found->tried_out, try_out, *found);
  return found->usable ? &found->epilogue : nullptr;
}

at::Tensor prepacked_conv(const ConvolutionSizes& sizes, const at::Tensor& x, const at::Tensor& packed,
                          const at::Tensor& bias, const Epilogue& epilogue) {
  const auto& [stride, padding, dilation, output_padding, groups, transposed] = sizes;
  const auto added = bias.defined() ? Bias(bias) : std::nullopt;
  Scalars numbers;
  for (const auto number : epilogue.numbers) numbers.push_back(at::Scalar(number));
  if (transposed) {
    static const auto run = operator_called<RunTransposed>(kRunTransposed);
    return run.call(x, packed, added, padding, output_padding, stride, dilation, groups, epilogue.name,
                    numbers, "");
  }
  static const auto run = operator_called<Run>(kRun);
  return run.call(x, packed, added, padding, stride, dilation, groups, epilogue.name, numbers, "");
}

}  // namespace wide::kernels
