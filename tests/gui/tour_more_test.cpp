// Ways beside the tour: files that are dropped, a larger graph, what may be set.
#include "gui/results_bed.h"
#include "gui/tour_home.h"

namespace wide::test {
namespace {

// A larger model: its modules are opened level by level, and its lines are wrapped.
void graph_by_levels(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("hf_bert").string()});
  settle(ctx);
  click_tab(ctx, "Graph");
  while (bench().commands.refusal("graph.deeper").empty()) {
    bench().commands.run("graph.deeper");
    ctx->Yield(6);
  }
  bench().commands.run("graph.fit");
  ctx->Yield(8);
  IM_CHECK(bench().session.model->graph.size() > 40);
  picture(ctx, "tour-13-levels");
}

void dropped_files(ImGuiTestContext* ctx) {
  const Home home;
  with_no_results(ctx);
  drop(home.files());
  settle(ctx);
  check_model();
  bench().commands.run("file.close");
  settle(ctx);
  drop({home.model().string()});
  settle(ctx);
  check_model();
}

void dialog_enters_folders_without_models(ImGuiTestContext* ctx) {
  const Home home;
  with_no_results(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
  ctx->Yield(5);
  ctx->KeyChars("models");
  ctx->KeyPress(ImGuiKey_Enter);
  ctx->Yield(3);
  IM_CHECK(bench().files.is_open());
  ctx->ItemDoubleClick("//###files/**/resblock/###entry");
  ctx->Yield(3);
  ctx->ItemDoubleClick("//###files/**/model.pt2/###entry");  // opens the one file
  settle(ctx);
  IM_CHECK(!bench().files.is_open());
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_EQ(bench().session.model->source.models.size(), 1U);
  IM_CHECK(bench().session.model->source.weights.empty());
}

void settings(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Comma);
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//Settings###settings/##settings/###reopen"));
  picture(ctx, "tour-23-settings");
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(2);
}

}  // namespace

void add_tour_more_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "tour", name)->TestFunc = test;
  };
  add("graph by levels", graph_by_levels);
  add("dropped files", dropped_files);
  add("dialog enters folders without models", dialog_enters_folders_without_models);
  add("settings", settings);
}

}  // namespace wide::test
