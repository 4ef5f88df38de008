// Note [Worker processes]
// One process per case: a crash in a kernel, a sticky CUDA error, a hang or a fragmented heap ends with the
// process and touches neither the next case nor the sweep. The parent spawns the program itself in a process
// group of its own (a terminal's Ctrl-C reaches the parent only; a kill reaches all that the worker started),
// hands the spec over on standard input and takes the record from a pipe that nothing else prints to. It
// knows nothing of libtorch. The worker asks the kernel to be killed when its parent dies, so a parent ended
// by SIGKILL leaves none behind.
#include "presets/sweep.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "formats/document.h"
#include "presets/worker.h"
#include "processes/process.h"
#include "results/report.h"
#include "results/table.h"

namespace wide::presets {
namespace {

using results::CaseRecord;
using results::Verdict;

// How many processes the kernel has killed for want of memory since the machine started; empty where not
// told.
std::optional<long> kernel_oom_kills() {
  std::ifstream in("/proc/vmstat");
  std::string name;
  for (long count = 0; in >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

// The last line with anything in it of what the worker printed, as ": line", or nothing.
std::string last_words(const std::string& errors) {
  const auto last = errors.find_last_not_of(" \t\r\n");
  if (last == errors.npos) return "";
  const auto newline = errors.find_last_of('\n', last);
  const auto first = newline == errors.npos ? 0 : newline + 1;
  return ": " + results::printable(std::string_view(errors).substr(first, last + 1 - first), 300);
}

std::string whole_seconds(double seconds) {
  auto text = nlohmann::json(seconds).dump();
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " s";
}

CaseRecord with(CaseRecord record, Verdict verdict, std::string reason) {
  record.verdict = verdict;
  record.reason = std::move(reason);
  return record;
}

CaseRecord of_signal(const CaseSpec& spec, const processes::ProcessOutcome& outcome,
                     std::optional<long> kills_before) {
  const auto kills = kernel_oom_kills();
  if (outcome.code == SIGKILL && (!kills || !kills_before || *kills > *kills_before)) {
    return with(record_of(spec), Verdict::kOom,
                "the worker was killed by SIGKILL, most likely by the kernel for want of memory");
  }
  if (outcome.code == SIGABRT && outcome.errors.find("bad_alloc") != outcome.errors.npos) {
    return with(record_of(spec), Verdict::kOom, "memory ran out" + last_words(outcome.errors));
  }
  return with(
      record_of(spec), Verdict::kError,
      "the worker was killed by " + processes::signal_name(outcome.code) + last_words(outcome.errors));
}

// The record that the worker sent, checked against what it was asked.
CaseRecord of_answer(const CaseSpec& spec, const processes::ProcessOutcome& outcome) {
  const auto expected = record_of(spec);
  if (outcome.result.empty()) {
    return with(
        expected, Verdict::kError,
        "the worker ended as if it were done (code 0), but without a result" + last_words(outcome.errors));
  }
  try {
    auto record = results::case_from_json(formats::parse_document(outcome.result));
    record.key = expected.key;
    record.shape = expected.shape;
    record.seed = expected.seed;
    const bool same = record.subject == expected.subject && record.kind == expected.kind &&
                      record.n == expected.n && record.device == expected.device &&
                      record.dtype == expected.dtype && record.mode == expected.mode &&
                      record.strategy == expected.strategy;
    if (!same)
      return with(expected, Verdict::kError, "the worker answered for another case than it was given");
    if (record.verdict != Verdict::kPass) {
      results::clear_speedups(record);
      if (record.reason.empty()) record.reason = "the worker gave no reason";
    }
    return record;
  } catch (const std::exception& error) {
    return with(expected, Verdict::kError,
                "the worker's answer cannot be read (" + results::printable(error.what(), 200) + ")" +
                    last_words(outcome.errors));
  }
}

CaseRecord judge(const CaseSpec& spec, const processes::ProcessOutcome& outcome, double timeout,
                 std::optional<long> kills) {
  switch (outcome.end) {
    case processes::ProcessEnd::kTimedOut:
      return with(record_of(spec), Verdict::kTimeout,
                  "no result within " + whole_seconds(timeout) +
                      ", the worker was killed; --timeout gives it longer");
    case processes::ProcessEnd::kUnkillable:
      return with(record_of(spec), Verdict::kTimeout,
                  "the worker does not end even by SIGKILL; it hangs in the kernel or a driver");
    case processes::ProcessEnd::kFlooded:
      return with(record_of(spec), Verdict::kError, "the worker's answer is longer than 256 MiB");
    case processes::ProcessEnd::kSignalled:
      return of_signal(spec, outcome, kills);
    case processes::ProcessEnd::kStopped:
    case processes::ProcessEnd::kExited:
      break;
  }
  if (outcome.code == kExitOutOfMemory) {
    const std::string reason = "memory ran out";
    const auto words = last_words(outcome.errors);  // the worker says so, too
    return with(record_of(spec), Verdict::kOom, words == ": " + reason ? reason : reason + words);
  }
  if (outcome.code != 0) {
    return with(record_of(spec), Verdict::kError,
                "the worker ended with code " + std::to_string(outcome.code) + last_words(outcome.errors));
  }
  return of_answer(spec, outcome);
}

}  // namespace

CaseRecord record_of(const CaseSpec& spec) {
  CaseRecord record;
  record.key = spec.key();
  record.subject = spec.subject;
  record.kind = spec.kind;
  record.n = spec.n;
  record.shape = to_json(spec)["shape"];
  record.device = spec.device;
  record.dtype = spec.dtype;
  record.mode = spec.mode;
  record.strategy = spec.strategy;
  record.seed = spec.seed;
  return record;
}

SweepEnd run_sweep(std::span<const CaseSpec> specs, const SweepOptions& options, const Sink& sink) {
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load() != 0; };
  processes::ProcessTask task{.argv = options.worker,
                              .result_descriptor = kResultDescriptor,
                              .timeout_seconds = options.timeout_seconds,
                              .stop = options.stop,
                              .waiting = sink.waiting};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (stopped()) return SweepEnd::kStopped;
    const auto& spec = specs[i];
    if (sink.starting) sink.starting(spec, i);
    task.input = nlohmann::json{{"parent", ::getpid()},
                                {"memory_limit_bytes", options.memory_limit_bytes},
                                {"case", to_json(spec)}}
                     .dump();
    const auto kills = kernel_oom_kills();
    const auto started = results::utc_now();
    const auto outcome = processes::run_process(task);
    if (outcome.end == processes::ProcessEnd::kStopped) return SweepEnd::kStopped;
    auto record = judge(spec, outcome, options.timeout_seconds, kills);
    if (record.started.empty()) record.started = started;
    record.seconds = outcome.seconds;
    if (sink.finished) sink.finished(spec, record, i);
  }
  return SweepEnd::kDone;
}

}  // namespace wide::presets
