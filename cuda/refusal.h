#pragma once
// Why a GPU cannot be traced, and what to do about it.

#include <string>

#include "cuda/cupti_api.h"

namespace wide::cuda {

/// A reason and a remedy, each one sentence.
struct Refusal {
  std::string reason, remedy;
  std::string text() const { return reason + "; " + remedy; }
};

/// What `code`, given by `call`, means for a capture. `code` is not CUPTI_SUCCESS.
Refusal explain(const CuptiApi& api, CUptiResult code, const std::string& call);

}  // namespace wide::cuda
