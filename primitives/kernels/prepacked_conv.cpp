#include "primitives/kernels/prepacked_conv.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>

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

}  // namespace

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

at::Tensor prepacked_conv(const ConvolutionSizes& sizes, const at::Tensor& x, const at::Tensor& packed,
                          const at::Tensor& bias) {
  const auto& [stride, padding, dilation, output_padding, groups, transposed] = sizes;
  const auto added = bias.defined() ? Bias(bias) : std::nullopt;
  if (transposed) {
    static const auto run = operator_called<RunTransposed>(kRunTransposed);
    return run.call(x, packed, added, padding, output_padding, stride, dilation, groups, "none", Scalars(),
                    "");
  }
  static const auto run = operator_called<Run>(kRun);
  return run.call(x, packed, added, padding, stride, dilation, groups, "none", Scalars(), "");
}

}  // namespace wide::kernels
