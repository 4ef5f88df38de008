#include "core/eager/argument_checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace wide {
namespace {

using CallArguments = std::vector<c10::IValue>;

void check_call_sizes(const at::Tensor& tensor, const std::string& what,
                      const std::vector<std::int64_t>& sizes) {
  TORCH_CHECK(tensor.defined(), what, " is missing");
  TORCH_CHECK(tensor.sizes() == at::IntArrayRef(sizes), what, " has the sizes ", tensor.sizes(),
              ", which have to be ", at::IntArrayRef(sizes));
}

// Elsewhere than on the CPU kernels look for themselves, and to ask would wait for them.
void check_within(const at::Tensor& numbers, const char* what, double low, double high) {
  if (numbers.numel() == 0 || !numbers.is_cpu()) return;
  const auto least = numbers.min().item<double>(), most = numbers.max().item<double>();
  TORCH_CHECK(least >= low && most <= high, what, " have to be from ", low, " to ", high, "; some is ",
              least < low ? least : most);
}

// The arguments of lstm, gru and rnn of one sequence each ("input") or of packed ones ("data").
struct RecurrentCall {
  std::int64_t gates;
  at::Tensor input;  ///< its last axis are the features
  std::int64_t batch;
  std::vector<at::Tensor> states;  ///< h, and c of an lstm
  std::vector<at::Tensor> weights;
  bool biases;
  std::int64_t layers;
  bool both_ways;
};

void check_recurrence(const RecurrentCall& about) {
  const auto& [gates, input, batch, states, weights, biases, layers, both_ways] = about;
  const std::int64_t ways = both_ways ? 2 : 1;
  constexpr std::int64_t kMostLayers = 1 << 20;
  TORCH_CHECK(layers > 0 && layers < kMostLayers, "num_layers is ", layers, ", which has to be at least 1");
  TORCH_CHECK(states.size() == (gates == 4 ? 2U : 1U), states.size(), " states, which have to be ",
              gates == 4 ? 2 : 1);
  for (const auto& state : states)
    TORCH_CHECK(state.defined() && state.dim() == 3,
                "a state has to have the axes layers, batch and features");
  const auto hidden = states.back().size(2), shown = states[0].size(2);
  TORCH_CHECK(gates == 4 || hidden == shown, "the state has other features than the cell");
  const bool projects = hidden != shown;
  check_call_sizes(states[0], "the hidden state", {layers * ways, batch, shown});
  check_call_sizes(states.back(), "the state of the cells", {layers * ways, batch, hidden});
  const std::size_t each = 2U + (biases ? 2U : 0U) + (projects ? 1U : 0U);
  const auto wanted = static_cast<std::size_t>(layers * ways) * each;
  TORCH_CHECK(weights.size() == wanted, weights.size(), " weights, which have to be ", wanted);
  for (std::size_t k = 0; k < weights.size() / each; ++k) {
    const auto features = k < static_cast<std::size_t>(ways) ? input.size(-1) : ways * shown;
    const auto* own = &weights[k * each];
    const auto of = " of direction " + std::to_string(k);
    check_call_sizes(own[0], "weight_ih" + of, {gates * hidden, features});
    check_call_sizes(own[1], "weight_hh" + of, {gates * hidden, shown});
    if (biases) check_call_sizes(own[2], "bias_ih" + of, {gates * hidden});
    if (biases) check_call_sizes(own[3], "bias_hh" + of, {gates * hidden});
    if (projects) check_call_sizes(own[each - 1], "weight_hr" + of, {shown, hidden});
  }
  for (const auto& tensors : {states, weights})
    for (const auto& tensor : tensors)
      TORCH_CHECK(tensor.scalar_type() == input.scalar_type(), "a state or weight is of type ",
                  tensor.scalar_type(), ", the input of ", input.scalar_type());
}

std::vector<at::Tensor> states_in(const c10::IValue& hx) {
  return hx.isTensor() ? std::vector{hx.toTensor()} : hx.toTensorVector();
}

template <std::int64_t kGates>
void check_sequences(const CallArguments& in) {
  const auto& input = in[0].toTensor();
  TORCH_CHECK(input.dim() == 3, "the input has ", input.dim(), " axes, which have to be 3");
  check_recurrence({kGates, input, input.size(in[8].toBool() ? 0 : 1), states_in(in[1]),
                    in[2].toTensorVector(), in[3].toBool(), in[4].toInt(), in[7].toBool()});
}

template <std::int64_t kGates>
void check_packed(const CallArguments& in) {
  const auto& input = in[0].toTensor();
  const auto& sizes = in[1].toTensor();
  if (!sizes.is_cpu()) return;  // there are no numbers to look at, nor to run on
  TORCH_CHECK(input.dim() == 2, "the packed input has ", input.dim(), " axes, which have to be 2");
  TORCH_CHECK(sizes.dim() == 1 && sizes.numel() > 0 && sizes.scalar_type() == at::kLong,
              "batch_sizes have to be a row of int64");
  TORCH_CHECK(sizes.numel() == 1 || sizes.diff().le(0).all().item<bool>(), "batch_sizes must not rise");
  check_within(sizes, "batch_sizes", 1, static_cast<double>(input.size(0)));
  TORCH_CHECK(sizes.sum().item<std::int64_t>() == input.size(0),
              "batch_sizes do not sum to the input's rows");
  check_recurrence({kGates, input, sizes[0].item<std::int64_t>(), states_in(in[2]), in[3].toTensorVector(),
                    in[4].toBool(), in[5].toInt(), in[8].toBool()});
}

// Weights and statistics, `kCount` of them after the input.
template <std::size_t kCount>
void check_channels(const CallArguments& in) {
  const auto& x = in[0].toTensor();
  TORCH_CHECK(x.dim() >= 2, "a batch norm's input needs an axis of channels");
  for (std::size_t i = 1; i <= kCount; ++i) {
    if (!in[i].isTensor() || !in[i].toTensor().defined()) continue;
    TORCH_CHECK(in[i].toTensor().numel() == x.size(1), "weights and statistics need ", x.size(1),
                " numbers, one for each channel; some have ", in[i].toTensor().numel());
  }
}

void check_bags(const CallArguments& in) {
  check_within(in[2].toTensor(), "offsets", 0, static_cast<double>(in[1].toTensor().numel()));
}

void check_lengths(const CallArguments& in) {
  const auto& input = in[0].toTensor();
  TORCH_CHECK(input.dim() >= 2, "a padded sequence needs axes of time and batch");
  check_within(in[1].toTensor(), "lengths", 1, static_cast<double>(input.size(in[2].toBool() ? 1 : 0)));
}

void check_weight_norm(const CallArguments& in) {
  const auto &v = in[0].toTensor(), &g = in[1].toTensor();
  const auto dim = in[2].toInt();  // -1: one norm of all
  const auto wanted = dim == -1 ? 1 : v.size(dim);
  TORCH_CHECK(g.numel() == wanted, "the magnitude has ", g.numel(), " numbers, which have to be ", wanted);
}

void check_flash_attention(const CallArguments& in) {
  const auto &q = in[0].toTensor(), &k = in[1].toTensor(), &v = in[2].toTensor();
  TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && v.dim() == 4, "query, key and value need 4 axes");
  TORCH_CHECK(k.size(1) > 0 && q.size(1) % k.size(1) == 0, "heads of query and key do not go together");
  check_call_sizes(k, "key", {q.size(0), k.size(1), k.size(2), q.size(3)});
  check_call_sizes(v, "value", {q.size(0), k.size(1), k.size(2), q.size(3)});
  if (!in[5].isTensor() || !in[5].toTensor().defined()) return;
  const auto& mask = in[5].toTensor();
  const std::array wanted = {q.size(0), q.size(1), q.size(2), k.size(2)};
  TORCH_CHECK(mask.dim() <= 4, "the mask has ", mask.dim(), " axes, at most 4 can be");
  for (std::int64_t i = 1; i <= mask.dim(); ++i) {
    const auto size = mask.size(-i), whole = wanted[static_cast<std::size_t>(4 - i)];
    TORCH_CHECK(size == whole || size == 1, "the mask's sizes ", mask.sizes(), " do not fit ",
                at::IntArrayRef(wanted));
  }
}

void check_samples(const CallArguments& in) {
  check_within(in[3].toTensor(), "random samples", 0, 1);
}

void check_segments(const CallArguments& in) {
  TORCH_CHECK(!in[6].toBool(), "unsafe=True lets lengths and offsets be wrong; export it without");
}

void refuse_call(const CallArguments&) {
  TORCH_CHECK(false,
              "is internal to libtorch, which does not check what it is given; export the model without it");
}

struct Checked {
  std::string_view op;
  ArgumentCheck check;
};

constexpr std::array kChecked = {
    Checked{"aten.lstm.input", check_sequences<4>},
    Checked{"aten.gru.input", check_sequences<3>},
    Checked{"aten.rnn_tanh.input", check_sequences<1>},
    Checked{"aten.rnn_relu.input", check_sequences<1>},
    Checked{"aten.lstm.data", check_packed<4>},
    Checked{"aten.gru.data", check_packed<3>},
    Checked{"aten.rnn_tanh.data", check_packed<1>},
    Checked{"aten.rnn_relu.data", check_packed<1>},
    Checked{"aten.native_batch_norm.default", check_channels<4>},
    Checked{"aten._native_batch_norm_legit.default", check_channels<4>},
    Checked{"aten._native_batch_norm_legit.no_stats", check_channels<2>},
    Checked{"aten._native_batch_norm_legit_no_training.default", check_channels<4>},
    Checked{"aten._native_batch_norm_legit_functional.default", check_channels<4>},
    Checked{"aten._batch_norm_with_update.default", check_channels<4>},
    Checked{"aten._batch_norm_with_update_functional.default", check_channels<4>},
    Checked{"aten._batch_norm_no_update.default", check_channels<4>},
    Checked{"aten.embedding_bag.default", check_bags},
    Checked{"aten.embedding_bag.padding_idx", check_bags},
    Checked{"aten._embedding_bag.default", check_bags},
    Checked{"aten._embedding_bag_forward_only.default", check_bags},
    Checked{"aten._pack_padded_sequence.default", check_lengths},
    Checked{"aten._weight_norm.default", check_weight_norm},
    Checked{"aten._weight_norm_interface.default", check_weight_norm},
    Checked{"aten._scaled_dot_product_flash_attention_for_cpu.default", check_flash_attention},
    Checked{"aten.fractional_max_pool2d.default", check_samples},
    Checked{"aten.fractional_max_pool3d.default", check_samples},
    Checked{"aten.segment_reduce.default", check_segments},
    Checked{"aten.mkldnn_rnn_layer.default", refuse_call},
    Checked{"aten._reshape_alias.default", refuse_call},
    Checked{"aten._convert_indices_from_coo_to_csr.default", refuse_call},
    Checked{"aten._convert_indices_from_csr_to_coo.default", refuse_call},
    Checked{"aten._sparse_coo_tensor_unsafe.default", refuse_call},
    Checked{"aten._sparse_compressed_tensor_unsafe.default", refuse_call},
};

}  // namespace

ArgumentCheck argument_check(std::string_view op) {
  const auto* found = std::ranges::find(kChecked, op, &Checked::op);
  return found == kChecked.end() ? nullptr : found->check;
}

}  // namespace wide
