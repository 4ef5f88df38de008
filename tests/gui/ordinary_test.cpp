// Models of ordinary size, from the window alone: opened, unfolded, validated, swept, profiled.
// $WIDEBENCH_TEST_MODELS is where ordinary_test.py has exported them.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "gui/panels/graph_panel.h"
#include "gui/results_bed.h"

namespace wide::test {
namespace {

using results::Verdict;

std::filesystem::path models() {
  const char* folder = std::getenv("WIDEBENCH_TEST_MODELS");
  return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
}

// As settle(), with more patience: planning by measuring takes its time.
void wait(ImGuiTestContext* ctx) {
  const auto begun = std::chrono::steady_clock::now();
  ctx->Yield(2);
  while (bench().jobs.busy() && std::chrono::steady_clock::now() - begun < std::chrono::minutes(6)) {
    ctx->Yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(bench().jobs.measuring() ? 200 : 10));
  }
  IM_CHECK(!bench().jobs.busy());
  ctx->Yield(3);
}

void opens(ImGuiTestContext* ctx, const std::string& name) {
  drop({(models() / name).string()});
  wait(ctx);
  const auto& model = bench().session.model;
  IM_CHECK(model != nullptr);
  IM_CHECK_GE(model->members.size(), 2U);
}

void unfolds(ImGuiTestContext* ctx, const std::string& name) {
  click_tab(ctx, "Graph");
  bench().commands.run("graph.unfold");
  ctx->Yield(6);
  IM_CHECK_GE(bench().graph_panel->picture.boxes.size(), bench().session.model->graph.size());
  picture(ctx, "ordinary-" + name + "-graph");
}

void validates(ImGuiTestContext* ctx) {
  click_tab(ctx, "Strategies");
  ctx->ItemClick("//###Strategies/###validate");
  wait(ctx);
  const auto& proof = bench().session.proof;
  IM_CHECK(proof.has_value());
  IM_CHECK_STR_EQ(proof->refusal.c_str(), "");
  IM_CHECK(proof->passed);
}

void sweeps(ImGuiTestContext* ctx, const std::string& name) {
  click_tab(ctx, "Sweep");
  IM_CHECK(panels().sweep->open_model);
  ctx->ItemClick("//###Sweep/##form/##n");
  ctx->KeyCharsReplace("2");
  ctx->Yield(2);
  ctx->ItemClick("//###Sweep/###start");
  wait(ctx);
  const auto& run = panels().sweep->run;
  IM_CHECK(run != nullptr);
  IM_CHECK_EQ(run->cases.size(), 1U);
  IM_CHECK_STR_EQ(run->cases[0].reason.c_str(), "");
  IM_CHECK(run->cases[0].verdict == Verdict::kPass);
  bench().notices.dismiss_all();
  picture(ctx, "ordinary-" + name + "-sweep");
}

void profiles(ImGuiTestContext* ctx, const std::string& name) {
  click_tab(ctx, "Profile");
  panels().profile->form.passes = 3;
  ctx->ItemClick("//###Profile/###start");
  wait(ctx);
  const auto& data = panels().profile->data;
  IM_CHECK(data != nullptr);
  IM_CHECK_EQ(data->traces.size(), 2U);
  IM_CHECK(!data->limits.nodes.empty());
  picture(ctx, "ordinary-" + name + "-profile");
}

void the_whole_way(ImGuiTestContext* ctx, const std::string& name) {
  if (!std::filesystem::exists(models() / name)) {
    ctx->LogWarning("%s was not exported", name.c_str());
    return;
  }
  with_no_results(ctx);
  opens(ctx, name);
  if (!ctx->IsError()) unfolds(ctx, name);
  if (!ctx->IsError()) validates(ctx);
  if (!ctx->IsError()) sweeps(ctx, name);
  if (!ctx->IsError()) profiles(ctx, name);
}

void gpt(ImGuiTestContext* ctx) {
  the_whole_way(ctx, "gpt");
}
void resnet(ImGuiTestContext* ctx) {
  the_whole_way(ctx, "resnet");
}
void unet(ImGuiTestContext* ctx) {
  the_whole_way(ctx, "unet");
}

// A group shows what was made one, what is not stored, and its code where some was made.
void waves(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  opens(ctx, "waves");
  bench().session.wish.mode = "default";
  bench().session.wish.by_kind["group"] = "tiles";
  bench().commands.run("strategies.build");
  wait(ctx);
  std::string name;
  for (const auto& node : bench().session.model->graph) {
    if (!node.fused.operators.empty()) name = node.name;
  }
  IM_CHECK(!name.empty());
  const auto& fused = bench().session.model->find(name)->fused;
  IM_CHECK_GE(fused.operators.size(), 2U);
  IM_CHECK(fused.bytes > 0 && !fused.stored && fused.code.empty());
  bench().selection.choose_node(name);
  show(ctx, "inspector");
  const auto* offers = bench().session.offers(name);
  IM_CHECK(offers != nullptr &&
           !offers->fused.operators.empty());  // of the group, not of what is called so in eager mode
  IM_CHECK(ctx->ItemExists("//###Inspector/###fused"));
  IM_CHECK(!ctx->ItemExists("//###Inspector/###code"));
  bench().session.wish.by_kind["group"] = "one_by_one";
  bench().commands.run("strategies.build");
  wait(ctx);
  IM_CHECK(bench().session.model->find(name)->fused.stored);
  bench().session.wish.by_kind["group"] = "compiled";
  bench().commands.run("strategies.build");
  wait(ctx);
  const auto* node = bench().session.model->find(name);
  if (node->strategy != "compiled") {
    ctx->LogWarning("there is no C compiler here");
    return;
  }
  IM_CHECK(node->fused.code.find("one kernel for") != std::string::npos);
  IM_CHECK(node->fused.code.find("does not store") != std::string::npos);
  IM_CHECK(node->fused.code.find("for (") != std::string::npos);
  ctx->ItemClose("//###Inspector/###fused");
  ctx->ScrollToItemY("//###Inspector/###fused");
  picture(ctx, "tour-24-compiled");
  ctx->ItemClick("//###Inspector/###copy_code");
  IM_CHECK_STR_EQ(clipboard().c_str(), node->fused.code.c_str());
}

}  // namespace

void add_ordinary_tests(ImGuiTestEngine* engine) {
  if (models().empty()) return;
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "ordinary", name)->TestFunc = test;
  };
  add("gpt", gpt);
  add("resnet", resnet);
  add("unet", unet);
  add("waves", waves);
}

}  // namespace wide::test
