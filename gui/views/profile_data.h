#pragma once
// A trace file with all that was read out of it, ready to be shown. Made on a job: a million events take
// seconds.

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/bench.h"
#include "gui/views/flame.h"
#include "gui/views/table.h"
#include "gui/views/timeline.h"
#include "profiler/trace/activity.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/limits.h"
#include "profiler/trace/roofline.h"
#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::gui {

struct ProfileData {
  std::filesystem::path file;
  std::vector<profiler::Trace> traces;  ///< as in the file
  std::string fingerprint;              ///< by which bookmarks are kept
  std::vector<profiler::Structure> structures;
  std::vector<profiler::Activity> activities;
  std::vector<Table> kernels;                     ///< one per trace
  std::vector<Flame> flames;                      ///< one per trace
  std::size_t wide = 0;                           ///< which of them is wide; 0 where none says so
  std::vector<profiler::Comparison> comparisons;  ///< wide against each of the others
  std::vector<std::size_t> compared;              ///< index into traces of each comparison's rival
  Table nodes;                                    ///< of the first comparison
  std::optional<profiler::Roofline> roofline;     ///< of wide
  Table points;                                   ///< of the roofline, a row per node
  profiler::Limits limits;                        ///< of wide against the first rival
  Table limit_nodes, limit_modules;               ///< a row each, in the order of `limits`

  Timeline timeline;
};

/// Steps of reading, for progress; throws what ends it.
using Step = std::function<void(double fraction, const char* what)>;

/// What AUTO knows of the nodes of an open model: a plan that was chosen or loaded has no others beside it.
/// `NodeOffer::node` as the selection names nodes.
using Offers = std::vector<profiler::NodeOffer>;
Offers offers_of(const ModelView& built, const ModelView& planned);

/// `report`: what `widebench profile --json --roofline` printed, for its roofline; may be empty. Throws
/// wide::Error.
ProfileData read_profile(const std::filesystem::path& file, const std::string& report, const Step& step,
                         const Offers& offers = {});
/// The same from traces in memory.
ProfileData make_profile(std::vector<profiler::Trace> traces, const std::string& report, const Step& step,
                         const Offers& offers = {});

/// "batch_norm" of "%batch_norm aten.conv2d.default": as the selection names nodes.
std::string selection_name(std::string_view trace_node);

/// Columns: name, kind, count, total, mean, median, min, max, share. Times per pass where that says so.
Table kernel_table(const profiler::Trace& trace, const profiler::Structure& structure);
/// Names, as kernel_table() has them, of what runs for a node: "conv2d", as the selection names it.
std::set<std::string> kernels_of_node(const profiler::Trace& trace, const profiler::Structure& structure,
                                      const std::string& node);
/// Columns: node, strategy, wide, rival, gained, conversion, launches, rival_launches.
Table node_table(const profiler::Comparison& comparison);
/// Columns: node, time, roof, fraction, intensity, rate, share, bound.
Table roofline_table(const profiler::Roofline& roofline, const profiler::Trace& trace);

/// Columns: node, rival, wide, lost, action, then, gained, share, bound, saved, basis.
Table limit_table(const std::vector<profiler::Limit>& limits, const std::string& rival);
/// The node of a module that loses most, as the selection names it; empty: none lies in it.
std::string worst_node_in(const profiler::Limits& limits, const std::string& module);
/// "2.10× over eager: 8.34 ms against 17.5 ms a pass; %conv2d holds it back most, …".
std::string limits_headline(const profiler::Limits& limits);

/// One bar of the gain split. The bars add up to what was gained.
struct GainPart {
  std::string name;  ///< "launches removed"
  double us = 0;     ///< per pass; negative: lost
  std::string why;   ///< one sentence
};
std::vector<GainPart> gain_parts(const profiler::GainSplit& gain);

/// "42.3 of 51.0 us a pass were busy" and such, a line each.
std::vector<std::string> summary(const ProfileData& data);

/// Why the times of summary() are not to be believed; empty: nothing is known against them.
std::string doubt(const ProfileData& data);

/// Of each capture whose CUDA Graph has work that is of no node: how much, and why.
std::vector<std::string> untied_texts(const ProfileData& data);

/// What the badge of a trace says: "complete", or "incomplete, because …".
std::string badge_text(const profiler::Completeness& badge);

}  // namespace wide::gui
