#pragma once
// Rows of the tables of all members, from where they lie, and their sums and means, a bag at a time.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace wide::kernels {

/// y[n, …] = table[n, ids[n, …]]. table [N or 1, V, D] of floats on the CPU, without gaps within a member;
/// ids [N or 1, …]: integers. The result is [members, …, D]. Throws c10::IndexError for an index out of
/// range. Not differentiable.
at::Tensor embedding(const at::Tensor& table, const at::Tensor& ids, std::int64_t members);

/// y[n, b] = the sum of table[n, ids[n, i]] · weights[n, i] over bag b, over how many there are if `mean`; 0
/// of an empty bag. Bag b has the ids from offsets[n, b] to the next offset, the last one those to the end.
/// table [N or 1, V, D], weights [N or 1, L] or undefined: float32 on the CPU, without gaps within a member.
/// ids [N or 1, L], offsets [N or 1, B]: integers. The result is [members, B, D]. Throws c10::IndexError for
/// an index out of range, and c10::Error for offsets that do not rise from 0 to at most L. Not
/// differentiable.
at::Tensor embedding_bag(const at::Tensor& table, const at::Tensor& ids, const at::Tensor& offsets,
                         const at::Tensor& weights, bool mean, std::int64_t members);

}  // namespace wide::kernels
