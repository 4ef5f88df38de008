#include "presets/zoo/layers.h"

namespace wide::zoo {
namespace {

using Kind = TensorRecipe::Kind;

Argument int_list(const Shape& values) {
  Argument::List items;
  for (const auto value : values) items.push_back({value});
  return {std::move(items)};
}

Argument repeat(std::int64_t value, int times) {
  return {Argument::List(static_cast<std::size_t>(times), Argument{value})};
}

TensorRecipe small(std::int64_t features) {
  return {{features}, Kind::kNormal, 0.1, 0};
}

// [first, second, kernel…]
Shape kernel_shape(std::int64_t first, std::int64_t second, std::int64_t kernel, int axes) {
  Shape shape{first, second};
  shape.insert(shape.end(), static_cast<std::size_t>(axes), kernel);
  return shape;
}

}  // namespace

ValueId relu(Builder& b, ValueId x) {
  return b.op("aten.relu.default", {ref(x)});
}

ValueId gelu(Builder& b, ValueId x) {
  return b.op("aten.gelu.default", {ref(x)});
}

ValueId gelu_tanh(Builder& b, ValueId x) {
  return b.op("aten.gelu.default", {ref(x), {std::string("tanh")}});
}

ValueId silu(Builder& b, ValueId x) {
  return b.op("aten.silu.default", {ref(x)});
}

ValueId add(Builder& b, ValueId x, ValueId y) {
  return b.op("aten.add.Tensor", {ref(x), ref(y)});
}

ValueId multiply(Builder& b, ValueId x, ValueId y) {
  return b.op("aten.mul.Tensor", {ref(x), ref(y)});
}

ValueId reshape(Builder& b, ValueId x, const Shape& shape) {
  return b.op("aten.reshape.default", {ref(x), int_list(shape)});
}

ValueId concatenate(Builder& b, const std::vector<ValueId>& parts, std::int64_t dim) {
  Argument::List list;
  for (const auto part : parts) list.push_back(ref(part));
  return b.op("aten.cat.default", {{list}, {dim}});
}

std::vector<ValueId> chunk(Builder& b, ValueId x, int parts, std::int64_t dim) {
  return b.ops("aten.chunk.default", {ref(x), {std::int64_t{parts}}, {dim}}, parts);
}

ValueId slice(Builder& b, ValueId x, std::int64_t dim, std::int64_t start, std::int64_t end) {
  return b.op("aten.slice.Tensor", {ref(x), {dim}, {start}, {end}});
}

ValueId convolution(Builder& b, const std::string& fqn, ValueId x, int axes, const ConvolutionSize& size) {
  const auto weight =
      b.weight(fqn + ".weight", kernel_shape(size.out, size.in / size.groups, size.kernel, axes));
  const auto bias = b.parameter(fqn + ".bias", small(size.out));
  return b.op("aten.conv" + std::to_string(axes) + "d.default", {ref(x),
                                                                 ref(weight),
                                                                 ref(bias),
                                                                 repeat(size.stride, axes),
                                                                 repeat(size.padding, axes),
                                                                 repeat(size.dilation, axes),
                                                                 {size.groups}});
}

ValueId transposed_convolution(Builder& b, const std::string& fqn, ValueId x, int axes,
                               const ConvolutionSize& size, std::int64_t output_padding) {
  const auto weight =
      b.weight(fqn + ".weight", kernel_shape(size.in, size.out / size.groups, size.kernel, axes));
  const auto bias = b.parameter(fqn + ".bias", small(size.out));
  return b.op("aten.conv_transpose" + std::to_string(axes) + (axes == 1 ? "d.default" : "d.input"),
              {ref(x),
               ref(weight),
               ref(bias),
               repeat(size.stride, axes),
               repeat(size.padding, axes),
               repeat(output_padding, axes),
               {size.groups},
               repeat(1, axes)});
}

ValueId group_norm(Builder& b, const std::string& fqn, ValueId x, std::int64_t groups,
                   std::int64_t channels) {
  const auto weight = b.parameter(fqn + ".weight", {{channels}, Kind::kPositive});
  const auto bias = b.parameter(fqn + ".bias", small(channels));
  return b.op("aten.group_norm.default", {ref(x), {groups}, ref(weight), ref(bias)});
}

ValueId rms_norm(Builder& b, const std::string& fqn, ValueId x, std::int64_t features) {
  const auto weight = b.parameter(fqn + ".weight", {{features}, Kind::kPositive});
  return b.op("aten.rms_norm.default", {ref(x), ints({features}), ref(weight), {1e-6}});
}

ValueId plain_layer_norm(Builder& b, ValueId x, std::int64_t features) {
  return b.op("aten.layer_norm.default", {ref(x), ints({features}), {}, {}, {1e-6}});
}

ValueId embedding(Builder& b, const std::string& fqn, ValueId ids, std::int64_t rows, std::int64_t features) {
  const auto table = b.parameter(fqn + ".weight", {{rows, features}});
  return b.op("aten.embedding.default", {ref(table), ref(ids)});
}

ValueId dropout(Builder& b, ValueId x, double probability, bool train) {
  return b.op("aten.dropout.default", {ref(x), {probability}, {train}});
}

ValueId split_heads(Builder& b, ValueId x, const Sequence& size) {
  const auto heads = reshape(b, x, {size.batch, size.length, size.heads, size.features / size.heads});
  return b.op("aten.transpose.int", {ref(heads), {std::int64_t{1}}, {std::int64_t{2}}});
}

ValueId merge_heads(Builder& b, ValueId x, const Sequence& size) {
  const auto rows = b.op("aten.transpose.int", {ref(x), {std::int64_t{1}}, {std::int64_t{2}}});
  return reshape(b, rows, {size.batch, size.length, size.features});
}

ValueId attend(Builder& b, ValueId q, ValueId k, ValueId v, bool causal) {
  return b.op("aten.scaled_dot_product_attention.default", {ref(q), ref(k), ref(v), {}, {0.0}, {causal}});
}

ValueId self_attention(Builder& b, const std::string& fqn, ValueId x, const Sequence& size, bool causal) {
  const auto d = size.features;
  const auto parts = chunk(b, b.linear(fqn + ".qkv", x, d, 3 * d), 3, 2);
  const auto y = attend(b, split_heads(b, parts[0], size), split_heads(b, parts[1], size),
                        split_heads(b, parts[2], size), causal);
  return b.linear(fqn + ".proj", merge_heads(b, y, size), d, d);
}

ValueId transformer_block(Builder& b, const std::string& fqn, ValueId x, const Sequence& size, bool causal) {
  const auto d = size.features;
  x = add(b, x, self_attention(b, fqn + ".attn", b.layer_norm(fqn + ".norm1", x, d), size, causal));
  const auto hidden = gelu(b, b.linear(fqn + ".mlp.fc1", b.layer_norm(fqn + ".norm2", x, d), d, 4 * d));
  return add(b, x, b.linear(fqn + ".mlp.fc2", hidden, 4 * d, d));
}

ValueId recurrent(Builder& b, const std::string& fqn, ValueId x, Cell cell, const RecurrentSize& size) {
  const std::int64_t gates = cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
  const auto* op = cell == Cell::kLstm  ? "aten.lstm.input"
                   : cell == Cell::kGru ? "aten.gru.input"
                                        : "aten.rnn_tanh.input";
  const std::int64_t directions = size.bidirectional ? 2 : 1, rows = gates * size.hidden;
  const auto zeros =
      b.op("aten.new_zeros.default", {ref(x), ints({size.layers * directions, size.batch, size.hidden})});
  const Argument state = cell == Cell::kLstm ? Argument{Argument::List{ref(zeros), ref(zeros)}} : ref(zeros);
  Argument::List weights;
  for (std::int64_t layer = 0; layer < size.layers; ++layer) {
    const auto in = layer == 0 ? size.features : directions * size.hidden;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const auto suffix = "_l" + std::to_string(layer) + (direction ? "_reverse" : "");
      weights.push_back(ref(b.weight(fqn + ".weight_ih" + suffix, {rows, in})));
      weights.push_back(ref(b.weight(fqn + ".weight_hh" + suffix, {rows, size.hidden})));
      weights.push_back(ref(b.parameter(fqn + ".bias_ih" + suffix, small(rows))));
      weights.push_back(ref(b.parameter(fqn + ".bias_hh" + suffix, small(rows))));
    }
  }
  const std::vector<Argument> arguments{
      ref(x), state, {weights}, {true}, {size.layers}, {0.0}, {false}, {size.bidirectional}, {true}};
  return b.ops(op, arguments, cell == Cell::kLstm ? 3 : 2)[0];
}

}  // namespace wide::zoo
