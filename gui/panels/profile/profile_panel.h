#pragma once
// Profiles the open model or a built-in subject, and shows what ran and why wide is faster, or is not.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/panels/profile/flame_view.h"
#include "gui/panels/profile/query_view.h"
#include "gui/panels/profile/span_view.h"
#include "gui/panels/profile/timeline_panel.h"
#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/records.h"
#include "gui/panels/shared/snapshot.h"
#include "gui/panels/shared/table_view.h"
#include "gui/views/profile_data.h"
#include "gui/workbench.h"

namespace wide::gui {

/// What to profile. Built from the open model where there is one.
struct ProfileForm {
  std::string subject = "resblock";  ///< where no model is open
  std::string preset = "quick";      ///< its sizes
  std::int64_t members = 4;
  std::vector<std::string> rivals = {"eager"};
  int passes = 20;
  bool open_model = true;      ///< the open model, where there is one
  bool measure_peaks = false;  ///< of the machine, though they are known
};

enum class ProfileTab : std::uint8_t { kTimeline, kKernels, kGain, kRoofline, kLimits, kQuery, kFlame };
inline constexpr int kProfileTabs = 7;

struct ProfilePanel {
  std::shared_ptr<Records> records;  ///< whose runs may have captures
  ProfileForm form;
  std::vector<Choice> subjects, presets;
  std::uint64_t job = 0;
  std::shared_ptr<ProfileData> data;  ///< null: nothing is open
  TimelinePanel timeline;
  SpanPanel span;
  QueryPanel query;
  FlamePanel flame;
  std::size_t capture = 0;     ///< whose kernels are listed
  std::size_t comparison = 0;  ///< which rival wide is compared with
  TableView kernels, nodes, points, limits;
  bool by_module = false;                ///< limits of modules instead of nodes
  std::set<std::string> chosen_kernels;  ///< those that the selected node runs, in the capture that is listed
  std::string chosen_of;                 ///< node and capture that these are of
  ProfileTab shown = ProfileTab::kTimeline;
  std::optional<ProfileTab> raise;  ///< bring it to the front in the next frame
  Snapshot picture;
  std::string marked;  ///< fingerprint of the profile whose bookmarks are the timeline's
};

void draw(ProfilePanel& panel, Workbench& bench, const Ui& ui);
void add_commands(const std::shared_ptr<ProfilePanel>& panel, Workbench& bench);

/// Arguments of the program; `trace`: the file that it writes; `plan`: a file to run by; empty: none.
std::vector<std::string> profile_arguments(const ProfilePanel& panel, const Workbench& bench,
                                           const std::string& trace, const std::string& plan = {});
void start_profile(const std::shared_ptr<ProfilePanel>& panel, Workbench& bench);
/// Reads a trace file on a job and shows it.
void load_profile(const std::shared_ptr<ProfilePanel>& panel, Workbench& bench,
                  const std::filesystem::path& file);
/// Reads the captures of the first case of a stored run that has any, on a job, and shows them.
void load_captures(const std::shared_ptr<ProfilePanel>& panel, Workbench& bench, std::int64_t run);
void show_profile(ProfilePanel& panel, std::shared_ptr<ProfileData> data);

/// A drop-down of the captures that are open.
void choose_capture(ProfilePanel& panel);
void draw_kernels(ProfilePanel& panel, const Ui& ui);
void draw_gain(ProfilePanel& panel, const Ui& ui);
void draw_roofline(ProfilePanel& panel, const Ui& ui);
void draw_limits(ProfilePanel& panel, const Ui& ui);

/// The stretch that is shown as an SVG document, with at most as many blocks as fit into `width` pixels.
std::string timeline_svg(const ProfileData& data, const TimeView& view, double width);
std::string gain_svg(const profiler::Comparison& comparison);

}  // namespace wide::gui
