#pragma once
// What the Flux diffusion transformer is made of (Black Forest Labs' names): image and text tokens in two
// streams, joined in attention, modulated by a vector per sample. Shapes are of one member.

#include <string>
#include <utility>
#include <vector>

#include "presets/zoo/builder.h"
#include "presets/zoo/layers.h"

namespace wide::zoo {

struct FluxSize {
  std::int64_t batch, image, text;  ///< image and text: tokens
  std::int64_t features, heads;
  std::int64_t head() const { return features / heads; }
  Sequence stream(std::int64_t length) const { return {batch, length, features, heads}; }
};

/// linear(silu(linear(x))): [batch, in] -> [batch, features]
ValueId mlp_embedder(Builder& b, const std::string& fqn, ValueId x, std::int64_t in, std::int64_t features);
/// From the vector [batch, features]: `parts` of [batch, 1, features], as shift, scale, gate, shift, ….
std::vector<ValueId> modulation(Builder& b, const std::string& fqn, ValueId vector, std::int64_t features,
                                int parts);
/// x (1 + scale) + shift
ValueId modulate(Builder& b, ValueId x, ValueId shift, ValueId scale);

/// Rotary positions of `length` tokens as rotations of pairs, [1, 1, length, head / 2, 2, 2]; the same for
/// all members.
TensorRecipe rotations(const FluxSize& size, std::int64_t length);
/// Rotates pairs of features: x [batch, heads, length, head].
ValueId rotate(Builder& b, ValueId x, ValueId rotations, const Sequence& size);

/// Image and text tokens attend to both: {image, text}, each [batch, tokens, features].
std::pair<ValueId, ValueId> joint_attention(Builder& b, const std::string& fqn, ValueId image, ValueId text,
                                            ValueId rotations, const FluxSize& size);
std::pair<ValueId, ValueId> double_stream_block(Builder& b, const std::string& fqn, ValueId image,
                                                ValueId text, ValueId vector, ValueId rotations,
                                                const FluxSize& size);
/// x: text and image tokens in one sequence.
ValueId single_stream_block(Builder& b, const std::string& fqn, ValueId x, ValueId vector, ValueId rotations,
                            const FluxSize& size);

}  // namespace wide::zoo
