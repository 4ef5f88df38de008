// The form of a sweep.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <set>

#include "formats/error.h"
#include "gui/icons.h"
#include "gui/panels/shared/table_room.h"
#include "gui/panels/sweep/sweep_panel.h"
#include "presets/case_fields.h"
#include "results/table.h"

namespace wide::gui {
namespace {

std::vector<Choice> subject_choices(const SweepPanel& panel) {
  std::vector<Choice> choices;
  for (const auto& subject : panel.subjects)
    choices.push_back({subject.name, subject.kind + ": " + subject.summary});
  return choices;
}

// Those that the chosen subjects have; of all of them when none is chosen.
std::vector<Choice> strategy_choices(const SweepPanel& panel) {
  std::set<std::string> names;
  const auto& wanted = panel.form.subjects;
  for (const auto& subject : panel.subjects) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), subject.name) == wanted.end()) continue;
    names.insert(subject.strategies.begin(), subject.strategies.end());
  }
  std::vector<Choice> choices = {
      {"auto", "The fastest by measuring"},
      {"all", "auto, and each strategy that the subject has, as cases of their own"},
      {"sequential", "One member after the other"}};
  for (const auto& name : names) {
    if (name != "sequential" && name != "auto") choices.push_back({name, ""});
  }
  return choices;
}

// That a command line named, and its checkpoints.
void forget_model(SweepForm& form) {
  form.model.clear();
  form.weights.clear();
  form.members.reset();
}

void draw_subjects(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  field(ui, bench.session.model ? "measure" : "subjects");
  if (bench.session.model) {
    // Who opens a model wants to measure it.
    if (!(panel.model == bench.session.model->source)) panel.open_model = true;
    panel.model = bench.session.model->source;
    const auto name = "the open model: " + bench.session.model->name;
    int which = panel.open_model ? 1 : 0;
    ImGui::SetNextItemWidth(-1);
    if (combo("##what", which, {"built-in subjects", name.c_str()})) panel.open_model = which == 1;
    if (panel.open_model) return;
    field(ui, "which");
  }
  if (!panel.form.model.empty()) {  // a command line named it
    const auto name = "the model " + results::printable(panel.form.model, 200);
    int which = 1;
    ImGui::SetNextItemWidth(-1);
    if (combo("##of_line", which, {"built-in subjects", name.c_str()}) && which == 0)
      forget_model(panel.form);
    return;
  }
  choose_many(ui, "##subjects", subject_choices(panel), panel.form.subjects, "all of the preset");
}

void draw_axes(SweepPanel& panel, const Workbench& bench, const Ui& ui) {
  auto& form = panel.form;
  const auto* model = panel.open_model ? bench.session.model.get() : nullptr;
  const bool own = model != nullptr && model->source.subject.empty();
  const auto built = model != nullptr ? strategy_word(model->wish) : "auto";
  const auto mode = model != nullptr ? model->wish.mode : "eager";
  field(ui, "N");
  const auto hint = own ? std::to_string(model->members.size()) + ", as is open; 2, 4, 8 or 2..64"
                        : std::string("as the preset; 2, 4, 8 or 2..64");
  if (ImGui::InputTextWithHint("##n", hint.c_str(), &panel.counts)) {
    if (const auto counts = parse_counts(panel.counts)) form.n = *counts;
  }
  field(ui, "devices");
  choose_names(ui, "##devices", std::vector(presets::kDevices.begin() + 1, presets::kDevices.end()),
               form.devices, "as the preset");
  field(ui, "strategies");
  choose_many(ui, "##strategies", strategy_choices(panel), form.strategies,
              (built == "auto" ? "as the preset (auto)" : "as built: " + built).c_str());
  field(ui, "modes");
  choose_names(ui, "##modes", presets::kModes, form.modes,
               (mode == "eager" ? "as the preset (eager)" : "as built: " + mode).c_str());
  field(ui, "rivals");
  choose_many(ui, "##rivals",
              std::vector<Choice>{{"eager", "N separate runs, one after the other"},
                                  {"threads", "N separate runs on threads"},
                                  {"apart", "N separate runs with wide's own kernels"}},
              form.rivals, "as the preset");
  field(ui, "dtypes");
  choose_names(ui, "##dtypes", presets::kDtypes, form.dtypes, "as the preset (float32)");
  field(ui, "time limit");
  double seconds = form.timeout.value_or(0);
  if (ImGui::InputDouble("##timeout", &seconds, 0, 0, form.timeout ? "%.6g s a case" : "as the preset"))
    form.timeout = seconds > 0 ? std::optional(seconds) : std::nullopt;
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip("Seconds after which a case is ended and counts as a timeout; 0: as the preset has it.");
  field(ui, "label");
  ImGui::InputTextWithHint("##label", "a name in the history", &form.label);
  field(ui, "also");
  ImGui::Checkbox("Python ways##peers", &form.peers);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip(
        "Measures a loop, torch.compile and vmap in Python beside it. Needs Python's torch; takes much "
        "longer.");
}

void draw_paste(SweepPanel& panel, const Ui& ui) {
  if (ImGui::Button("\xef\x84\xa0  From a command line…###paste")) ImGui::OpenPopup("paste");
  if (!ImGui::BeginPopup("paste")) return;
  faint_text(ui, "A line that begins with widebench benchmark fills in the form.");
  ImGui::SetNextItemWidth(32 * em());
  if (ImGui::IsWindowAppearing()) {
    ImGui::SetKeyboardFocusHere();
    const char* clipboard = ImGui::GetClipboardText();
    panel.pasted =
        clipboard != nullptr && std::string_view(clipboard).find("benchmark") != std::string_view::npos
            ? clipboard
            : "";
  }
  const bool entered = ImGui::InputText("##line", &panel.pasted, ImGuiInputTextFlags_EnterReturnsTrue);
  const bool pressed = ImGui::Button("Fill in the form");
  if ((entered || pressed) && !panel.pasted.empty()) {
    const auto fault = take_command(panel, panel.pasted);
    if (fault.empty()) {
      ImGui::CloseCurrentPopup();
    } else {
      ui.notices.post(Level::kWarning, "The line could not be read", fault);
    }
  }
  ImGui::EndPopup();
}

}  // namespace

SweepForm form_of(const SweepPanel& panel, const Workbench& bench) {
  auto form = panel.form;
  form.database = panel.records->database.string();
  if (!panel.open_model || !bench.session.model) return form;
  const auto& source = bench.session.model->source;
  const auto& wish = bench.session.model->wish;
  if (form.n.empty() && source.subject.empty())
    form.n = {static_cast<std::int64_t>(bench.session.model->members.size())};
  if (const auto built = strategy_word(wish); form.strategies.empty() && built != "auto")
    form.strategies = {built};
  if (form.modes.empty() && wish.mode != "eager") form.modes = {wish.mode};
  if (!source.subject.empty()) {
    form.subjects = {source.subject};
    form.preset = kSubjectSizes;  // whose sizes it has
    forget_model(form);
    return form;
  }
  form.subjects.clear();
  form.model = source.models.empty() ? "" : source.models.front();
  form.weights = source.weights;
  if (!source.weights.empty()) form.members = std::ssize(bench.session.model->members);
  return form;
}

std::string take_command(SweepPanel& panel, const std::string& line) {
  auto parsed = parse_command(line);
  if (!parsed.fault.empty()) return parsed.fault;
  parsed.form.resume = false;
  panel.form = std::move(parsed.form);
  panel.form.database.clear();
  panel.counts = counts_text(panel.form.n);
  panel.open_model = false;
  return "";
}

std::string kept_form(const SweepPanel& panel) {
  return command_text(arguments(panel.form));
}

void take_kept_form(SweepPanel& panel, const std::string& kept) {
  const bool open_model = panel.open_model;
  if (!kept.empty() && take_command(panel, kept).empty()) panel.open_model = open_model;
}

void check_form(SweepPanel& panel, const Workbench& bench) {
  auto form = form_of(panel, bench);
  if (panel.counted == form && parse_counts(panel.counts)) return;
  panel.counted = form;
  panel.cases = 0;
  panel.fault = objection(form);
  if (!parse_counts(panel.counts)) {
    panel.fault = "N is a list of numbers from 1 to " + std::to_string(presets::kMostMembers) +
                  ", as 2, 4, 8, or a range, as 2..64";
  }
  if (!form.model.empty() && panel.open_model && bench.session.model &&
      bench.session.model->source.models.size() > 1)
    panel.fault = "several .pt2 files are not swept as one; open one of them, with its checkpoints";
  if (!panel.fault.empty()) return;
  try {
    panel.cases = count_cases(form, panel.subjects);
  } catch (const Error& error) {
    panel.fault = error.what();
  }
  if (panel.fault.empty() && panel.cases == 0) panel.fault = "no case is left to measure";
}

void draw_form(SweepPanel& panel, Workbench& bench, const Ui& ui) {
  const bool two = ImGui::GetContentRegionAvail().x > 34 * em();
  if (begin_table("##form", two ? 4 : 2)) {
    for (int i = 0; i < (two ? 2 : 1); ++i) {
      ImGui::TableSetupColumn(i == 0 ? "label" : "label2", ImGuiTableColumnFlags_WidthFixed, 4.6F * em());
      ImGui::TableSetupColumn(i == 0 ? "field" : "field2", ImGuiTableColumnFlags_WidthStretch);
    }
    field(ui, "preset");
    const auto* open = panel.open_model ? bench.session.model.get() : nullptr;
    if (!open || open->source.subject.empty()) {
      choose_one(ui, "##preset", panel.presets, panel.form.preset);
    } else {
      faint_text(ui, std::string(kSubjectSizes) + ", whose sizes are open");
    }
    draw_subjects(panel, bench, ui);
    draw_axes(panel, bench, ui);
    ImGui::EndTable();
  }
  draw_gate_form(panel, bench, ui);
  check_form(panel, bench);
  if (panel.counted) {
    if (const auto text = remark(*panel.counted); !text.empty()) faint_text(ui, text);
  }
  draw_paste(panel, ui);
}

}  // namespace wide::gui
