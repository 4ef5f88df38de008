#pragma once
// Exit codes, a contract with scripts; and the fault that says "could not measure".

#include "formats/error.h"

namespace wide::app {

inline constexpr int kExitDone = 0;
inline constexpr int kExitRegression = 1;     ///< slower than the baseline, or a case of it is missing
inline constexpr int kExitUsage = 2;          ///< usage or input error
inline constexpr int kExitCannotMeasure = 3;  ///< device, tool or permission missing; a case without a result
inline constexpr int kExitInconclusive = 4;   ///< only with --fail-inconclusive
inline constexpr int kExitWrongNumbers = 5;   ///< validation failed
inline constexpr int kExitInternal = 70;      ///< our own bug
inline constexpr int kExitSignal = 128;       ///< plus the signal's number: 130 interrupted, 143 terminated

/// Measuring is not possible here at all: ends the program with kExitCannotMeasure.
class CannotMeasure : public Error {
 public:
  using Error::Error;
};

}  // namespace wide::app
