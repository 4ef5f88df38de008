#pragma once
// Which operation holds the speed-up back, how much time it loses, and what is known to help. See Note
// [Limits].

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "profiler/trace/comparison.h"
#include "profiler/trace/roofline.h"
#include "profiler/trace/trace.h"

namespace wide::profiler {

/// The fact of a trace that says what else its nodes could be run by, as offers_text gives it.
inline constexpr const char* kOffersFact = "plan_offers";

/// A strategy that could run a node, with its time for all members, run alone.
struct OtherStrategy {
  std::string strategy;
  double us = 0;
  bool measured = false;  ///< else estimated
};

/// What the plan knew of one node.
struct NodeOffer {
  std::string node;    ///< TraceNode::name
  std::string module;  ///< path in the model, "" at the root
  OtherStrategy chosen;
  std::vector<OtherStrategy> others;
};

std::string offers_text(const std::vector<NodeOffer>& offers);  ///< JSON
/// Nothing where the trace has none or they cannot be read: they are help, not results.
std::vector<NodeOffer> offers_of(const Trace& trace);

/// What could be done about a node, and what that would give.
struct Action {
  std::string what;     ///< "strategy im2col"; empty: nothing is known
  double saved_us = 0;  ///< of a pass
  double speedup = 0;   ///< of the whole over the rival, then; 0: without a rival
  std::string basis;    ///< "measured alone", "estimated" or "at most"
};

/// One node, or all nodes of a module. Microseconds per pass.
struct Limit {
  std::string name;      ///< TraceNode::name, or the module's path
  std::string module;    ///< of a node; "" at the root
  std::string strategy;  ///< of a node
  int nodes = 1;
  double rival_us = 0, wide_us = 0;  ///< rival_us 0: the rival has none of it, or there is no rival
  double share = 0;                  ///< of the time of all nodes
  double roof_us = 0;                ///< what the machine takes at best; 0: no roof is known
  double lost_us = 0;                ///< what is above the roof
  Bound bound = Bound::kNothing;
  Action action;

  double faster() const { return wide_us > 0 && rival_us > 0 ? rival_us / wide_us : 0; }
};

struct Limits {
  std::string rival;                  ///< empty: none was captured
  double rival_us = 0, wide_us = 0;   ///< a pass, untraced where that was measured
  std::vector<Limit> nodes, modules;  ///< what loses most comes first
  std::vector<std::string> doubts;    ///< why none of it is to be believed, a sentence each

  double speedup() const { return rival_us > 0 && wide_us > 0 ? rival_us / wide_us : 0; }
};

/// `comparison` null: no rival; `roofline` null: no peaks are known, and time is lost against nothing.
Limits limits(const Trace& wide, const Structure& structure, const Comparison* comparison,
              const Roofline* roofline);

/// Why a gain that is split by cause says little; empty: it does not. See Note [Gain].
std::string doubt(const GainSplit& gain);

nlohmann::json to_json(const Limits& limits);

}  // namespace wide::profiler
