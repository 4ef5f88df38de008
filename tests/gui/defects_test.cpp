// What people stumbled over and no other test holds; README.md says which test holds what else.
#include <implot.h>
#include <implot_internal.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gui/panels/graph_panel.h"
#include "gui/results_bed.h"
#include "gui/views/quantity.h"
#include "gui/views/samples.h"
#include "results/reliability.h"

namespace wide::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

results::CaseRecord noisy_case(double floor) {
  auto record = passed_case(4, 1.5);
  record.noise_floor = {floor, floor * 0.99, floor * 1.01};
  return record;
}

// Above 10 % status and rows say so in words and in amber, and there is no verdict.
void noise_is_told_everywhere(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  gui::RunData data{.cases = {noisy_case(1.3)}, .table = gui::sweep_table()};
  gui::add_cases(data.table, data.cases);
  gui::show_run(*panels().sweep, std::make_shared<gui::RunData>(std::move(data)));
  bench().status.noise = gui::Noise{.share = 0.3, .cases = 1};
  ctx->Yield(3);
  const auto text = drawn_text(ctx);
  IM_CHECK(has(text, "inconclusive"));
  IM_CHECK(has(text, std::string(results::kUnreliable)));
  IM_CHECK(!has(text, "faster"));
  picture(ctx, "tour-25-noise");
  IM_CHECK(has(gui::noise_text(bench().status), std::string(results::kUnreliable)));
  bench().status.noise = gui::Noise{.share = 0.02, .cases = 1};
  IM_CHECK_STR_EQ(gui::noise_text(bench().status).c_str(), "noise 2.00 %");
}

void the_timelines_keys_are_listed(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiKey_F1);
  ctx->Yield(3);
  const auto text = drawn_text(ctx);
  for (const char* one :
       {"Timeline: zoom at the mouse", "Timeline: measure a stretch", "Timeline: set a bookmark",
        "Timeline: slowest, next slower", "Flame, Graph: show everything", "Ctrl+Shift+P"})
    IM_CHECK(has(text, one));
  picture(ctx, "tour-32-keys");
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(2);
}

void one_is_not_many(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark mlp -p ci -n 2");
  ctx->Yield(3);
  IM_CHECK_EQ(panels().sweep->cases, 1U);
  const auto text = drawn_text(ctx);
  IM_CHECK(has(text, "1 case") && !has(text, "1 cases"));
  IM_CHECK(!has(text, "0 threads") && !has(text, "1 threads"));
  IM_CHECK_STR_EQ(gui::show_probability({1}).c_str(), "1");
  IM_CHECK_STR_EQ(gui::show_probability({0.05}).c_str(), "0.0500");
}

// What was read in no time is no news.
void jobs_are_not_flooded(ImGuiTestContext* ctx) {
  with_history(ctx);
  for (int i = 0; i < 8; ++i) {
    bench().commands.run("history.refresh");
    settle(ctx);
  }
  show(ctx, "jobs");
  ctx->Yield(3);
  IM_CHECK(!has(drawn_text(ctx), "Reading the history"));
}

// A letter is drawn from a picture of its own size, however far one has zoomed in.
void letters_are_sharp_at_any_zoom(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  ctx->Yield(6);
  ctx->MouseMove("//###Graph/##nodes");
  for (int i = 0; i < 3; ++i) {
    ctx->MouseWheelY(1);
    ctx->Yield();
  }
  ctx->Yield(3);
  IM_CHECK_GT(bench().graph_panel->zoom, 1.1F);
  const float size = std::round(2 * bench().graph_panel->zoom * gui::em()) / 2;
  IM_CHECK_GT(bench().fonts.bold->GetFontBaked(size)->Glyphs.Size, 8);
}

// The last N is in sight while a sweep goes on, without a double click.
void the_plot_holds_every_n(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  std::vector<results::CaseRecord> cases;
  for (const std::int64_t n : {2, 4, 8, 16, 64}) {
    cases.push_back(passed_case(n, 1.5 + 0.1 * static_cast<double>(n)));
    gui::RunData data{.cases = cases, .table = gui::sweep_table()};
    gui::add_cases(data.table, data.cases);
    gui::show_run(*panels().sweep, std::make_shared<gui::RunData>(std::move(data)));
    ctx->Yield(4);
    IM_CHECK_EQ(panels().sweep->plot.series.size(), 1U);
    IM_CHECK_EQ(panels().sweep->plot.series[0].n.size(), cases.size());
    IM_CHECK(panels().sweep->plot.series[0].n.back() == static_cast<double>(n));
    auto& plots = ImPlot::GetCurrentContext()->Plots;
    bool in_sight = false;
    for (int i = 0; i < plots.GetBufSize(); ++i) {
      const auto& across = plots.GetByIndex(i)->XAxis(0).Range;
      in_sight = in_sight || (across.Min < 1 && across.Max > std::log2(static_cast<double>(n)));
    }
    IM_CHECK(in_sight);
  }
  picture(ctx, "plot-of-five");
}

// How far apart two colours are, opacity left aside: 0 to 441, as on a scale of 255.
double apart(ImU32 left, ImU32 right) {
  const auto a = ImGui::ColorConvertU32ToFloat4(left), b = ImGui::ColorConvertU32ToFloat4(right);
  return 255 * std::hypot(a.x - b.x, a.y - b.y, a.z - b.z);
}

// A colour of the roofline plot stands for the roof or for one of the causes, in both themes.
void a_colour_of_the_roofline_means_one_thing(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  auto data = std::make_shared<gui::ProfileData>(gui::sample_profile());
  IM_CHECK(data->roofline && !data->roofline->nodes.empty());
  auto& nodes = data->roofline->nodes;
  auto point = nodes[0];
  point.flops = point.bytes = point.time_us = 1;
  nodes.clear();
  using profiler::Bound;
  for (const auto bound :
       {Bound::kHost, Bound::kLaunch, Bound::kFill, Bound::kMemory, Bound::kArithmetic, Bound::kLayout}) {
    point.bound = bound, point.flops *= 2;
    nodes.push_back(point);
  }
  gui::show_profile(*panels().profile, std::move(data));
  show(ctx, "profile");
  bench().commands.run("profile.show_tab", "roofline");
  for (const bool dark : {true, false}) {
    bench().settings.dark = dark;
    bench().restyle(1);
    ctx->Yield(4);
    std::vector<std::pair<std::string, ImU32>> shown;  // what it means, and its colour
    auto& plots = ImPlot::GetCurrentContext()->Plots;
    for (int i = 0; i < plots.GetBufSize() && shown.empty(); ++i) {
      auto& items = plots.GetByIndex(i)->Items;
      bool causes = false;  // other plots have none
      for (int k = 0; k < items.GetLegendCount(); ++k) {
        const std::string label = items.GetLegendLabel(k);
        const bool cause = label.starts_with("held back by ");
        causes = causes || cause;
        shown.emplace_back(cause ? label : "roof", items.GetLegendItem(k)->Color);
      }
      if (!causes) shown.clear();
    }
    std::set<std::string> meanings;
    for (const auto& [what, colour] : shown) {
      meanings.insert(what);
      for (const auto& [other, its] : shown) {
        if (what != other && apart(colour, its) < 40)
          IM_ERRORF("\"%s\" and \"%s\" look the same, %s", what.c_str(), other.c_str(),
                    dark ? "dark" : "light");
      }
    }
    IM_CHECK_EQ(meanings.size(), 7U);
    picture(ctx, dark ? "roofline-dark" : "roofline-light");
  }
}

}  // namespace

void add_defects_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "defects", name)->TestFunc = test;
  };
  add("noise is told everywhere", noise_is_told_everywhere);
  add("the timeline's keys are listed", the_timelines_keys_are_listed);
  add("one is not many", one_is_not_many);
  add("jobs are not flooded", jobs_are_not_flooded);
  add("letters are sharp at any zoom", letters_are_sharp_at_any_zoom);
  add("the plot holds every n", the_plot_holds_every_n);
  add("a colour of the roofline means one thing", a_colour_of_the_roofline_means_one_thing);
}

}  // namespace wide::test
