// The graph's picture: its map, what colours say, how many the filter finds.
#include "gui/bed.h"
#include "gui/panels/graph_panel.h"

namespace wide::test {
namespace {

void the_filter_says_how_many(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  auto& panel = *bench().graph_panel;
  panel.filter = "aten.relu";
  ctx->Yield(3);
  std::size_t relus = 0;
  for (const auto& node : bench().session.model->graph)
    relus += node.op.find("aten.relu") == std::string::npos ? 0 : 1;
  IM_CHECK_GT(relus, 0U);
  IM_CHECK_EQ(gui::found_by_filter(panel, *bench().session.model), relus);
  panel.filter = "no such operation";
  IM_CHECK_EQ(gui::found_by_filter(panel, *bench().session.model), 0U);
  panel.filter.clear();
}

// Zoomed in there is a map; a click on it goes there. What is all in sight needs none.
void the_map_shows_where_one_is(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  ctx->Yield(6);
  auto& panel = *bench().graph_panel;
  IM_CHECK(!panel.mapped);
  ctx->MouseMove("//###Graph/##nodes");
  for (int i = 0; i < 8; ++i) {
    ctx->MouseWheelY(1);
    ctx->Yield();
  }
  IM_CHECK(panel.mapped);
  const auto item = ctx->ItemInfo("//###Graph/##nodes");
  const auto before = panel.origin;
  ctx->MouseMoveToPos({item.RectFull.Max.x - gui::em(), item.RectFull.Max.y - gui::em()});
  ctx->MouseClick();
  ctx->Yield(3);
  IM_CHECK(panel.origin.x < before.x);  // the last operation is in sight
  const auto selected = bench().selection.node;
  IM_CHECK(!selected.empty());
  picture(ctx, "graph-map");
  ctx->KeyPress(ImGuiKey_F);
  ctx->Yield(3);
  IM_CHECK(!panel.mapped);
}

void colours_say_times(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  pick(ctx, "//###Graph/##colour", "###time");
  ctx->Yield(3);
  auto& panel = *bench().graph_panel;
  const auto& model = *bench().session.model;
  IM_CHECK(panel.colour == gui::GraphColour::kTime);
  IM_CHECK_EQ(panel.marks.nodes.size(), model.graph.size());
  for (std::size_t i = 0; i < model.graph.size(); ++i)
    IM_CHECK_EQ(panel.marks.nodes[i].us, model.graph[i].microseconds);
  bench().commands.run("graph.heat");
  ctx->Yield(2);
  IM_CHECK(panel.colour == gui::GraphColour::kStrategy);
}

// A choice that is not built yet is compared with what AUTO chose: the operation says what is otherwise.
void colours_say_what_another_plan_does(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  IM_CHECK_STR_EQ(bench().commands.refusal("graph.compare").c_str(),
                  "only one choice of strategies was tried");
  bench().session.wish.by_kind["conv2d"] = "sequential";
  ctx->Yield(3);
  pick(ctx, "//###Graph/##colour", "$$0/###against");
  ctx->Yield(3);
  auto& panel = *bench().graph_panel;
  const auto& model = *bench().session.model;
  std::size_t convolutions = 0;
  for (std::size_t i = 0; i < model.graph.size(); ++i) {
    const bool is = model.graph[i].kind == "conv2d" && model.graph[i].choosable();
    convolutions += is ? 1 : 0;
    IM_CHECK_EQ(is, !panel.marks.nodes[i].differs.empty());
    if (is) IM_CHECK(panel.marks.nodes[i].differs.ends_with(" to sequential"));
  }
  IM_CHECK_GT(convolutions, 0U);
  IM_CHECK_EQ(panel.marks.differing, convolutions);
  picture(ctx, "graph-plans");
  bench().commands.run("edit.undo");  // and back: nothing differs, it is what is compared with
  ctx->Yield(3);
  IM_CHECK_EQ(panel.marks.differing, 0U);
}

}  // namespace

void add_graph_picture_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "graph", name)->TestFunc = test;
  };
  add("the filter says how many", the_filter_says_how_many);
  add("the map shows where one is", the_map_shows_where_one_is);
  add("colours say times", colours_say_times);
  add("colours say what another plan does", colours_say_what_another_plan_does);
}

}  // namespace wide::test
