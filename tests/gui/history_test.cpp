// History: runs, tags, notes, comparisons with verdicts, trends, exports.
#include "app/stored_captures.h"
#include "gui/results_bed.h"
#include "profiler/trace/sample_traces.h"
#include "results/sample_records.h"

namespace wide::test {
namespace {

results::Store store() {
  return results::Store::open(database(), results::OpenMode::kReadOnly);
}

void empty_says_what_to_do(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "history");
  settle(ctx);
  IM_CHECK(ctx->ItemExists("//###History/Measure the small sweep"));
  IM_CHECK(!std::filesystem::exists(database()));
}

void runs_are_listed_and_filtered(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  const auto& data = *panels().history->data;
  IM_CHECK_EQ(data.runs.size(), 3u);
  IM_CHECK_EQ(data.runs[0].id, runs[2]);
  ctx->ItemInputValue("//###History/##run_filter", "label:second");
  ctx->Yield(2);
  IM_CHECK_EQ(panels().history->data->table.shown().size(), 1u);
}

void a_run_is_noted_and_tagged(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  IM_CHECK_EQ(panels().history->run->run.id, runs[0]);
  ctx->ItemInputValue("//###History/##tabs/Run/##tag", "nightly");
  settle(ctx);
  ctx->ItemInputValue("//###History/##tabs/Run/##note", "the new allocator");
  settle(ctx);
  const auto run = store().run(runs[0]);
  IM_CHECK_EQ(run.tags.size(), 1u);
  IM_CHECK_STR_EQ(run.notes.at(0).text.c_str(), "the new allocator");
  IM_CHECK_EQ(panels().history->run->run.tags.size(), 1u);
  // What was typed is kept by going elsewhere, too.
  ctx->ItemInput("//###History/##tabs/Run/##tag");
  ctx->KeyCharsAppend("weekly");
  ctx->ItemClick("//###History/##tabs/Run/##note");
  settle(ctx);
  IM_CHECK_EQ(store().run(runs[0]).tags.size(), 2u);
}

void a_comparison_has_verdicts(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().selection.runs = {runs[0], runs[1]};
  ctx->Yield(2);
  ctx->ItemClick("//###History/###compare");
  settle(ctx);
  IM_CHECK_EQ(panels().history->comparisons.size(), 1u);
  const auto& table = panels().history->comparisons[0].table;
  IM_CHECK_EQ(table.rows(), 12u);
  for (std::size_t row = 0; row < table.rows(); ++row)
    IM_CHECK(!table.text(row, table.column("change")).empty());
  IM_CHECK_GT(table.number(0, table.column("ratio")), 1.4);  // the second run's first case is slower
  ctx->ItemClick("//###History/##tabs/Compare/###copy_compare");
  ctx->Yield(2);
  IM_CHECK(clipboard().starts_with("widebench runs compare " + std::to_string(runs[0]) + " " +
                                   std::to_string(runs[1])));
}

void a_comparison_is_a_forest_plot(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().selection.runs = {runs[0], runs[1]};
  IM_CHECK_STR_EQ(bench().commands.refusal("history.forest_svg").c_str(), "nothing is compared yet");
  bench().commands.run("history.compare");
  settle(ctx);
  pick(ctx, "//###History/##tabs/Compare/##as", "as a forest plot");
  IM_CHECK(panels().history->forest);
  // A row is the case itself: a click selects it everywhere.
  click_row(ctx, "//###History/##tabs/Compare/##forest/$$0/##row");
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.case_key.c_str(),
                  panels().history->comparisons[0].comparison.cases[0].key.c_str());
  picture(ctx, "forest");
  for (const char* format : {"svg", "png", "csv"}) {
    const auto file = scratch() / (std::string("forest.") + format);
    bench().commands.run(std::string("history.forest_") + format, file.string());
    settle(ctx);
    ctx->Yield(6);
    IM_CHECK_GT(bytes_of(file).size(), 500u);
  }
  IM_CHECK(bytes_of(scratch() / "forest.svg").find(">slower<") != std::string::npos);
  IM_CHECK(bytes_of(scratch() / "forest.png").starts_with("\x89PNG"));
}

void runs_are_laid_over_one_another(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  bench().selection.runs = {runs[0], runs[1]};
  ctx->ItemClick("//###History/##tabs/Over N");
  settle(ctx);
  auto& plot = panels().history->over_n;
  IM_CHECK_EQ(panels().history->laid_over.size(), 2u);
  IM_CHECK(!plot.series.empty());
  IM_CHECK(plot.series[0].title.find("run " + std::to_string(runs[0])) != std::string::npos);
  IM_CHECK(plot.series[1].title.find("run " + std::to_string(runs[1])) != std::string::npos);
  pick(ctx, "//###History/##tabs/Over N/##laid_over_subject", "case0");
  IM_CHECK_EQ(plot.series.size(), 2u);
  for (const auto what : {gui::OverN::kTime, gui::OverN::kThroughput, gui::OverN::kWeights,
                          gui::OverN::kActivations, gui::OverN::kMemory, gui::OverN::kOverBestRival}) {
    pick(ctx, "//###History/##tabs/Over N/##over_n", gui::name(what));
    IM_CHECK(plot.what == what);
  }
  // Another choice is read without a further click.
  bench().selection.runs = {runs[2]};
  settle(ctx);
  IM_CHECK_EQ(panels().history->laid_over.size(), 1u);
  bench().commands.run("history.over_n_copy_csv");
  IM_CHECK(clipboard().starts_with("curve,n,over_best_rival"));
  picture(ctx, "laid-over");
}

// Captures that `widebench profile --keep` left.
void captures_of_a_run_are_opened(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  IM_CHECK(!ctx->ItemExists("//###History/##tabs/Run/###open_captures"));
  IM_CHECK_STR_EQ(bench().commands.refusal("history.open_captures").c_str(), "the run has no captures");
  std::int64_t kept = 0;
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    std::vector<profiler::Trace> traces;
    traces.push_back(test::wide_trace());
    traces.push_back(test::eager_trace());
    kept = app::keep_captures(store, results::test::sample_run(), {.subject = "tiny", .kind = "zoo", .n = 2},
                              traces);
  }
  bench().commands.run("history.refresh");
  settle(ctx);
  bench().commands.run("history.look", std::to_string(kept));
  settle(ctx);
  ctx->ItemClick("//###History/##tabs/Run/###open_captures");
  settle(ctx);
  const auto& data = panels().profile->data;
  IM_CHECK(data != nullptr);
  IM_CHECK_EQ(data->traces.size(), 2u);
  IM_CHECK_EQ(data->comparisons.size(), 1u);
  IM_CHECK_STR_EQ(data->traces[data->wide].subject.c_str(), "tiny");
  bench().commands.run("profile.open_run", std::to_string(runs[0]));
  settle(ctx);
  IM_CHECK(noticed("has no captures"));
}

void one_run_is_not_compared(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().selection.runs = {runs[0]};
  IM_CHECK(bench().commands.refusal("history.compare").find("choose two runs") == 0);
}

void deleting_asks_first(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().selection.runs = {runs[1]};
  bench().commands.run("history.delete");
  ctx->Yield(3);
  IM_CHECK_EQ(store().runs().size(), 3u);
  ctx->SetRef("//$FOCUSED");
  ctx->ItemClick("Delete");
  settle(ctx);
  IM_CHECK_EQ(store().runs().size(), 2u);
  IM_CHECK(bench().selection.runs.empty());
}

void what_was_deleted_is_not_shown_as_sweep(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  show(ctx, "sweep");
  settle(ctx);
  IM_CHECK_EQ(panels().sweep->run->run.id, runs[2]);
  bench().selection.runs = {runs[2]};
  bench().commands.run("history.delete", "yes");
  settle(ctx);
  IM_CHECK_EQ(panels().sweep->run->run.id, runs[1]);
}

void what_is_pinned_is_not_deleted(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  ctx->ItemClick("//###History/##tabs/Run/###pin");
  settle(ctx);
  bench().selection.runs = {runs[0]};
  bench().commands.run("history.delete", "yes");
  settle(ctx);
  IM_CHECK(noticed("Deleting runs did not work"));
  IM_CHECK_EQ(store().runs().size(), 3u);
}

void a_run_is_exported_and_imported(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  for (const char* format : {"json", "csv", "html", "svg"}) {
    const auto file = scratch() / (std::string("run.") + format);
    bench().commands.run(std::string("history.export_") + format, file.string());
    settle(ctx);
    IM_CHECK_GT(bytes_of(file).size(), 500u);
  }
  const auto report = scratch() / "run.json";
  with_no_results(ctx);
  std::filesystem::create_directories(database().parent_path());
  show(ctx, "history");
  bench().commands.run("history.import", report.string());
  settle(ctx);
  IM_CHECK_EQ(panels().history->data->runs.size(), 1u);
  IM_CHECK_STR_EQ(panels().history->data->runs[0].origin.c_str(), "imported");
}

void a_subject_is_followed(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[2]));
  settle(ctx);
  bench().commands.run("history.follow", "case0");
  settle(ctx);
  IM_CHECK_EQ(panels().history->trend.series.size(), 1u);
  IM_CHECK_EQ(panels().history->trend.series[0].points.size(), 3u);
  const auto file = scratch() / "trend.svg";
  bench().commands.run("history.trend_svg", file.string());
  settle(ctx);
  IM_CHECK(bytes_of(file).find("<svg") != std::string::npos);
}

void a_baseline_of_several_runs_is_not_replaced_unasked(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  const auto baseline = [] {
    const auto store = results::Store::open(database(), results::OpenMode::kReadOnly);
    return store.baselines().at(0).runs;
  };
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    store.set_baseline("main", {runs[0], runs[1]});
  }
  bench().commands.run("history.refresh");
  settle(ctx);
  bench().commands.run("history.look", std::to_string(runs[2]));
  settle(ctx);
  bench().commands.run("history.baseline");
  ctx->Yield(4);
  IM_CHECK_EQ(baseline().size(), 2u);
  ctx->ItemClick("//###replace/###leave_it");
  settle(ctx);
  IM_CHECK_EQ(baseline().size(), 2u);
  bench().commands.run("history.baseline");
  ctx->Yield(4);
  ctx->ItemClick("//###replace/###add_it");
  settle(ctx);
  IM_CHECK_EQ(baseline().size(), 3u);
  bench().commands.run("history.baseline");
  ctx->Yield(4);
  ctx->ItemClick("//###replace/###replace_it");
  settle(ctx);
  IM_CHECK_EQ(baseline().size(), 1u);
}

void a_baseline_can_be_undone(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  const auto baselines = [] {
    return results::Store::open(database(), results::OpenMode::kReadOnly).baselines();
  };
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    store.set_baseline("main", {runs[0], runs[1]});
  }
  bench().commands.run("history.refresh");
  settle(ctx);
  for (const auto left : {1U, 0U}) {
    bench().commands.run("history.look", std::to_string(runs[1 - left]));
    settle(ctx);
    ctx->ItemClick("//###History/##tabs/Run/###history.leave_baselinemain");
    settle(ctx);
    IM_CHECK_EQ(baselines().size(), left);
    if (left == 1) IM_CHECK_EQ(baselines()[0].runs.at(0), runs[1]);
  }
}

// Another process stores a run: it comes into the list by itself, and what was chosen stays so.
void runs_of_others_come_by_themselves(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().selection.toggle_run(runs.front());
  ctx->Yield(2);
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    store.add_tag(runs.front(), "elsewhere");
  }
  for (int i = 0; i < 300; ++i) ctx->Yield();
  settle(ctx);
  const auto& data = *panels().history->data;
  IM_CHECK_EQ(data.runs[data.row_of(runs.front())].tags.size(), 1u);
  IM_CHECK_EQ(bench().selection.runs.size(), 1u);
}

}  // namespace

void add_history_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, void (*run)(ImGuiTestContext*)) {
    IM_REGISTER_TEST(engine, "history", name)->TestFunc = run;
  };
  add("what was deleted is not shown as sweep", what_was_deleted_is_not_shown_as_sweep);
  add("runs of others come by themselves", runs_of_others_come_by_themselves);
  add("a baseline of several runs is not replaced unasked",
      a_baseline_of_several_runs_is_not_replaced_unasked);
  add("a baseline can be undone", a_baseline_can_be_undone);
  add("empty_says_what_to_do", empty_says_what_to_do);
  add("runs_are_listed_and_filtered", runs_are_listed_and_filtered);
  add("a_run_is_noted_and_tagged", a_run_is_noted_and_tagged);
  add("a_comparison_has_verdicts", a_comparison_has_verdicts);
  add("a_comparison_is_a_forest_plot", a_comparison_is_a_forest_plot);
  add("runs_are_laid_over_one_another", runs_are_laid_over_one_another);
  add("captures_of_a_run_are_opened", captures_of_a_run_are_opened);
  add("one_run_is_not_compared", one_run_is_not_compared);
  add("deleting_asks_first", deleting_asks_first);
  add("what_is_pinned_is_not_deleted", what_is_pinned_is_not_deleted);
  add("a_run_is_exported_and_imported", a_run_is_exported_and_imported);
  add("a_subject_is_followed", a_subject_is_followed);
}

}  // namespace wide::test
