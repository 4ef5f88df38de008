#include "app/coverage_json.h"

#include <fmt/format.h>

#include "results/counted.h"

namespace wide::app {

nlohmann::json to_json(const Coverage& coverage) {
  return {{"nodes", coverage.nodes},
          {"sequential", coverage.sequential},
          {"sequential_ops", coverage.sequential_ops},
          {"shared", coverage.shared},
          {"constant", coverage.constant},
          {"conversions", coverage.conversions},
          {"copies", coverage.copies},
          {"schedule", coverage.schedule}};
}

std::string describe(const Coverage& coverage, std::int64_t members) {
  auto text =
      fmt::format("{}: {} operations wide, {} sequential, {} shared; {} layout conversions ({} copies)\n",
                  results::counted(members, "member"), coverage.nodes - coverage.sequential,
                  coverage.sequential, coverage.shared, coverage.conversions, coverage.copies);
  for (const auto& [op, count] : coverage.sequential_ops)
    text += fmt::format("  sequential: {} x{}\n", op, count);
  return text;
}

}  // namespace wide::app
