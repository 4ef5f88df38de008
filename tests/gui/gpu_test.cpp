// The window where there is a GPU (tests/made_up_gpu has one): a model opened on it, validated, and profiled.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/devices.h"
#include "gui/results_bed.h"
#include "gui/views/profile_data.h"
#include "profiler/trace/roofline.h"

namespace wide::test {
namespace {

const app::DeviceInfo& gpu() {
  return app::known_devices()[1];
}

// Of the work on streams, as far as it is of any.
std::set<std::string> nodes_with_work(const profiler::Trace& trace) {
  std::set<std::string> nodes;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (!profiler::on_device(trace.slices.kind(i)) || trace.slices.pass(i) < 0) continue;
    if (const auto node = trace.slices.node(i); node >= 0)
      nodes.insert(trace.nodes[static_cast<std::size_t>(node)].name);
  }
  return nodes;
}

void open_mlp(ImGuiTestContext* ctx) {
  with_no_results(ctx, {.device = "cuda"});
  bench().open_files({corpus("mlp").string()});
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_EQ(bench().session.model->members.size(), 4U);
}

// As by hand: Profile, of the open model, beside these rivals.
std::shared_ptr<const gui::ProfileData> profiled(ImGuiTestContext* ctx, std::vector<std::string> rivals) {
  show(ctx, "profile");
  auto& form = panels().profile->form;
  form.open_model = true;
  form.rivals = std::move(rivals);
  ctx->Yield(2);
  ctx->ItemClick("//###Profile/###start");
  settle(ctx);
  return panels().profile->data;
}

void a_model_is_opened_and_validated_on_it(ImGuiTestContext* ctx) {
  open_mlp(ctx);
  IM_CHECK(bench().status.device.find("cuda: " + gpu().description) != std::string::npos);
  show(ctx, "strategies");
  bench().commands.run("strategies.validate");
  settle(ctx);
  IM_CHECK(bench().session.proof && bench().session.proof->passed);
  picture(ctx, "gpu-validate");
}

void it_is_profiled_there(ImGuiTestContext* ctx) {
  open_mlp(ctx);
  const auto shown = profiled(ctx, {"eager", "streams"});
  IM_CHECK(shown != nullptr);
  const auto& data = *shown;
  IM_CHECK_EQ(data.traces.size(), 3U);
  for (const auto& trace : data.traces) {
    IM_CHECK_STR_EQ(trace.facts.at("device").c_str(), gpu().description.c_str());
    IM_CHECK_GE(nodes_with_work(trace).size(), 2U);
  }
  IM_CHECK(data.comparisons.at(0).aligned);
  IM_CHECK(data.roofline && data.roofline->peaks.device == gpu().description);
  const auto has_stream = [](const gui::TimelineLane& lane) { return lane.stream; };
  IM_CHECK(std::any_of(data.timeline.lanes.begin(), data.timeline.lanes.end(), has_stream));
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
  IM_CHECK_GT(panels().profile->timeline.drawn, 10U);
  picture(ctx, "gpu-timeline");
  bench().commands.run("profile.show_tab", "kernels");
  ctx->Yield(3);
  picture(ctx, "gpu-kernels");
}

void kernels_of_a_graph_are_of_nodes(ImGuiTestContext* ctx) {
  open_mlp(ctx);
  bench().session.wish.mode = "reduce-overhead";
  bench().session.wish.by_kind["linear"] = "sequential";
  bench().build();
  settle(ctx);
  const auto shown = profiled(ctx, {"graph"});
  IM_CHECK(shown != nullptr);
  const auto& data = *shown;
  const auto& wide = data.traces[data.wide];
  IM_CHECK_STR_EQ(wide.facts.at(profiler::kReplayedFact).c_str(), "a CUDA Graph");
  IM_CHECK(!wide.facts.contains(profiler::kUntiedFact));
  for (const auto& trace : data.traces) IM_CHECK_GE(nodes_with_work(trace).size(), 2U);
  bench().commands.run("profile.show_tab", "gain");
  ctx->Yield(3);
  picture(ctx, "gpu-graph");
}

}  // namespace

void add_gpu_tests(ImGuiTestEngine* engine) {
  if (!gpu().usable) return;
  const auto add = [engine](const char* name, void (*run)(ImGuiTestContext*)) {
    IM_REGISTER_TEST(engine, "gpu", name)->TestFunc = run;
  };
  add("a model is opened and validated on it", a_model_is_opened_and_validated_on_it);
  add("it is profiled there", it_is_profiled_there);
  add("kernels of a graph are of nodes", kernels_of_a_graph_are_of_nodes);
}

}  // namespace wide::test
