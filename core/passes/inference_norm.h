#pragma once
// A batch norm with its running statistics, as a model in evaluation has it: y = (x - mean) · scale + beta.

#include <cstddef>

#include "core/ir/rewriter.h"

namespace wide {

/// Arguments of aten.batch_norm.default.
namespace batch_norm {
enum : std::size_t { kInput, kGamma, kBeta, kMean, kVariance, kTraining, kMomentum, kEpsilon };
}

/// Whether `node` is one. Its input may still be a constant.
bool is_inference_norm(const Node& node);

/// What it does to each channel: `shift` is (bias - mean) · scale + beta, where `bias` is what a layer before
/// it adds, of the rewriter's old graph, or none. Both are of type `channels`.
struct NormTerms {
  Argument scale, shift;
};
NormTerms norm_terms(Rewriter& rewriter, const Node& norm, const Argument& bias);

/// `term` as a tensor of `rank` dimensions of which `axis` is the channels.
Argument along_axis(Rewriter& rewriter, const Argument& term, std::size_t rank, std::size_t axis,
                    std::string_view module_path);

}  // namespace wide
