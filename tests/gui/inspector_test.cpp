// The selected node in every panel: inspector, override and undo, what it calls; status of the menu bar.
#include <algorithm>

#include "gui/results_bed.h"

#include "gui/panels/inspector_kernel.h"
#include "gui/views/samples.h"

namespace wide::test {
namespace {

std::string some_node(const char* kind) {
  for (const auto& node : bench().session.model->graph) {
    if (node.kind == kind) return node.name;
  }
  return {};
}

void overriding_and_undo(ImGuiTestContext* ctx) {
  with_sample(ctx);
  const auto name = some_node("conv2d");
  bench().selection.choose_node(name);
  show(ctx, "inspector");
  ctx->ItemClick("//###Inspector/###override");
  ctx->Yield(2);
  ctx->ItemClick("//$FOCUSED/###sequential");
  ctx->Yield(3);
  const auto& wish = bench().session.wish;
  IM_CHECK_EQ(wish.by_value.size(), 1u);
  IM_CHECK_STR_EQ(wish.by_value.at("%" + name).c_str(), "sequential");
  IM_CHECK(bench().session.edited());
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Z);
  ctx->Yield(2);
  IM_CHECK(bench().session.wish.by_value.empty() && !bench().session.edited());
  IM_CHECK(!bench().commands.refusal("edit.undo").empty());
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_Z);
  ctx->Yield(2);
  IM_CHECK(bench().session.edited());
  ctx->ItemClick("//###Inspector/###build");
  settle(ctx);
  IM_CHECK_STR_EQ(bench().session.model->find(name)->strategy.c_str(), "sequential");
  bench().commands.run("edit.undo");  // after a build, too
  ctx->Yield(2);
  IM_CHECK(bench().session.edited() && bench().session.wish.by_value.empty());
}

void what_a_node_calls(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().selection.choose_node(some_node("conv2d"));
  show(ctx, "inspector");
  ctx->ItemClick("//###Inspector/###kernel");
  settle(ctx);
  IM_CHECK(bench().session.calls.has_value());
  const auto& calls = *bench().session.calls;
  for (const auto& node : bench().session.model->graph) {
    if (node.kind != "conv2d" || !node.choosable()) continue;
    IM_CHECK(calls.contains(node.name));
    IM_CHECK(!calls.at(node.name).empty());
    for (const auto& call : calls.at(node.name))
      IM_CHECK(call.name.find("::") != std::string::npos && call.count > 0);
  }
  IM_CHECK(!ctx->ItemExists("//###Inspector/###kernel"));  // what it calls stands there instead
  // Another build calls other things.
  bench().session.wish.by_kind["conv2d"] = "sequential";
  ctx->Yield(2);
  bench().commands.run("strategies.build");
  settle(ctx);
  IM_CHECK(!bench().session.calls.has_value());
}

// Several ways of one name are told apart by their layouts.
void ways_of_one_name_differ(ImGuiTestContext* ctx) {
  with_sample(ctx);
  const auto& graph = bench().session.model->graph;
  const auto node = std::ranges::find_if(graph, [](const gui::NodeView& one) {
    return std::ranges::any_of(one.alternatives,
                               [&](const auto& other) { return other.strategy == one.strategy; });
  });
  IM_CHECK(node != graph.end());
  bench().selection.choose_node(node->name);
  show(ctx, "inspector");
  const auto text = drawn_text(ctx);
  for (const auto& other : node->alternatives) {
    if (other.strategy == node->strategy) IM_CHECK(text.find(other.layouts) != std::string::npos);
  }
}

void our_kernels_have_a_source(ImGuiTestContext* ctx) {
  fresh(ctx);
  IM_CHECK_STR_EQ(gui::source_of_kernel("wide::small_gemm").c_str(), "primitives/kernels/small_gemm.cpp");
  IM_CHECK_STR_EQ(gui::source_of_kernel("aten::bmm").c_str(), "");
}

void roofline_of_a_profile(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().commands.run("file.sample");
  settle(ctx);
  const auto* node = bench().session.model->find(some_node("conv2d"));
  IM_CHECK(gui::roofline_point(*node, bench()) == nullptr);
  panels().profile->form.rivals.clear();
  panels().profile->form.passes = 3;
  bench().commands.run("profile.start");
  settle(ctx);
  IM_CHECK(panels().profile->data != nullptr);
  const auto* point = gui::roofline_point(*node, bench());
  if (!panels().profile->data->roofline) {
    ctx->LogWarning("this machine's peaks could not be measured");
    return;
  }
  IM_CHECK(point != nullptr);
  IM_CHECK_GT(point->fraction(), 0);
  show(ctx, "inspector");
  ctx->Yield(3);
}

// One selection: whoever sets it, all show it.
void selecting_anywhere(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().commands.run("file.sample");
  settle(ctx);
  gui::show_profile(*panels().profile, std::make_shared<gui::ProfileData>(gui::sample_profile()));
  show(ctx, "profile");
  const auto& data = *panels().profile->data;
  const auto& trace = data.traces[data.wide];
  // A kernel of the table, and the node that it works for.
  bench().commands.run("profile.show_tab", "kernels");
  ctx->Yield(3);
  bench().selection.choose_node("");
  ctx->Yield(2);
  IM_CHECK(panels().profile->chosen_kernels.empty());
  click_row(ctx, "//###Profile/##tabs/Kernels/**/##row");
  ctx->Yield(3);
  const auto node = bench().selection.node;
  IM_CHECK(!node.empty());
  const auto names = gui::kernels_of_node(trace, data.structures[data.wide], node);
  IM_CHECK(!names.empty());
  bench().commands.run("profile.show_tab", "kernels");
  ctx->Yield(3);
  IM_CHECK(panels().profile->chosen_kernels == names);
  // A node chosen elsewhere is found in the timeline.
  std::string other;
  for (const auto& one : trace.nodes) {
    const auto name = gui::selection_name(one.name);
    if (name != node && !gui::kernels_of_node(trace, data.structures[data.wide], name).empty()) other = name;
  }
  IM_CHECK(!other.empty());
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
  bench().selection.choose_node(other);
  ctx->Yield(3);
  IM_CHECK(panels().profile->timeline.selected.has_value());
  const auto slice = gui::slice_at(data.timeline, data.traces, *panels().profile->timeline.selected);
  IM_CHECK_STR_EQ(gui::selection_name(trace.nodes[static_cast<std::size_t>(slice.node)].name).c_str(),
                  other.c_str());
}

void strategies_scroll_to_the_selection(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_source({.subject = "minigpt", .copies = 2});
  settle(ctx);
  show(ctx, "strategies");
  std::string last;
  for (const auto& node : bench().session.model->graph) {
    if (node.choosable()) last = node.name;
  }
  bench().selection.choose_node(last);
  ctx->Yield(4);
  const auto ref = "//###Strategies/##nodes/" + last + "/###node";
  const auto item = ctx->ItemInfo(ref.c_str());
  IM_CHECK(item.ID != 0);
  IM_CHECK_GT(item.RectClipped.GetHeight(), 0);
}

void any_cell_is_copied(ImGuiTestContext* ctx) {
  with_history(ctx);
  ctx->MouseMove("//###History/**/##row");
  ctx->MouseClick(ImGuiMouseButton_Right);
  ctx->Yield(2);
  ctx->ItemClick("//$FOCUSED/###copy_row");
  ctx->Yield(2);
  IM_CHECK(clipboard().find('\t') != std::string::npos);
  ctx->MouseMove("//###History/**/##row");
  ctx->MouseClick(ImGuiMouseButton_Right);
  ctx->Yield(2);
  ctx->ItemClick("//$FOCUSED/###copy_cell");
  ctx->Yield(2);
  IM_CHECK(!clipboard().empty() && clipboard().find('\t') == std::string::npos);
}

void status_says_device_and_noise(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  IM_CHECK(bench().status.device.starts_with("cpu: "));
  IM_CHECK(bench().status.device.find("thread") != std::string::npos);
  IM_CHECK(bench().status.details.find("cuda") != std::string::npos);  // and why it is or is not used
  IM_CHECK_STR_EQ(gui::noise_text(bench().status).c_str(), "noise not measured");
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark linear -p ci -n 2");
  ctx->Yield(2);
  bench().commands.run("sweep.start");
  settle(ctx);
  settle(ctx);
  IM_CHECK(bench().status.noise.has_value());
  IM_CHECK_EQ(bench().status.noise->run, panels().sweep->run->run.id);
  const auto& floor = panels().sweep->run->cases.at(0).noise_floor;
  IM_CHECK_LT(std::abs(bench().status.noise->share - std::max(floor.high - 1, 1 / floor.low - 1)), 1e-9);
  IM_CHECK(bench().status.shown.find("noise ") != std::string::npos);
}

}  // namespace

void add_inspector_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "inspector", name)->TestFunc = test;
  };
  add("overriding and undo", overriding_and_undo);
  add("what a node calls", what_a_node_calls);
  add("ways of one name differ", ways_of_one_name_differ);
  add("our kernels have a source", our_kernels_have_a_source);
  add("roofline of a profile", roofline_of_a_profile);
  add("selecting anywhere", selecting_anywhere);
  add("strategies scroll to the selection", strategies_scroll_to_the_selection);
  add("any cell is copied", any_cell_is_copied);
  add("status says device and noise", status_says_device_and_noise);
}

}  // namespace wide::test
