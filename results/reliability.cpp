#include "results/reliability.h"

#include <algorithm>
#include <cmath>

#include "results/escape.h"

// Note [No verdict]
// A speed-up is the median over rounds of rival / wide within the round; the times beside it are medians over
// all rounds. On a quiet machine the quotient of the two times is the speed-up. Where rounds fall into two
// kinds (other work had the CPUs in some of them) they part, and a reader sees 4.26x beside a rival whose
// time is shorter: neither is then to be believed. The same holds where wide's twin, the same work, seems to
// differ by more than a tenth, and where the interval reaches from much slower to much faster.

namespace wide::results {
namespace {

const double kMostApart = std::log(1.5);  // speed-up and quotient of the times

std::string share_text(double share) {
  return fixed(std::min(100 * share, 9999.0), share < 0.0995 ? 1 : 0) + " %";
}

bool above_zero(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

bool contradicts(double speedup, double rival_us, double wide_us) {
  if (!above_zero(speedup) || !above_zero(rival_us) || !above_zero(wide_us)) return false;
  return std::abs(std::log(speedup) - std::log(rival_us / wide_us)) > kMostApart;
}

std::string unreliable(const CaseRecord& record) {
  if (record.verdict != Verdict::kPass) return "";
  if (!record.circumstances.disturbed.empty()) return record.circumstances.disturbed;
  const double noise = profiler::indifference(record.noise_floor, 0);
  if (noise > profiler::kMostNoiseOfVerdict)
    return "the same work measured twice differs by up to " + share_text(noise);
  if (profiler::holds_both(record.speedup_best_rival))
    return "the interval holds both much faster and much slower";
  for (const Rival& rival : record.rivals) {
    if (rival.name != record.best_rival && rival.name != "eager") continue;
    if (contradicts(rival.speedup.value, rival.time.median_us, record.wide.median_us))
      return "the times of wide and " + rival.name + " contradict the speed-up";
  }
  const Rival* best = find_rival(record, record.best_rival);
  if (best != nullptr &&
      contradicts(record.speedup_best_rival.value, best->time.median_us, record.wide.median_us))
    return "the times of wide and " + best->name + " contradict the speed-up";
  return "";
}

}  // namespace wide::results
