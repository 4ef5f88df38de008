#pragma once
// --re-measure: both sides of a comparison measured now, in turns.

#include <optional>
#include <string>

#include "app/cli/context.h"
#include "results/compare.h"

namespace wide::cli {

struct SideBySideOptions {
  std::string first_program, second_program;  ///< empty: this program
  int repeats = 4;
};

/// --program-a, --program-b and --repeats; they need --re-measure, which the command has.
void add_side_by_side_options(CLI::App& command, SideBySideOptions& options);

struct SideBySide {
  results::Side first, second;
  int error = 0;  ///< the signal that stopped it; 0: done
  explicit operator bool() const { return error == 0; }
};

/// Measures the cases of both sides again, A B, B A, A B, … Nothing is stored. Throws wide::Error when a run
/// does not say how it was measured.
SideBySide measure_side_by_side(Context& context, const results::Side& first, const results::Side& second,
                                const SideBySideOptions& options);

}  // namespace wide::cli
