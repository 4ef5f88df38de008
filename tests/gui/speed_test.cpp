// Frames: how long they take where there is much to show, and how many there are while something is timed.
#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "gui/pace.h"
#include "gui/panels/graph_panel.h"
#include "gui/results_bed.h"
#include "machine_speed.h"
#include "profiler/trace/sample_traces.h"

namespace wide::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFrame = 1.0 / 60;    // by the clock on the wall, until software rendering has drawn all
constexpr double kOwn = 0.5 * kFrame;  // processor time of the window's thread, whatever else runs
constexpr double kHitch = 0.05;        // what may be felt once, also by the clock on the wall

double seconds_since(Clock::time_point when) {
  return std::chrono::duration<double>(Clock::now() - when).count();
}

struct Times {
  double median = 0, worst = 0, worst_processor = 0, median_processor = 0;
};

// Software rendering takes all cores: they are what a limit is for.
Allowance every_core() {
  return Allowance(std::max(1U, std::thread::hardware_concurrency()));
}

Times times_of(ImGuiTestContext* ctx, const char* what, const std::vector<Frame>& frames) {
  std::vector<double> wall, processor;
  for (const auto& frame : frames) {
    wall.push_back(frame.seconds);
    processor.push_back(frame.processor_seconds);
  }
  IM_CHECK_RETV(!wall.empty(), Times{});
  std::sort(wall.begin(), wall.end());
  std::sort(processor.begin(), processor.end());
  const Times times{wall[wall.size() / 2], wall.back(), processor.back(), processor[processor.size() / 2]};
  ctx->LogWarning("%s: %d frames, median %.1f ms (processor %.1f), slowest %.1f ms (processor %.1f)", what,
                  static_cast<int>(wall.size()), 1e3 * times.median, 1e3 * times.median_processor,
                  1e3 * times.worst, 1e3 * times.worst_processor);
  return times;
}

void a_hundred_thousand_rows(ImGuiTestContext* ctx) {
  const Allowance allowance = every_core();
  with_no_results(ctx);
  show(ctx, "sweep");
  gui::RunData data{.table = gui::sweep_table()};
  for (int i = 0; i < 100'000; ++i) {
    data.cases.push_back(passed_case(1 + i % 50, 0.5 + 0.001 * (i * 37 % 9000)));
    data.cases.back().subject = "subject " + std::to_string(i / 50 * 7919 % 2000);
    data.cases.back().strategy = "no other row has strategy " + std::to_string(i * 7919 % 100'000);
  }
  gui::add_cases(data.table, data.cases);
  gui::show_run(*panels().sweep, std::make_shared<gui::RunData>(std::move(data)));
  ctx->Yield(5);
  note_frames();
  for (const char* heading : {"N", "subject", "strategy"}) {
    for (int i = 0; i < 2; ++i) {
      ctx->ItemClick((std::string("//###Sweep/**/") + heading).c_str());
      ctx->Yield(3);
    }
  }
  const auto times = times_of(ctx, "sorting 100,000 rows", noted_frames());
  const auto& table = panels().sweep->run->table;
  IM_CHECK_LT(table.sorted_by(), table.columns().size());
  const double slower = allowance.now();
  IM_CHECK_LT(times.worst_processor, kHitch * slower);
  IM_CHECK_LT(times.worst, kHitch * slower);
  IM_CHECK_LT(times.median, kFrame * slower);
}

// What a frame takes that shows little, to hold the others against.
void a_frame_at_rest(ImGuiTestContext* ctx) {
  const Allowance allowance = every_core();
  with_sample(ctx);
  ctx->Yield(10);
  note_frames();
  ctx->Yield(30);
  const auto shown = times_of(ctx, "the sample at rest", noted_frames());
  for (auto& panel : bench().panels) panel.open = false;
  ctx->Yield(5);
  note_frames();
  ctx->Yield(30);
  const auto empty = times_of(ctx, "an empty window", noted_frames());
  const double slower = allowance.now();
  for (const auto& times : {shown, empty}) {
    IM_CHECK_LT(times.median_processor, kOwn * slower);
    IM_CHECK_LT(times.median, kFrame * slower);
  }
}

// `count` slices of eight threads, nodes and calls in them, each as long as chance will have it, from a
// microsecond to a millisecond, with pauses between: whatever the zoom, some are wide, some narrow, and few
// of one colour lie side by side.
profiler::Trace varied_trace(std::size_t count) {
  using profiler::Kind;
  constexpr std::uint32_t kThreads = 8;
  constexpr std::array kKinds = {Kind::kOperator, Kind::kConversion, Kind::kRuntime, Kind::kSync};
  profiler::Trace trace;
  trace.subject = "varied", trace.contender = "wide", trace.members = 2, trace.passes = 1;
  trace.nodes = {{"%0 aten.linear.default", "aten.linear.default", "batched_gemm", false, 2000, 64, 32}};
  trace.slices.reserve(count);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> draw(0, 1);
  profiler::Slice slice;
  slice.node = 0, slice.member = 0, slice.members = 2, slice.pass = 0;
  const auto push = [&](const char* name, Kind kind, std::int64_t start, std::int64_t duration) {
    slice.name = trace.names.intern(name), slice.kind = kind, slice.start = start, slice.duration = duration;
    trace.slices.push(slice);
  };
  const auto length = [&] { return static_cast<std::int64_t>(1e3 * std::pow(1e3, draw(random))); };
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    slice.track = trace.track({"wide", "thread " + std::to_string(thread), 1, 11 + thread, -1});
    std::int64_t at = 0;
    for (std::size_t i = 0; i < count / kThreads / 4; ++i) {
      const auto whole = length();
      push("linear", Kind::kNode, at, whole);
      push("aten::linear", kKinds[random() % kKinds.size()], at + whole / 10, whole * 8 / 10);
      push("aten::addmm", kKinds[random() % kKinds.size()], at + whole / 5, whole / 5);
      push("aten::copy_", kKinds[random() % kKinds.size()], at + whole / 2, whole / 5);
      at += whole + length() / 2;
    }
  }
  return trace;
}

void pan_and_zoom(ImGuiTestContext* ctx, profiler::Trace trace) {
  const Allowance allowance = every_core();
  with_no_results(ctx);
  std::vector<profiler::Trace> traces;
  traces.push_back(std::move(trace));
  auto data = std::make_shared<gui::ProfileData>(
      gui::make_profile(std::move(traces), "", [](double, const char*) {}));
  IM_CHECK_EQ(data->timeline.slices, 1'000'000u);
  gui::show_profile(*panels().profile, std::move(data));
  show(ctx, "profile");
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(6);
  note_frames();
  ctx->Yield(20);
  const auto at_rest = times_of(ctx, "1,000,000 events at rest", noted_frames());
  ctx->LogWarning("%d rectangles", static_cast<int>(panels().profile->timeline.drawn));
  constexpr const char* kLanes = "//###Profile/##tabs/Timeline/##lanes";
  auto& view = panels().profile->timeline.view;
  ctx->MouseMove(kLanes);
  note_frames();
  for (int i = 0; i < 60; ++i) {
    ctx->MouseWheelY(i < 30 ? 1.0F : -1.0F);
    ctx->Yield();
  }
  const auto zoomed = times_of(ctx, "zooming 1,000,000 events", noted_frames());
  for (int i = 0; i < 8; ++i) ctx->MouseWheelY(1);
  ctx->Yield(2);
  const double before = view.from();
  ctx->MouseDown();
  note_frames();
  for (int i = 0; i < 40; ++i) {
    const auto at = ImGui::GetMousePos();
    ctx->MouseMoveToPos({at.x + (i < 20 ? 4.0F : -8.0F), at.y});
  }
  const auto panned = times_of(ctx, "panning 1,000,000 events", noted_frames());
  ctx->MouseUp();
  IM_CHECK_NE(view.from(), before);
  const double slower = allowance.now();
  for (const auto& times : {at_rest, zoomed, panned}) {
    IM_CHECK_LT(times.median_processor, kOwn * slower);
    IM_CHECK_LT(times.median, kFrame * slower);
  }
}

void a_million_events(ImGuiTestContext* ctx) {
  pan_and_zoom(ctx, large_trace(1'000'000));
}

void a_million_events_of_any_length(ImGuiTestContext* ctx) {
  pan_and_zoom(ctx, varied_trace(1'000'000));
}

// A thousand operations in forty modules, each after the one before and every tenth with a way around.
std::shared_ptr<gui::ModelView> model_of_a_thousand() {
  auto model = std::make_shared<gui::ModelView>(*bench().session.model);
  model->source = {.subject = "a thousand"};
  model->graph.clear(), model->pass_us = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    gui::NodeView node;
    node.name = "operation_" + std::to_string(i), node.kind = i % 3 == 0 ? "conv2d" : "relu";
    node.op = "aten." + node.kind + ".default", node.primitive = node.kind, node.layout = "packed";
    node.module = "layer" + std::to_string(i / 25) + ".block" + std::to_string(i / 5 % 5);
    node.strategy = i % 7 == 0 ? "sequential" : "grouped";
    model->pass_us += node.microseconds = static_cast<double>(i * 37 % 101);
    for (const std::size_t back : {1, 10})
      if (i >= back && i % back == 0) node.reads.push_back(i - back);
    model->graph.push_back(std::move(node));
  }
  return model;
}

void a_graph_of_a_thousand(ImGuiTestContext* ctx) {
  const Allowance allowance = every_core();
  with_sample(ctx);
  bench().session.model = model_of_a_thousand();
  ++bench().session.revision;
  show(ctx, "graph");
  bench().commands.run("graph.unfold");
  ctx->Yield(6);
  auto& panel = *bench().graph_panel;
  IM_CHECK_EQ(panel.picture.boxes.size(), 1000U);
  std::vector<Times> all;
  ctx->MouseMove("//###Graph/##nodes");
  const auto drag = [&, before = panel.origin](const char* what) {
    ctx->MouseDown();
    note_frames();
    for (int i = 0; i < 40; ++i) {
      const auto at = ImGui::GetMousePos();
      ctx->MouseMoveToPos({at.x + (i < 20 ? 5.0F : -3.0F), at.y + (i % 2 == 0 ? 2.0F : -2.0F)});
    }
    all.push_back(times_of(ctx, what, noted_frames()));
    ctx->MouseUp();
    IM_CHECK(panel.origin.x != before.x);
  };
  for (const auto colour : {gui::GraphColour::kStrategy, gui::GraphColour::kTime}) {
    panel.colour = colour;
    bench().commands.run("graph.fit");
    ctx->Yield(4);
    drag("panning a graph of a thousand, all in sight");
    for (int i = 0; i < 9; ++i) ctx->MouseWheelY(1);
    ctx->Yield(2);
    IM_CHECK(panel.mapped);
    drag("panning a graph of a thousand, letters in sight");
  }
  bench().commands.run("graph.fit");
  note_frames();
  for (int i = 0; i < 40; ++i) {
    ctx->MouseWheelY(i < 20 ? 1.0F : -1.0F);
    ctx->Yield();
  }
  all.push_back(times_of(ctx, "zooming a graph of a thousand", noted_frames()));
  const double slower = allowance.now();
  for (const auto& times : all) {
    IM_CHECK_LT(times.median_processor, kOwn * slower);
    IM_CHECK_LT(times.median, kFrame * slower);
  }
}

// What wakes the window all the time without being anybody's doing: jobs that tell how far they are.
class Waker {
 public:
  Waker()
      : thread_([this] {
          while (!ended_) {
            glfwPostEmptyEvent();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  ~Waker() {
    ended_ = true;
    thread_.join();
  }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

 private:
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

// Frames that the program would draw in three seconds of the newest job while nobody touches it.
void few_frames_while_it_runs(ImGuiTestContext* ctx, double most_a_second) {
  const auto state = [] {
    const auto jobs = bench().jobs.list();
    return jobs.empty() ? gui::JobState::kDone : jobs.front().state;
  };
  const auto id = bench().jobs.list().front().id;
  for (int i = 0; i < 3000 && state() == gui::JobState::kWaiting; ++i) {
    ctx->Yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  int frames = 0;
  double seconds = 0;
  {
    const Waker waker;
    const AtThePaceOfTheProgram paced;
    for (const auto opened = Clock::now(); seconds_since(opened) < gui::kLively;)
      ctx->Yield();  // as if touched
    // The first frame is counted too: the program draws it up to a second after the job began.
    for (const auto begun = Clock::now(); bench().jobs.measuring() && seconds < 3; ++frames) {
      ctx->Yield();
      seconds = seconds_since(begun);
    }
  }
  ctx->LogInfo("%d frames in %.1f s", frames, seconds);
  IM_CHECK_GT(seconds, 0.9);  // else the job was over before anything was seen
  IM_CHECK_LE(frames, most_a_second * seconds + 1);
  bench().jobs.cancel(id);
  settle(ctx);
}

void while_sweeping(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark mlp linear softmax conv2d -p ci");
  ctx->Yield(2);
  bench().commands.run("sweep.start");
  few_frames_while_it_runs(ctx, 1);
}

void while_profiling(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "profile");
  panels().profile->form = {.subject = "minigpt", .preset = "ci", .members = 24};
  bench().commands.run("profile.start");
  few_frames_while_it_runs(ctx, 1);
}

void while_timing_strategies(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().open_source({.subject = "vit", .copies = 48});
  settle(ctx);
  show(ctx, "strategies");
  IM_CHECK_STR_EQ(bench().commands.run("strategies.measure").c_str(), "");
  few_frames_while_it_runs(ctx, 1);
}

// What the person does is answered at once, also while something is timed.
void input_while_measuring(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto id = bench().jobs.start(gui::Lane::kMeasure, "Timing", [](const gui::JobContext& context) {
    while (!context.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return gui::Apply();
  });
  while (!bench().jobs.measuring()) ctx->Yield();
  int frames = 0;
  double longest = 0;
  {
    const AtThePaceOfTheProgram paced;
    for (const auto opened = Clock::now(); seconds_since(opened) < 1;) {
      paced.touch();
      const auto begun = Clock::now();
      ctx->Yield();
      longest = std::max(longest, seconds_since(begun));
      ++frames;
    }
  }
  bench().jobs.cancel(id);
  settle(ctx);
  ctx->LogInfo("%d frames, the longest %.3f s", frames, longest);
  IM_CHECK_GE(frames, 10);
  IM_CHECK_LT(longest, 0.5);
}

// Nothing is timed here: the window may be used, and shows progress as for any work.
void while_validating(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().open_source({.subject = "minigpt", .copies = 1536});
  settle(ctx);
  bench().notices.dismiss_all();
  bench().commands.run("strategies.validate");
  const auto begun = Clock::now();
  int frames = 0;
  {
    const AtThePaceOfTheProgram paced;
    while (bench().jobs.busy() && seconds_since(begun) < 1.5) ctx->Yield(), ++frames;
  }
  IM_CHECK_GE(frames, 3);
  bench().jobs.cancel_all();
  settle(ctx);
}

}  // namespace

void add_speed_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "speed", name)->TestFunc = test;
  };
  add("a hundred thousand rows", a_hundred_thousand_rows);
  add("a frame at rest", a_frame_at_rest);
  add("a million events", a_million_events);
  add("a million events of any length", a_million_events_of_any_length);
  add("a graph of a thousand", a_graph_of_a_thousand);
  add("few frames while sweeping", while_sweeping);
  add("few frames while profiling", while_profiling);
  add("few frames while timing strategies", while_timing_strategies);
  add("input while measuring", input_while_measuring);
  add("while validating", while_validating);
}

}  // namespace wide::test
