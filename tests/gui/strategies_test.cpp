// AUTO's choice, overriding it, building, validating.
#include <imgui_internal.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "gui/panels/strategy_menu.h"
#include "gui/results_bed.h"

namespace wide::test {
namespace {

const gui::NodeView& conv() {
  const auto& graph = bench().session.model->graph;
  return *std::find_if(graph.begin(), graph.end(), [](const auto& node) { return node.kind == "conv2d"; });
}

void every_node_has_a_plan(ImGuiTestContext* ctx) {
  with_sample(ctx);
  for (const auto& node : bench().session.model->graph) {
    IM_CHECK(!node.strategy.empty());
    if (!node.choosable()) continue;
    IM_CHECK(node.microseconds >= 0);
    IM_CHECK(std::is_sorted(node.alternatives.begin(), node.alternatives.end(),
                            [](const auto& a, const auto& b) { return a.microseconds < b.microseconds; }));
    for (const auto& refusal : node.refusals) IM_CHECK(!refusal.reason.empty());
  }
}

void overriding_a_node(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  const auto name = conv().name;
  pick(ctx, beside(ctx, "//###Strategies/**/" + name + "/###node", "##strategy"), "###sequential");
  ctx->Yield(2);
  IM_CHECK(bench().session.edited());
  IM_CHECK_STR_EQ(gui::chosen(bench().session.wish, conv()).c_str(), "sequential");
  IM_CHECK(bench().session.wish.by_value.contains("%" + name));
  IM_CHECK_STR_EQ(bench().commands.refusal("strategies.validate").c_str(),
                  "build the changed strategies first");
  ctx->ItemClick("//###Strategies/###build");
  settle(ctx);
  IM_CHECK(!bench().session.edited());
  IM_CHECK_STR_EQ(bench().session.model->find(name)->strategy.c_str(), "sequential");
  // What AUTO thinks is still known.
  IM_CHECK(bench().session.offers(name)->strategy != "sequential");
}

// The row and the total follow what is chosen, as an estimate, and building takes that away.
void a_choice_shows_what_it_would_take(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  auto& session = bench().session;
  const auto node = conv();
  IM_CHECK(!session.estimated_us(node).has_value());
  IM_CHECK_EQ(session.estimated_pass_us(), session.model->pass_us);
  const auto* offers = session.offers(node.name);
  const auto& other = *std::find_if(offers->alternatives.begin(), offers->alternatives.end(),
                                    [&](const auto& one) { return one.strategy != node.strategy; });
  pick(ctx, beside(ctx, "//###Strategies/**/" + node.name + "/###node", "##strategy"),
       ("###" + other.strategy).c_str());
  ctx->Yield(2);
  const auto then = session.estimated_us(node);
  IM_CHECK(then.has_value());
  const auto more = session.model->turns * (*then - node.microseconds);
  IM_CHECK_LT(std::abs(session.estimated_pass_us() - (session.model->pass_us + more)), 1e-6);
  IM_CHECK(ctx->ItemExists("//###Strategies/###build_measure"));
  picture(ctx, "estimate");
  bench().commands.run("edit.undo");
  ctx->Yield(2);
  IM_CHECK(!session.estimated_us(node).has_value());
}

// Every choice is a row; what was built and what was measured fill it in; two are compared node by node.
void tries_are_rows(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().commands.run("file.sample");
  settle(ctx);
  show(ctx, "strategies");
  auto& session = bench().session;
  IM_CHECK_EQ(session.tries.size(), 1u);
  IM_CHECK(session.tries[0].built);
  const auto name = conv().name;
  gui::set_choice(session.wish.by_value, "%" + name, "sequential");
  ctx->Yield(2);
  IM_CHECK_EQ(session.tries.size(), 2u);
  IM_CHECK(!session.tries[1].built);
  IM_CHECK_EQ(session.tries[1].predicted_us, session.estimated_pass_us());
  ctx->ItemClick("//###Strategies/Tries");
  ctx->Yield(2);
  ctx->ItemClick("//###Strategies/###measure_try");
  settle(ctx);
  IM_CHECK(!session.edited());
  IM_CHECK_EQ(session.tries.size(), 2u);
  const auto& tried = session.tries[1];
  IM_CHECK(tried.built);
  IM_CHECK_GT(tried.run, 0);
  // On a busy machine there may be no speed-up, but then the reason why.
  IM_CHECK(tried.time.value > 0 || !tried.doubt.empty());
  IM_CHECK_EQ(panels().records->revision > 0, true);
  click_row(ctx, "//###Strategies/##tries/$$0/##row");
  ctx->KeyDown(ImGuiMod_Ctrl);
  click_row(ctx, "//###Strategies/##tries/$$1/##row");
  ctx->KeyUp(ImGuiMod_Ctrl);
  ctx->Yield(2);
  IM_CHECK(ctx->ItemExists("//###Strategies/##compared/$$0/##row"));
  click_row(ctx, "//###Strategies/##compared/$$0/##row");  // what differs stands first
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), name.c_str());
  picture(ctx, "tries");
  // Back to the first one, and that can be undone as well.
  ctx->ItemClick("//###Strategies/###take");
  ctx->Yield(2);
  IM_CHECK(session.wish.by_value.empty());
  bench().commands.run("edit.undo");
  ctx->Yield(2);
  IM_CHECK_EQ(session.wish.by_value.size(), 1u);
  IM_CHECK_EQ(session.tries.size(), 2u);
}

void why_a_slower_one_was_taken(ImGuiTestContext* ctx) {
  fresh(ctx);
  gui::NodeView node{.strategy = "im2col", .microseconds = 759};
  node.alternatives = {{"grouped", "", 756, true}, {"dense", "", 900, true}};
  IM_CHECK(gui::why_not_fastest(node).starts_with("grouped takes 756"));
  node.microseconds = 750;
  IM_CHECK(gui::why_not_fastest(node).empty());
}

void conv_to_sequential_builds_and_validates(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("resblock").string()});
  settle(ctx);
  show(ctx, "strategies");
  ctx->ItemClick("//###Strategies/Kinds");
  ctx->Yield(3);
  pick(ctx, beside(ctx, "//###Strategies/**/conv2d/###kind", "##strategy"), "###sequential");
  ctx->Yield(2);
  IM_CHECK(bench().session.wish.by_kind.contains("conv2d"));
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_B);
  settle(ctx);
  for (const auto& node : bench().session.model->graph) {
    if (node.kind == "conv2d") IM_CHECK_STR_EQ(node.strategy.c_str(), "sequential");
  }
  ctx->ItemClick("//###Strategies/###validate");
  settle(ctx);
  IM_CHECK(bench().session.proof && bench().session.proof->passed);
}

void validating_shows_every_member(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().open_files({corpus("resblock").string()});
  settle(ctx);
  show(ctx, "strategies");
  bench().commands.run("strategies.validate");
  settle(ctx);
  const auto& proof = bench().session.proof;
  IM_CHECK(proof && proof->passed);
  IM_CHECK_EQ(proof->members.size(), 4U);
  for (const auto& member : proof->members) {
    IM_CHECK(member.passed && member.max_abs <= member.tolerance && member.max_abs >= 0 &&
             !member.worst.empty());
  }
  IM_CHECK(proof->checks.size() >= 4);
  IM_CHECK(noticed("Validated resblock"));
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//###Strategies/Proof"));
}

void a_member_of_nan_is_no_plain_pass(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto diverged = scratch() / "diverged.safetensors";
  auto bytes = bytes_of(corpus("mlp") / "seed1.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(sizeof header + header), bytes.end(), '\xff');  // NaN
  std::ofstream(diverged, std::ios::binary) << bytes;
  bench().open_files({(corpus("mlp") / "model.pt2").string(), (corpus("mlp") / "seed0.safetensors").string(),
                      diverged.string()});
  settle(ctx);
  show(ctx, "strategies");
  bench().commands.run("strategies.validate");
  settle(ctx);
  const auto& proof = bench().session.proof;
  IM_CHECK(proof && proof->passed && proof->members.size() == 2);
  IM_CHECK(!proof->members[0].is_empty && proof->members[1].is_empty);
  IM_CHECK(noticed("but not whole") && noticed("of member diverged is NaN or infinite"));
  const auto text = drawn_text(ctx);
  IM_CHECK(text.find("NaN") != std::string::npos && text.find("proves little") != std::string::npos);
}

// A number that is cut looks like another one: "5.31e-0".
void errors_of_a_proof_are_shown_whole(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  bench().commands.run("strategies.validate");
  settle(ctx);
  for (const ImVec2 size : {ImVec2{900, 600}, ImVec2{1280, 800}}) {
    resize(ctx, size);
    int found = 0;
    auto& tables = ImGui::GetCurrentContext()->Tables;
    for (int i = 0; i < tables.GetMapSize(); ++i) {
      auto* table = tables.TryGetMapData(i);
      if (table == nullptr || table->LastFrameActive + 1 < ImGui::GetFrameCount()) continue;
      for (int column = 0; column < table->ColumnsCount; ++column) {
        if (std::string_view(ImGui::TableGetColumnName(table, column)) != "max error") continue;
        IM_CHECK_GE(table->Columns[column].WidthGiven, ImGui::CalcTextSize("8.88e-88").x);
        ++found;
      }
    }
    IM_CHECK_EQ(found, 2);
    if (size.x == 900) picture(ctx, "proof-small");
  }
}

void building_forgets_the_proof(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().commands.run("strategies.validate");
  settle(ctx);
  IM_CHECK(bench().session.proof.has_value());
  bench().build();
  settle(ctx);
  IM_CHECK(!bench().session.proof.has_value());
}

void resetting(ImGuiTestContext* ctx) {
  with_sample(ctx);
  IM_CHECK(!bench().commands.refusal("strategies.reset").empty());
  bench().session.wish.by_kind["conv2d"] = "sequential";
  show(ctx, "strategies");
  ctx->ItemClick("//###Strategies/###reset");
  ctx->Yield(2);
  IM_CHECK(!bench().session.edited());
}

void choosing_auto_again(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  const auto name = conv().name;
  bench().session.wish.by_value["%" + name] = "sequential";
  ctx->Yield(2);
  pick(ctx, beside(ctx, "//###Strategies/**/" + name + "/###node", "##strategy"), "###auto");
  ctx->Yield(2);
  IM_CHECK(bench().session.wish.by_value.empty());
}

void modes(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  pick(ctx, "//###Strategies/##mode", "reduce-overhead");
  ctx->Yield(2);
  IM_CHECK(bench().session.edited());
  bench().commands.run("strategies.build");
  settle(ctx);
  IM_CHECK_STR_EQ(bench().session.model->wish.mode.c_str(), "reduce-overhead");
  bench().commands.run("strategies.validate");
  settle(ctx);
  IM_CHECK(bench().session.proof && bench().session.proof->passed);
}

void command_line(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  bench().session.wish.by_kind["conv2d"] = "sequential";
  bench().session.wish.mode = "reduce-overhead";
  ctx->Yield(2);
  ctx->ItemClick("//###Strategies/###copy_line");
  IM_CHECK_STR_EQ(clipboard().c_str(),
                  "widebench test resblock -n 4 -s conv2d=sequential --mode reduce-overhead");
}

void a_refused_strategy_is_told(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().session.wish.by_kind["conv2d"] = "dense";
  bench().build();
  settle(ctx);
  IM_CHECK(noticed("did not work"));
  IM_CHECK(noticed("dense"));
  IM_CHECK(bench().session.edited());  // the model is as it was
}

// Times are taken in a child process; the build after it knows them.
void measuring(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  ctx->ItemClick("//###Strategies/###measure");
  settle(ctx);
  settle(ctx);
  IM_CHECK(!noticed("did not work"));
  IM_CHECK(conv().measured);
  IM_CHECK(!conv().alternatives.empty() && conv().alternatives.front().measured);
  IM_CHECK(conv().microseconds > 0);
}

void measuring_a_model_of_ones_own(ImGuiTestContext* ctx) {
  const auto folder = corpus("mlp");
  const auto model = (folder / "model.pt2").string(), first = (folder / "seed0.safetensors").string(),
             second = (folder / "seed1.safetensors").string();
  for (const auto& files : {std::vector{model, first, second}, std::vector{model}}) {
    fresh(ctx);
    bench().open_files(files);
    settle(ctx);
    IM_CHECK(bench().session.model != nullptr);
    bench().measure();
    settle(ctx);
    settle(ctx);
    IM_CHECK(!noticed("did not work"));
  }
}

// Every panel has the times that the build has, also where something is chosen.
void what_was_timed_since_is_told_everywhere(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  auto& session = bench().session;
  const auto name = conv().name;
  gui::set_choice(session.wish.by_value, "%" + name, "sequential");
  bench().measure();
  settle(ctx);
  settle(ctx);
  IM_CHECK(!session.edited());
  IM_CHECK(session.planned->wish != session.model->wish);
  const auto& built = *session.model->find(name);
  IM_CHECK_STR_EQ(built.strategy.c_str(), "sequential");
  const auto* offers = session.offers(name);
  if (!offers->choosable()) return;  // AUTO found the members fastest each by itself
  IM_CHECK(std::ranges::any_of(offers->alternatives, [&](const gui::AlternativeView& one) {
    return one.strategy == "sequential" && one.measured == built.measured &&
           one.microseconds == built.microseconds;
  }));
  for (const auto& node : session.model->graph) {
    if (node.choosable()) IM_CHECK_EQ(session.offers(node.name)->measured, node.measured);
  }
}

void filtering(ImGuiTestContext* ctx) {
  with_sample(ctx);
  show(ctx, "strategies");
  ctx->ItemClick("//###Strategies/Nodes");
  ctx->ItemInputValue("//###Strategies/##filter", "conv2d");
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists(("//###Strategies/**/" + conv().name + "/###node").c_str()));
  IM_CHECK(!ctx->ItemExists("//###Strategies/**/add/###node"));
}

}  // namespace

void add_strategies_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "strategies", name)->TestFunc = test;
  };
  add("tries are rows", tries_are_rows);
  add("every node has a plan", every_node_has_a_plan);
  add("a choice shows what it would take", a_choice_shows_what_it_would_take);
  add("why a slower one was taken", why_a_slower_one_was_taken);
  add("overriding a node", overriding_a_node);
  add("a member of NaN is no plain pass", a_member_of_nan_is_no_plain_pass);
  add("conv to sequential builds and validates", conv_to_sequential_builds_and_validates);
  add("validating shows every member", validating_shows_every_member);
  add("errors of a proof are shown whole", errors_of_a_proof_are_shown_whole);
  add("building forgets the proof", building_forgets_the_proof);
  add("resetting", resetting);
  add("choosing auto again", choosing_auto_again);
  add("modes", modes);
  add("command line", command_line);
  add("a refused strategy is told", a_refused_strategy_is_told);
  add("measuring", measuring);
  add("measuring a model of one's own", measuring_a_model_of_ones_own);
  add("what was timed since is told everywhere", what_was_timed_since_is_told_everywhere);
  add("filtering", filtering);
}

}  // namespace wide::test
