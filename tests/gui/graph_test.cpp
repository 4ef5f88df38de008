// The graph as nodes and as text; the inspector beside it.
#include <algorithm>

#include <cmath>

#include "gui/bed.h"
#include "gui/panels/graph_panel.h"

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

void modules_open_one_level_at_a_time(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("hf_bert").string()});
  settle(ctx);
  const auto& model = *bench().session.model;
  const int levels = gui::module_levels(model);
  IM_CHECK_GT(levels, 2);
  IM_CHECK(gui::fold_to(model, levels).empty());
  auto folded = gui::fold_to(model, 0);
  IM_CHECK(!folded.empty());
  const auto outermost = *folded.begin();
  gui::unfold_once(model, folded, outermost);
  IM_CHECK(folded.count(outermost) == 0);
  IM_CHECK(!folded.empty());  // what lies right in it is a box now, and not all of its operations
  for (const auto& path : folded) {
    for (const auto& other : folded) IM_CHECK(path == other || !gui::lies_in(path, other));
  }
  const auto inner = *folded.begin();
  for (const auto& node : model.graph) {
    if (!gui::lies_in(node.module, inner)) continue;
    gui::unfold_once(model, folded, inner);
    IM_CHECK(gui::fold_around(model, folded, node.module));
    break;
  }
  show(ctx, "graph");
  auto& panel = *bench().graph_panel;
  std::size_t before = 0;
  for (bench().commands.run("graph.fold"); bench().commands.refusal("graph.shallower").empty();)
    bench().commands.run("graph.shallower");
  ctx->Yield(8);
  for (int level = 0; bench().commands.refusal("graph.deeper").empty(); ++level) {
    before = panel.picture.boxes.size();
    ctx->ItemClick("//###Graph/###deeper");
    ctx->Yield(8);
    IM_CHECK_GE(panel.picture.boxes.size(), before);
    IM_CHECK_LT(level, 20);
  }
  IM_CHECK(panel.folded.empty());
  test::picture(ctx, "graph-open");
}

// Sixty-four operations in a row are read as a text is, and are large enough for that.
void long_graphs_are_wrapped(ImGuiTestContext* ctx) {
  fresh(ctx);
  gui::GraphPicture line;
  for (int i = 0; i < 64; ++i) line.boxes.push_back({.key = "%" + std::to_string(i), .layer = i});
  gui::wrap(line, 6, 8);
  double wide = 0, high = 0;
  for (std::size_t i = 0; i < line.boxes.size(); ++i) {
    wide = std::max(wide, line.boxes[i].x + 1), high = std::max(high, line.boxes[i].y + 1);
    for (std::size_t k = 0; k < i; ++k) {
      IM_CHECK(std::abs(line.boxes[i].x - line.boxes[k].x) > 0.99 ||
               std::abs(line.boxes[i].y - line.boxes[k].y) > 0.99);
    }
  }
  IM_CHECK_GT(std::min(6 / wide, 8 / high), 0.4);  // in one line they were a tenth of their size
  line.boxes.resize(4);
  gui::wrap(line, 6, 8);
  IM_CHECK_EQ(line.boxes[3].y, line.boxes[0].y);  // what fits stays in one line
}

// A line is as high as what stands in it, wherever the rows have drifted to by then.
void lines_of_a_graph_lie_close(ImGuiTestContext* ctx) {
  fresh(ctx);
  gui::GraphPicture drifting;
  for (int i = 0; i < 64; ++i)
    drifting.boxes.push_back({.key = "%" + std::to_string(i), .layer = i, .row = 0.5 * i});
  gui::wrap(drifting, 6, 8);
  IM_CHECK_EQ(drifting.boxes.front().y, 0);
  for (std::size_t i = 1; i < drifting.boxes.size(); ++i) {
    const auto &before = drifting.boxes[i - 1], &box = drifting.boxes[i];
    if (box.x == 0) IM_CHECK_LT(box.y - before.y, 2);  // a new line
  }
}

// A list of modules that is left and entered again would be one box that is linked with all others.
void a_module_entered_again_is_opened(ImGuiTestContext* ctx) {
  fresh(ctx);
  gui::ModelView model;
  for (int i = 0; i < 40; ++i) {
    const auto block = "blocks." + std::to_string(i);
    for (const auto& module : {block, block, std::string()})
      model.graph.push_back({.name = "n" + std::to_string(model.graph.size()), .module = module});
  }
  model.graph.push_back({.name = "a", .module = "head"});
  model.graph.push_back({.name = "b", .module = "head"});
  const auto folded = gui::fold_all(model);
  IM_CHECK(!folded.contains("blocks"));
  IM_CHECK(folded.contains("blocks.0") && folded.contains("blocks.39") && folded.contains("head"));
}

ImVec2 middle_of(const gui::GraphPanel& panel, const std::string& node) {
  const auto& model = *bench().session.model;
  for (const auto& box : panel.picture.boxes) {
    if (box.nodes.empty() || model.graph[box.nodes.front()].name != node) continue;
    const float size = gui::em() * panel.zoom;
    return {panel.origin.x + (static_cast<float>(box.x) * 11.7F + 4) * size,
            panel.origin.y + (static_cast<float>(box.y) * 5 + 2) * size};
  }
  return {};
}

void the_left_button_selects_and_moves(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  ctx->Yield(10);
  auto& panel = *bench().graph_panel;
  const auto name = some_node("relu");
  bench().selection.choose_node("");
  ctx->MouseMoveToPos(middle_of(panel, name));
  ctx->Yield(3);
  ctx->MouseClick();
  ctx->Yield(3);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), name.c_str());
  const auto before = panel.origin;
  const auto from = middle_of(panel, name);
  ctx->MouseMoveToPos(from);
  ctx->MouseDown();
  ctx->MouseMoveToPos({from.x + 60, from.y + 40});
  ctx->MouseUp();
  ctx->Yield(3);
  IM_CHECK_LT(std::abs(panel.origin.x - before.x - 60), 8);
  IM_CHECK_LT(std::abs(panel.origin.y - before.y - 40), 8);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), name.c_str());
}

void another_size_shows_all_again(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  ctx->Yield(10);
  auto& panel = *bench().graph_panel;
  const float before = panel.zoom;
  auto* window = ctx->GetWindowByRef("//###Graph");
  IM_CHECK(window != nullptr);
  bench().commands.run("view.larger");
  bench().commands.run("view.larger");
  ctx->Yield(12);
  bench().commands.run("view.normal");
  ctx->Yield(12);
  for (const auto& box : panel.picture.boxes) {
    const float size = gui::em() * panel.zoom;
    IM_CHECK_LT(panel.origin.x + (static_cast<float>(box.x) * 11.7F + 9.8F) * size,
                window->Pos.x + window->Size.x + 2);
  }
  IM_CHECK_LT(std::abs(panel.zoom - before), 0.05F * before);
}

void the_filter_jumps_from_find_to_find(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "graph");
  ctx->ItemInputValue("//###Graph/##filter", "conv2d");
  ctx->Yield(3);
  const auto kind = [](const std::string& node) {
    const auto* found = bench().session.model->find(node);
    return found ? found->kind : std::string();
  };
  const auto first = bench().selection.node;
  IM_CHECK_STR_EQ(kind(first).c_str(), "conv2d");
  bench().commands.run("graph.next");
  IM_CHECK(bench().selection.node != first);
  IM_CHECK_STR_EQ(kind(bench().selection.node).c_str(), "conv2d");
  ctx->Yield(3);
  test::picture(ctx, "tour-33-find");
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
  IM_CHECK(node->text.find("wide.conv2d_activation") != std::string::npos);
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
  add("modules open one level at a time", modules_open_one_level_at_a_time);
  add("long graphs are wrapped", long_graphs_are_wrapped);
  add("lines of a graph lie close", lines_of_a_graph_lie_close);
  add("a module entered again is opened", a_module_entered_again_is_opened);
  add("the left button selects and moves", the_left_button_selects_and_moves);
  add("another size shows all again", another_size_shows_all_again);
  add("the filter jumps from find to find", the_filter_jumps_from_find_to_find);
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
