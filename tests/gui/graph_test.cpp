// The graph as nodes and as text; the inspector beside it.
#include <algorithm>

#include "gui/bed.h"
#include "gui/panels/graph_layout.h"

namespace wide::test {
namespace {

std::string some_node(const char* kind) {
  for (const auto& node : bench().session.model->graph) {
    if (node.kind == kind && node.choosable()) return node.name;
  }
  return {};
}

void picture(ImGuiTestContext* ctx) {
  with_sample(ctx);
  const auto& model = *bench().session.model;
  const auto all = gui::picture_of(model, {}, true);
  const auto few = gui::picture_of(model, {}, false);
  IM_CHECK_EQ(all.boxes.size(), model.graph.size() + 1);  // and one input
  IM_CHECK_EQ(few.boxes.size() + static_cast<std::size_t>(model.constant), all.boxes.size());
  for (const auto& [from, to] : all.links) IM_CHECK(all.boxes[from].layer < all.boxes[to].layer);
  for (std::size_t i = 0; i < all.boxes.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {  // no two at one place
      IM_CHECK(all.boxes[i].layer != all.boxes[k].layer ||
               std::abs(all.boxes[i].row - all.boxes[k].row) > 0.99);
    }
  }
}

void modules_fold(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("hf_bert").string()});
  settle(ctx);
  const auto& model = *bench().session.model;
  const auto modules = gui::modules_of(model);
  IM_CHECK(!modules.empty());
  const auto open = gui::picture_of(model, {}, false);
  const auto folded = gui::picture_of(model, {modules.begin(), modules.end()}, false);
  IM_CHECK(folded.boxes.size() < open.boxes.size());
  std::size_t nodes = 0, open_nodes = 0;
  for (const auto& box : folded.boxes) nodes += box.nodes.size();
  for (const auto& box : open.boxes) open_nodes += box.nodes.size();
  IM_CHECK_EQ(nodes, open_nodes);
  IM_CHECK(gui::lies_in("a.b.c", "a.b") && gui::lies_in("a", "a") && !gui::lies_in("a.bc", "a.b"));
  const auto some = gui::fold_all(model);
  IM_CHECK(!some.empty() && gui::picture_of(model, some, false).boxes.size() >= 5);
  show(ctx, "graph");
  bench().commands.run("graph.unfold");
  ctx->Yield(3);
  IM_CHECK_STR_EQ(bench().commands.refusal("graph.unfold").c_str(), "no module is folded");
  bench().commands.run("graph.fold");
  ctx->Yield(5);
  IM_CHECK_STR_EQ(bench().commands.refusal("graph.unfold").c_str(), "");
  ctx->ItemClick("//###Graph/###unfold");
  ctx->Yield(5);
  IM_CHECK_STR_EQ(bench().commands.refusal("graph.unfold").c_str(), "no module is folded");
}

void nodes_draw(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  ctx->Yield(5);
  ctx->ItemClick("//###Graph/###fit");
  ctx->Yield(5);
  IM_CHECK(ctx->ItemExists("//###Graph/Constants"));
  ctx->ItemClick("//###Graph/Constants");
  ctx->Yield(5);
  ctx->ItemClick("//###Graph/Constants");
  ctx->Yield(3);
}

void selecting_anywhere_selects_everywhere(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  const auto name = some_node("relu");
  // The row's left end: a combo lies over its middle.
  ctx->MouseMove(("//###Strategies/**/" + name + "/###node").c_str(), ImGuiTestOpFlags_MoveToEdgeL);
  ctx->MouseClick();
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), name.c_str());
  show(ctx, "graph");
  ctx->Yield(5);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), name.c_str());  // the editor does not select another one
}

void text_by_stage(ImGuiTestContext* ctx) {
  with_sample(ctx);
  const auto& stages = bench().session.model->stages;
  for (const char* wanted : {"capture", "specialize", "canonicalize", "widen"}) {
    IM_CHECK(std::any_of(stages.begin(), stages.end(),
                         [&](const auto& one) { return one.name == wanted && !one.text.empty(); }));
  }
  show(ctx, "graph");
  ctx->ItemClick("//###Graph/Text");
  ctx->Yield(3);
  pick(ctx, "//###Graph/##stage", "capture");
  ctx->Yield(3);
  ctx->ItemClick("//###Graph/###copy_line");
  IM_CHECK_STR_EQ(clipboard().c_str(), "widebench trace resblock -n 4 --after capture");
  ctx->ItemClick("//###Graph/Nodes");
}

void text_filters(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  bench().commands.run("graph.text");
  ctx->Yield(2);
  ctx->ItemInputValue("//###Graph/##filter", "aten.relu");
  ctx->Yield(2);
  const auto name = some_node("relu");
  bench().selection.choose_node("");
  ctx->ItemClick("//###Graph/**/###line");
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), name.c_str());
  bench().commands.run("graph.text");
}

void the_graph_is_exported(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  const auto file = scratch() / "graph.png";
  ctx->ItemClick("//###Graph/###export");
  ctx->Yield(2);
  ctx->SetRef("//$FOCUSED");
  ctx->ItemInputValue("##path", file.c_str());
  settle(ctx);
  ctx->Yield(6);
  IM_CHECK(std::filesystem::exists(file));
  IM_CHECK_GT(std::filesystem::file_size(file), 1000u);
}

void inspector_shows_the_node(ImGuiTestContext* ctx) {
  with_sample(ctx);
  const auto name = some_node("conv2d");
  IM_CHECK(!name.empty());
  bench().selection.choose_node(name);
  show(ctx, "inspector");
  const auto* node = bench().session.model->find(name);
  IM_CHECK(node && node->primitive == "conv" && !node->alternatives.empty() && !node->refusals.empty());
  IM_CHECK(node->text.find("aten.conv2d") != std::string::npos);
  IM_CHECK(!node->operands.empty() && !node->operands[0].layout.empty());
  ctx->ItemClick("//###Inspector/###copy");
  IM_CHECK_STR_EQ(clipboard().c_str(), node->text.c_str());
  ctx->ItemClick("//###Inspector/###strategies");
  ctx->Yield(3);
  IM_CHECK(!ctx->GetWindowByRef("//###Strategies")->Hidden);
}

void inspector_without_a_model(ImGuiTestContext* ctx) {
  fresh(ctx);
  show(ctx, "inspector");
  ctx->ItemClick("//###Inspector/###sample");
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK(!bench().selection.node.empty());
}

void a_dynamic_model(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("minigpt_dynamic").string()});
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  show(ctx, "graph");
  ctx->Yield(5);
  IM_CHECK(bench().session.model->graph.size() > 10);
}

}  // namespace

void add_graph_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "graph", name)->TestFunc = test;
  };
  add("picture", picture);
  add("modules fold", modules_fold);
  add("nodes draw", nodes_draw);
  add("selecting anywhere selects everywhere", selecting_anywhere_selects_everywhere);
  add("text by stage", text_by_stage);
  add("text filters", text_filters);
  add("the graph is exported", the_graph_is_exported);
  add("inspector shows the node", inspector_shows_the_node);
  add("inspector without a model", inspector_without_a_model);
  add("a dynamic model", a_dynamic_model);
}

}  // namespace wide::test
