#include "profiler/trace/limits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/document.h"
#include "formats/fault.h"

// Note [Limits]
// What a node loses is its time less the roof's: that much, and no more, could be had from it. Of what may be
// done about it the best known action is told. Another strategy is taken from the plan: its time alone over
// the chosen one's, applied to what the node took. Everything else is a bound and says "at most": a copy that
// changes a layout could go with another layout; what the host takes beside the work could go with a mode
// that prepares passes; and where a node is too small to fill the machine, with twice the members each has
// half of what is above the roof. A captured pass takes longer than another: what is saved is scaled to the
// pass that was not captured before it is set against the rival's.

namespace wide::profiler {
namespace {

using nlohmann::json;

constexpr double kWorthIt = 0.03;  // of a node's time: less is within what strategies vary

struct Known {
  std::map<std::string, NodeOffer> offers;
  std::string mode;
  double scale = 1;  // untraced over traced
  double rival_us = 0, wide_us = 0;
};

void take(Action& best, std::string what, double saved_us, const char* basis, double least) {
  if (!(saved_us > least) || saved_us <= best.saved_us) return;
  best.what = std::move(what), best.saved_us = saved_us, best.basis = basis;
}

// Other strategies come first: they are known to run. Bounds stand in where none helps.
Action action_of(const NodeTime& time, const Limit& limit, const Known& known) {
  Action best;
  const double least = kWorthIt * limit.wide_us;
  if (const auto found = known.offers.find(limit.name); found != known.offers.end()) {
    const auto& offer = found->second;
    for (const auto& other : offer.others) {
      if (!(offer.chosen.us > 0) || !(other.us > 0) || other.strategy == limit.strategy) continue;
      const bool measured = offer.chosen.measured && other.measured;
      take(best, "strategy " + other.strategy, limit.wide_us * (1 - other.us / offer.chosen.us),
           measured ? "measured alone" : "estimated", least);
    }
  }
  if (!best.what.empty()) return best;
  take(best, "a layout that needs no copy", time.on_the_clock(time.conversion_us), "at most", least);
  const double host = time.on_the_clock(std::max(0.0, time.host_us - time.work_us));
  if (known.mode == "eager" && (limit.bound == Bound::kHost || limit.bound == Bound::kLaunch))
    take(best, "mode reduce-overhead", host, "at most", least);
  const bool small =
      limit.bound == Bound::kHost || limit.bound == Bound::kLaunch || limit.bound == Bound::kFill;
  if (small && limit.roof_us > 0)
    take(best, "twice the members", limit.lost_us / 2, "at most, a member", least);
  return best;
}

void foresee(Action& action, const Known& known) {
  if (action.what.empty()) return;
  action.saved_us *= known.scale;
  const double left = known.wide_us - action.saved_us;
  if (known.rival_us > 0 && left > 0) action.speedup = known.rival_us / left;
}

std::vector<std::string> modules_around(const std::string& path) {
  std::vector<std::string> all;
  for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1))
    all.push_back(path.substr(0, dot));
  if (!path.empty()) all.push_back(path);
  return all;
}

// What binds most of a module's time binds it; its action is that of the node that saves most.
void add_to_module(const Limit& node, Limit& module, std::map<Bound, double>& bounds) {
  ++module.nodes;
  module.rival_us += node.rival_us, module.wide_us += node.wide_us, module.share += node.share;
  module.roof_us += node.roof_us, module.lost_us += node.lost_us;
  if (node.action.saved_us > module.action.saved_us) {
    module.action = node.action;
    module.action.what += " for " + node.name.substr(0, node.name.find(' '));
  }
  bounds[node.bound] += node.wide_us;
  module.bound = std::max_element(bounds.begin(), bounds.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
}

std::vector<Limit> by_module(const std::vector<Limit>& nodes) {
  std::map<std::string, Limit> modules;
  std::map<std::string, std::map<Bound, double>> bounds;
  for (const auto& node : nodes) {
    for (const auto& path : modules_around(node.module)) {
      auto [place, added] = modules.try_emplace(path);
      if (added) place->second.name = path, place->second.nodes = 0;
      add_to_module(node, place->second, bounds[path]);
    }
  }
  std::vector<Limit> list;
  for (auto& [path, module] : modules) {
    if (module.nodes > 1) list.push_back(std::move(module));
  }
  return list;
}

void worst_first(std::vector<Limit>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Limit& a, const Limit& b) {
    return a.lost_us != b.lost_us ? a.lost_us > b.lost_us : a.wide_us > b.wide_us;
  });
}

json limit_json(const Limit& limit) {
  json entry{{"name", limit.name},       {"nodes", limit.nodes},      {"rival_us", limit.rival_us},
             {"wide_us", limit.wide_us}, {"share", limit.share},      {"roof_us", limit.roof_us},
             {"lost_us", limit.lost_us}, {"bound", name(limit.bound)}};
  if (!limit.module.empty()) entry["module"] = limit.module;
  if (!limit.strategy.empty()) entry["strategy"] = limit.strategy;
  const auto& action = limit.action;
  if (!action.what.empty()) {
    entry["action"] = {{"what", action.what}, {"saved_us", action.saved_us}, {"basis", action.basis}};
    if (action.speedup > 0) entry["action"]["speedup"] = action.speedup;
  }
  return entry;
}

OtherStrategy strategy_from(const json& given) {
  return {given.at("strategy").get<std::string>(), given.at("us").get<double>(),
          given.at("measured").get<bool>()};
}

json strategy_json(const OtherStrategy& one) {
  return {{"strategy", one.strategy}, {"us", one.us}, {"measured", one.measured}};
}

}  // namespace

std::string offers_text(const std::vector<NodeOffer>& offers) {
  json list = json::array();
  for (const auto& offer : offers) {
    json others = json::array();
    for (const auto& other : offer.others) others.push_back(strategy_json(other));
    list.push_back({{"node", offer.node},
                    {"module", offer.module},
                    {"chosen", strategy_json(offer.chosen)},
                    {"others", others}});
  }
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<NodeOffer> offers_of(const Trace& trace) {
  const auto found = trace.facts.find(kOffersFact);
  if (found == trace.facts.end()) return {};
  std::vector<NodeOffer> offers;
  try {
    for (const auto& given : formats::parse_document(found->second)) {
      NodeOffer offer{given.at("node").get<std::string>(),
                      given.at("module").get<std::string>(),
                      strategy_from(given.at("chosen")),
                      {}};
      for (const auto& other : given.at("others")) offer.others.push_back(strategy_from(other));
      offers.push_back(std::move(offer));
    }
  } catch (const json::exception&) {
    return {};
  } catch (const formats::Fault&) {
    return {};
  }
  return offers;
}

std::string doubt(const GainSplit& gain) {
  const double parts = std::abs(gain.launches_removed) + std::abs(gain.idle_recovered) +
                       std::abs(gain.kernel_efficiency) + std::abs(gain.layout_copies);
  const double all = std::max(std::abs(gain.gained()), 0.1 * gain.rival_us);
  if (std::abs(gain.residual) <= 0.5 * all || parts <= 0) return "";
  return "capturing added or hid more than half of what is to be explained";
}

Limits limits(const Trace& wide, const Structure& structure, const Comparison* comparison,
              const Roofline* roofline) {
  Limits result;
  const auto spent = activity(wide, structure);
  const double traced = spent.per_pass(spent.wall) / 1e3;
  result.wide_us = wide.completeness.untraced_us > 0 ? wide.completeness.untraced_us : traced;
  if (comparison != nullptr) {
    result.rival = comparison->rival;
    result.rival_us = comparison->gain.rival_us, result.wide_us = comparison->gain.wide_us;
    if (auto why = doubt(comparison->gain); !why.empty()) result.doubts.push_back(std::move(why));
  }
  for (const auto& why : wide.completeness.because) result.doubts.push_back(why);
  if (roofline != nullptr)
    result.doubts.insert(result.doubts.end(), roofline->doubts.begin(), roofline->doubts.end());
  Known known{.rival_us = result.rival_us, .wide_us = result.wide_us};
  if (traced > 0) known.scale = result.wide_us / traced;
  if (const auto mode = wide.facts.find("mode"); mode != wide.facts.end()) known.mode = mode->second;
  for (auto& offer : offers_of(wide)) known.offers.emplace(offer.node, offer);
  std::map<std::int32_t, const RooflinePoint*> roof;
  if (roofline != nullptr) {
    for (const auto& point : roofline->nodes) roof[point.node] = &point;
  }
  std::map<std::string_view, const NodeTime*> theirs;
  if (comparison != nullptr) {
    for (const auto& node : comparison->nodes) theirs.emplace(node.name, &node.rival);
  }
  const auto times = node_times(wide, structure);
  double all = 0;
  for (const auto& time : times) all += time.wall_us;
  for (const auto& time : times) {
    if (time.node < 0 || !(time.wall_us > 0)) continue;
    const auto& node = wide.nodes[static_cast<std::size_t>(time.node)];
    Limit limit{.name = node.name, .strategy = node.strategy, .wide_us = time.wall_us};
    limit.share = all > 0 ? time.wall_us / all : 0;
    if (const auto found = known.offers.find(node.name); found != known.offers.end())
      limit.module = found->second.module;
    if (const auto found = theirs.find(node.name); found != theirs.end())
      limit.rival_us = found->second->wall_us;
    if (const auto found = roof.find(time.node); found != roof.end()) {
      limit.roof_us = found->second->roof_us, limit.bound = found->second->bound;
      limit.lost_us = std::max(0.0, time.wall_us - limit.roof_us);
    }
    limit.action = action_of(time, limit, known);
    foresee(limit.action, known);
    result.nodes.push_back(std::move(limit));
  }
  result.modules = by_module(result.nodes);
  worst_first(result.nodes);
  worst_first(result.modules);
  return result;
}

json to_json(const Limits& limits) {
  json nodes = json::array(), modules = json::array();
  for (const auto& node : limits.nodes) nodes.push_back(limit_json(node));
  for (const auto& module : limits.modules) modules.push_back(limit_json(module));
  json all{{"wide_us", limits.wide_us}, {"nodes", nodes}, {"modules", modules}, {"doubts", limits.doubts}};
  if (!limits.rival.empty()) {
    all["rival"] = limits.rival;
    all["rival_us"] = limits.rival_us;
    all["speedup"] = limits.speedup();
  }
  return all;
}

}  // namespace wide::profiler
