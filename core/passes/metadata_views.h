#pragma once
// Tensors that change their shape in place, as views.

#include "core/passes/specialize.h"

namespace wide {

/// A tensor that changes its shape in place (x.transpose_(0, 1)) is a view of what it was, and every later
/// use of it, under whatever name, means that view. Throws wide::Error ("functionalize") where the next pass
/// would meet another shape.
Specialized with_views_for_metadata(const Specialized& specialized);

}  // namespace wide
