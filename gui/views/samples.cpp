#include "gui/views/samples.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gui/views/quantity.h"
#include "gui/views/sweep_rows.h"
#include "presets/case.h"

namespace wide::gui {
namespace {

using profiler::Kind;
using profiler::Trace;
using results::CaseRecord;
using results::Verdict;

Interval around(double value, double share) {
  return {value, value * (1 - share), value * (1 + share)};
}

/// `gain`: speed-up over eager at N = 32; `best`: the part of it that is left against the best rival.
CaseRecord sample_case(const std::string& subject, std::int64_t n, double alone_us, double gain,
                       double best) {
  const double share = std::log2(static_cast<double>(n)) / 5;  // 1 at N = 32
  const double speedup = 1 + (gain - 1) * share, over_best = 1 + (gain * best - 1) * share;
  CaseRecord record;
  record.subject = subject, record.kind = "zoo", record.n = n;
  record.shape = {{"batch", 8}}, record.device = "cpu", record.dtype = "float32", record.mode = "eager";
  record.strategy = "auto";
  record.key = subject + "/n=" + std::to_string(n);
  record.verdict = Verdict::kPass;
  record.checks = {
      {.what = "member against its own run", .max_abs_err = 3.1e-7, .tolerance = 1e-5, .passed = true}};
  const double eager = alone_us * static_cast<double>(n);
  record.wide.median_us = eager / speedup, record.wide.ci95 = around(eager / speedup, 0.013);
  record.rivals.resize(2);
  record.rivals[0].name = "eager", record.rivals[1].name = "threads";
  record.rivals[0].time.median_us = eager, record.rivals[0].time.ci95 = around(eager, 0.01);
  const double threads = record.wide.median_us * over_best;
  record.rivals[1].time.median_us = threads, record.rivals[1].time.ci95 = around(threads, 0.02);
  record.speedup = around(speedup, 0.025);
  record.speedup_best_rival = around(over_best, 0.03);
  record.best_rival = "threads";
  record.noise_floor = {1, 0.992, 1.008};
  record.rounds = 36, record.stop_reason = "precision";
  return record;
}

std::vector<CaseRecord> sample_cases() {
  std::vector<CaseRecord> cases;
  for (const std::int64_t n : {2, 4, 8, 16, 32}) {
    cases.push_back(sample_case("resblock", n, 190, 8.4, 0.55));
    cases.push_back(sample_case("mlp", n, 31, 4.1, 0.6));
    cases.push_back(sample_case("minigpt", n, 1210, 1.7, 0.58));
  }
  auto failed = sample_case("lstm_classifier", 8, 400, 2, 0.6);
  failed.verdict = Verdict::kFail;
  failed.reason = "member 3 differs from its own run by 0.0123, allowed is 1e-05";
  failed.checks[0].passed = false, failed.checks[0].max_abs_err = 0.0123;
  results::clear_speedups(failed);
  cases.push_back(failed);
  auto full = sample_case("unet", 32, 9000, 2, 0.6);
  full.verdict = Verdict::kOom, full.reason = "wanted 38.4 GB, the limit is 16 GB";
  results::clear_speedups(full);
  cases.push_back(full);
  return cases;
}

constexpr std::int64_t kMembers = 4, kPasses = 6;

struct SampleNode {
  const char* name;
  const char* op;
  const char* kernel;
  const char* strategy;
  std::int64_t wide_ns, eager_ns;  // of the work: for all members, for one
  double flops, bytes;
};
constexpr std::array<SampleNode, 6> kNodes = {
    {{"%conv2d", "aten.conv2d.default", "aten::mkldnn_convolution", "grouped", 41000, 19000, 1.9e6, 3.1e5},
     {"%batch_norm", "aten.batch_norm.default", "aten::native_batch_norm", "wide", 9000, 3800, 2.6e5, 2.1e5},
     {"%relu", "aten.relu.default", "aten::clamp_min", "passthrough", 3500, 1500, 6.5e4, 1.4e5},
     {"%conv2d_1", "aten.conv2d.default", "aten::mkldnn_convolution", "grouped", 40000, 18500, 1.9e6, 3.1e5},
     {"%add", "aten.add.Tensor", "aten::add", "passthrough", 4200, 1800, 6.5e4, 1.9e5},
     {"%relu_1", "aten.relu.default", "aten::clamp_min", "passthrough", 3400, 1500, 6.5e4, 1.4e5}}};

Trace sample_capture(const std::string& contender) {
  Trace trace;
  trace.subject = "resblock (sample)", trace.contender = contender;
  trace.members = kMembers, trace.passes = kPasses, trace.base_ns = 1'700'000'000'000'000'000;
  trace.facts = {{"dtype", "float32"}, {"threads", "1"}};
  for (const auto& node : kNodes) {
    std::string name = node.name;
    name.append(" ").append(node.op);
    trace.nodes.push_back({name, node.op, contender == "wide" ? node.strategy : "", false, node.flops,
                           node.bytes / 2, node.bytes / 2});
  }
  trace.track({contender, "main", contender == "wide" ? 1 : 2, 1, -1});
  return trace;
}

void push(Trace& trace, std::string_view name, Kind kind, std::int64_t start, std::int64_t duration, int node,
          int member, int members, int pass) {
  profiler::Slice slice;
  slice.name = trace.names.intern(name), slice.kind = kind, slice.start = start, slice.duration = duration;
  slice.node = node, slice.member = member, slice.members = members, slice.pass = pass;
  trace.slices.push(slice);
}

// One turn through all nodes; returns when it ends.
std::int64_t push_nodes(Trace& trace, bool wide, std::int64_t at, int member, int members, int pass) {
  for (std::size_t i = 0; i < kNodes.size(); ++i) {
    const auto& node = kNodes[i];
    const auto index = static_cast<int>(i);
    const auto work = (wide ? node.wide_ns : node.eager_ns) +
                      static_cast<std::int64_t>((pass * 37 + member * 11 + index * 5) % 23) * 20;
    constexpr std::int64_t kDispatch = 1900;
    if (wide && i == 3) {
      push(trace, "to layout packed", Kind::kConversion, at, 5200, index, member, members, pass);
      push(trace, "aten::copy_", Kind::kOperator, at + 500, 4500, index, member, members, pass);
      at += 5300;
    }
    push(trace, std::string_view(node.op).substr(5), Kind::kNode, at, work + kDispatch, index, member,
         members, pass);
    std::string op = "aten::";
    op.append(std::string_view(node.op).substr(5, std::string_view(node.op).rfind('.') - 5));
    push(trace, op, Kind::kOperator, at + 400, work + kDispatch - 500, index, member, members, pass);
    push(trace, node.kernel, Kind::kOperator, at + 1300, work, index, member, members, pass);
    at += work + kDispatch + 250;
  }
  return at;
}

Trace sample_trace(bool wide) {
  auto trace = sample_capture(wide ? "wide" : "eager");
  std::int64_t at = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = at;
    at += 900;
    if (wide) {
      at = push_nodes(trace, true, at, 0, kMembers, pass);
    } else {
      for (int member = 0; member < kMembers; ++member) {
        const auto begun = at;
        at = push_nodes(trace, false, at + 300, member, 1, pass);
        push(trace, "member " + std::to_string(member), Kind::kMember, begun, at - begun, -1, member, 1,
             pass);
      }
    }
    push(trace, "pass " + std::to_string(pass), Kind::kPass, start, at - start, -1, 0, kMembers, pass);
    at += 21000;
  }
  return trace;
}

std::string sample_report() {
  profiler::Peaks peaks;
  peaks.machine = "sample", peaks.device = "cpu", peaks.threads = 1;
  peaks.flops = {{"float32", 9.5e10}};
  peaks.bandwidth = {{3.2e4, 2.1e11}, {1e6, 6.2e10}, {6.4e7, 1.3e10}};
  peaks.launch_us = 0.9;
  return nlohmann::json{
      {"roofline", {{"peaks", nlohmann::json::parse(to_text(peaks))}, {"dtype", "float32"}}}}
      .dump();
}

constexpr std::array<double, 9> kLevels = {4.1, 4.05, 4.16, 4.12, 4.09, 4.62, 4.7, 4.66, 4.71};

std::string day(std::size_t i) {
  std::string text = "2026-0";
  text.append(std::to_string(1 + i / 3)).append("-1").append(std::to_string(1 + i % 3)).append("T09:30:00Z");
  return text;
}

}  // namespace

RunData sample_run_data() {
  RunData data{.cases = sample_cases(), .table = sweep_table()};
  data.run.started = day(8), data.run.status = results::RunStatus::kDone;
  data.run.preset = "quick", data.run.device = "cpu", data.run.threads = 1, data.run.label = "sample";
  data.run.command_line = "widebench benchmark resblock mlp minigpt -n 2,4,8,16,32";
  data.run.machine.cpu = "sample, not measured";
  data.run.tags = {"sample"};
  data.run.notes = {{day(8), "Made-up numbers for a look around."}};
  add_cases(data.table, data.cases);
  data.subjects = {"resblock", "mlp", "minigpt", "lstm_classifier", "unet"};
  return data;
}

ProfileData sample_profile() {
  std::vector<Trace> traces;
  traces.push_back(sample_trace(true));
  traces.push_back(sample_trace(false));
  return make_profile(std::move(traces), sample_report(), [](double, const char*) {});
}

HistoryData sample_history() {
  std::vector<results::RunSummary> runs;
  for (std::size_t i = kLevels.size(); i-- > 0;) {
    results::RunSummary run;
    run.id = static_cast<std::int64_t>(i) + 1, run.started = day(i), run.preset = "quick", run.device = "cpu";
    run.status = i == 3 ? results::RunStatus::kInterrupted : results::RunStatus::kDone;
    run.label = "sample", run.machine_key = "5a3b17c2d4e6f801", run.origin = "measured";
    run.subjects = {"conv2d", "linear", "mlp"};
    run.cases = i == 3 ? 9 : 17, run.passed = i == 3 ? 9 : 15;
    if (i == 5) run.tags = {"new allocator"};
    if (i == 0) run.baselines = {"main"}, run.pinned = true;
    runs.push_back(run);
  }
  return make_history(std::move(runs));
}

std::vector<CompareData> sample_comparison() {
  results::Comparison comparison;
  comparison.first = "run 1 (sample)", comparison.second = "run 9 (sample)";
  comparison.remarks = {"libtorch is the same, the commit differs"};
  const auto add = [&](const char* subject, std::int64_t n, double ratio, double half, results::Change change,
                       const char* why) {
    results::CaseChange one;
    one.subject = subject, one.n = n, one.dtype = "float32", one.device = "cpu", one.mode = "eager",
    one.strategy = "auto";
    one.key = std::string(subject) + "/n=" + std::to_string(n);
    one.change = change, one.ratio = {ratio, ratio - half, ratio + half}, one.reference = "eager";
    one.first_us = 163, one.second_us = 163 * ratio,
    one.adjusted_p = change == results::Change::kSame ? 1 : 0.0012;
    if (*why != '\0') one.reasons = {why};
    comparison.cases.push_back(one);
    ++comparison.counts[change];
  };
  add("resblock", 4, 0.87, 0.02, results::Change::kFaster, "");
  add("resblock", 8, 0.88, 0.03, results::Change::kFaster, "");
  add("mlp", 4, 1.01, 0.02, results::Change::kSame, "");
  add("minigpt", 8, 1.14, 0.03, results::Change::kSlower, "");
  add("unet", 4, 1.06, 0.09, results::Change::kInconclusive, "the interval is too wide");
  comparison.geometric_mean = {0.985, 0.97, 1.0};
  comparison.only_in_first = {{"lstm_classifier/n=8", "lstm_classifier", 8}};
  std::vector<CompareData> all;
  all.push_back(make_comparison(std::move(comparison)));
  return all;
}

results::Trend sample_trend() {
  std::vector<results::TrendPoint> points;
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    results::TrendPoint point;
    point.run = static_cast<std::int64_t>(i) + 1, point.started = day(i),
    point.machine_key = "5a3b17c2d4e6f801";
    point.key = "resblock/n=8", point.n = 8, point.device = "cpu", point.dtype = "float32",
    point.mode = "eager";
    point.strategy = "auto", point.verdict = Verdict::kPass;
    point.speedup = around(kLevels[i], 0.02), point.wide_us = 1500 / kLevels[i];
    points.push_back(point);
  }
  return results::trend("resblock", points);
}

}  // namespace wide::gui
