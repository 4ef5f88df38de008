#pragma once
// Whether the times of a case allow a verdict. See Note [No verdict].

#include <string>

#include "results/record.h"

namespace wide::results {

/// Why the times of a case that passed say nothing of faster or slower, in a few words: other work, noise, an
/// interval that holds both, times that contradict the speed-up. Empty: nothing speaks against a verdict, or
/// the case did not pass and has no times.
std::string unreliable(const CaseRecord& record);

/// Whether a speed-up is another than the times beside it say; all three above 0 and finite, else no.
bool contradicts(double speedup, double rival_us, double wide_us);

/// What stands beside such a case: "unreliable: measure again".
inline constexpr const char* kUnreliable = "unreliable: measure again";

}  // namespace wide::results
