#pragma once
// Layers that several subjects are made of, with the weights a torch module of that kind would have. Shapes
// are of one member.

#include <cstdint>
#include <string>
#include <vector>

#include "presets/zoo/builder.h"

namespace wide::zoo {

using Shape = std::vector<std::int64_t>;

ValueId relu(Builder& b, ValueId x);
ValueId gelu(Builder& b, ValueId x);
/// With the tanh approximation, as diffusion transformers have it.
ValueId gelu_tanh(Builder& b, ValueId x);
ValueId silu(Builder& b, ValueId x);
ValueId add(Builder& b, ValueId x, ValueId y);
ValueId multiply(Builder& b, ValueId x, ValueId y);
ValueId reshape(Builder& b, ValueId x, const Shape& shape);
ValueId concatenate(Builder& b, const std::vector<ValueId>& parts, std::int64_t dim);
/// `parts` equal parts along `dim`.
std::vector<ValueId> chunk(Builder& b, ValueId x, int parts, std::int64_t dim);
/// Elements [start, end) along `dim`.
ValueId slice(Builder& b, ValueId x, std::int64_t dim, std::int64_t start, std::int64_t end);

struct ConvolutionSize {
  std::int64_t in, out, kernel;
  std::int64_t stride = 1, padding = 0;  ///< the same along every axis
  std::int64_t groups = 1, dilation = 1;
};
/// Over `axes` (1, 2 or 3) spatial axes.
ValueId convolution(Builder& b, const std::string& fqn, ValueId x, int axes, const ConvolutionSize& size);
/// Dilation is not used; `output_padding` as torch has it.
ValueId transposed_convolution(Builder& b, const std::string& fqn, ValueId x, int axes,
                               const ConvolutionSize& size, std::int64_t output_padding = 0);

ValueId group_norm(Builder& b, const std::string& fqn, ValueId x, std::int64_t groups, std::int64_t channels);
ValueId rms_norm(Builder& b, const std::string& fqn, ValueId x, std::int64_t features);
/// Layer norm without weight and bias.
ValueId plain_layer_norm(Builder& b, ValueId x, std::int64_t features);
/// ids -> [ids…, features]
ValueId embedding(Builder& b, const std::string& fqn, ValueId ids, std::int64_t rows, std::int64_t features);
/// Zeroes elements with probability `probability` when `train`, by the member's own random stream.
ValueId dropout(Builder& b, ValueId x, double probability, bool train);

/// A sequence that attention splits into heads.
struct Sequence {
  std::int64_t batch, length, features, heads;
};
/// [batch, length, features] -> [batch, heads, length, features / heads]
ValueId split_heads(Builder& b, ValueId x, const Sequence& size);
/// The way back.
ValueId merge_heads(Builder& b, ValueId x, const Sequence& size);
/// Scaled dot-product attention over [batch, heads, length, features of a head].
ValueId attend(Builder& b, ValueId q, ValueId k, ValueId v, bool causal = false);
/// qkv projection, attention, output projection: [batch, length, features] -> the same.
ValueId self_attention(Builder& b, const std::string& fqn, ValueId x, const Sequence& size,
                       bool causal = false);
/// x + attention(norm(x)), then x + mlp(norm(x)) with four times the features.
ValueId transformer_block(Builder& b, const std::string& fqn, ValueId x, const Sequence& size, bool causal);

enum class Cell : std::uint8_t { kRnn, kGru, kLstm };
struct RecurrentSize {
  std::int64_t batch, features, hidden;
  std::int64_t layers = 1;
  bool bidirectional = false;
};
/// From states of zero: [batch, length, features] -> [batch, length, hidden, or twice that].
ValueId recurrent(Builder& b, const std::string& fqn, ValueId x, Cell cell, const RecurrentSize& size);

}  // namespace wide::zoo
