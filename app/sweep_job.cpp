#include "app/sweep_job.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "app/environment.h"
#include "app/exit_code.h"
#include "app/model_hash.h"
#include "app/run_lock.h"
#include "core/strategy/strategy_text.h"
#include "formats/error.h"
#include "presets/case_fields.h"

namespace wide::app {
namespace {

const DeviceInfo* find_device(const std::vector<DeviceInfo>& devices, const std::string& name) {
  const auto found =
      std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d.name == name; });
  return found == devices.end() ? nullptr : &*found;
}

// A GPU runs members side by side on streams, not on threads, and as one graph.
std::vector<std::string> rivals_on_gpu(std::vector<std::string> rivals) {
  const auto threads = std::find(rivals.begin(), rivals.end(), "threads");
  if (threads == rivals.end()) return rivals;
  *threads = "streams";
  if (std::find(rivals.begin(), rivals.end(), "graph") == rivals.end()) rivals.emplace_back("graph");
  return rivals;
}

void check_rivals_on_cpu(const std::vector<std::string>& rivals) {
  for (const auto& rival : rivals) {
    if (std::ranges::find(presets::kRivalsOfGpu, rival) != presets::kRivalsOfGpu.end())
      throw Error("usage", "the rival " + rival + " runs on a GPU only; leave it out, or give --device cuda");
  }
}

// A worker gets its case as JSON, which cannot carry any other bytes.
void check_utf8(const presets::CaseSpec& spec) {
  try {
    (void)to_json(spec).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error("usage", "a name or path of the case " + spec.subject + " is not valid UTF-8; rename it");
  }
}

using Subjects = std::map<std::string, SubjectInfo>;

Subjects subjects_of(const Engine& engine) {
  Subjects subjects;
  for (auto& subject : engine.subjects()) subjects.emplace(subject.name, std::move(subject));
  return subjects;
}

const SubjectInfo& subject_of(const presets::CaseSpec& spec, const Subjects& subjects) {
  if (const auto found = subjects.find(spec.subject); found != subjects.end()) return found->second;
  throw Error("preset", "no subject is called \"" + spec.subject + "\"; `widebench benchmark` lists them");
}

void check_kind(const presets::CaseSpec& spec, const SubjectInfo& subject) {
  if (spec.kind != subject.kind)
    throw Error("preset", "subject '" + spec.subject + "' is a " + subject.kind + ", not a " + spec.kind);
}

void check_sizes(const presets::CaseSpec& spec, const SubjectInfo& subject) {
  for (const auto& [name, size] : spec.shape) {
    const auto known = subject.sizes.find(name);
    if (known == subject.sizes.end()) {
      std::string names;
      for (const auto& [other, range] : subject.sizes) names.append(names.empty() ? "" : ", ").append(other);
      throw Error("preset", "subject '" + spec.subject + "' has no size '" + name + "'; it has " + names);
    }
    const auto [least, most] = known->second;
    if (size < least || size > most) {
      throw Error("preset", "subject '" + spec.subject + "': size '" + name + "' must lie in " +
                                std::to_string(least) + "…" + std::to_string(most) + ", is " +
                                std::to_string(size));
    }
  }
}

// A sweep that is stored is not undone by a disk without room for a second copy.
std::string back_up(const results::Store& store) {
  try {
    store.back_up();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

std::string settled_device(const std::vector<DeviceInfo>& devices, const std::string& name) {
  if (name != "auto") return name;
  const auto usable =
      std::find_if(devices.rbegin(), devices.rend(), [](const auto& one) { return one.usable; });
  return usable == devices.rend() ? "cpu" : usable->name;
}

void check_strategies(const std::set<std::string>& choices, const Engine& engine,
                      std::set<std::string> known) {
  known.insert({"auto", "wide", "sequential"});
  for (const auto& primitive : engine.primitives())
    known.insert(primitive.strategies.begin(), primitive.strategies.end());
  for (const auto& subject : engine.subjects())
    known.insert(subject.strategies.begin(), subject.strategies.end());
  for (const auto& choice : choices) {
    for (const auto& strategy : strategies_in(choice)) {
      if (known.contains(strategy_name(strategy))) continue;
      std::string names;
      for (const auto& name : known) names += (names.empty() ? "" : ", ") + name;
      throw Error("usage", "no operation has a strategy '" + strategy + "'; there are " + names);
    }
  }
}

void check_cases(const std::vector<presets::CaseSpec>& specs, const Engine& engine) {
  std::set<std::string> strategies;
  for (const auto& spec : specs) strategies.insert(spec.strategy);
  check_strategies(strategies, engine);
  const auto subjects = subjects_of(engine);
  for (const auto& spec : specs) {
    if (spec.kind == "model") continue;
    const auto& subject = subject_of(spec, subjects);
    check_kind(spec, subject);
    check_sizes(spec, subject);
  }
}

void resolve_devices(std::vector<presets::CaseSpec>& specs, const Engine& engine) {
  const auto devices = engine.devices();
  const auto subjects = subjects_of(engine);
  for (auto& spec : specs) {
    check_utf8(spec);
    if (spec.kind != "model") (void)subject_of(spec, subjects);
    spec.device = settled_device(devices, spec.device);
    const auto* device = find_device(devices, spec.device);
    if (spec.device != "cpu") spec.rivals = rivals_on_gpu(spec.rivals);
    if (spec.device == "cpu") check_rivals_on_cpu(spec.rivals);
    if (device != nullptr && device->usable) continue;
    const auto reason = device == nullptr ? "this program knows no such device" : device->reason;
    throw CannotMeasure("device", "the device " + spec.device + " cannot be used: " + reason);
  }
}

profiler::Facts machine_facts(const Engine& engine) {
  auto facts = profiler::machine();
  facts.extra = engine.libraries();
  for (const auto& device : engine.devices()) {
    if (device.usable && device.name != "cpu") facts.extra[device.name] = device.description;
  }
  return facts;
}

results::CaseRecord with_conditions(results::CaseRecord record) {
  const auto now = profiler::conditions();
  if (std::isnan(record.load_1min)) record.load_1min = now.load_1min;
  if (std::isnan(record.cpu_mhz)) record.cpu_mhz = now.cpu_mhz;
  return record;
}

nlohmann::json settings_of(const SweepJob& job) {
  auto cases = nlohmann::json::array();
  for (const auto& spec : job.specs) cases.push_back(to_json(spec));
  return {{"preset", job.preset}, {"cases", cases}};
}

results::RunRecord run_of(const SweepJob& job, const Engine& engine) {
  results::RunRecord run;
  run.command_line = job.command_line;
  run.preset = job.preset;
  run.label = job.label;
  run.tool_version = engine.version;
  run.git_commit = engine.git_commit;
  run.settings = settings_of(job);
  run.machine = machine_facts(engine);
  std::set<std::string> devices;
  for (const auto& spec : job.specs) devices.insert(spec.device), run.threads = spec.threads;
  for (const auto& device : devices) run.device += (run.device.empty() ? "" : ",") + device;
  run.environment = environment();
  return run;
}

SweepOutcome run_sweep_job(const SweepJob& job, const Engine& engine, results::Store& store,
                           const SweepProgress& progress) {
  const auto record = run_of(job, engine);
  std::optional<std::int64_t> unfinished;
  if (job.run > 0) {
    unfinished = job.run;
  } else if (job.resume) {
    unfinished = store.unfinished_run(record.settings, record.machine);
  }
  SweepOutcome outcome{.run = unfinished ? *unfinished : store.begin_run(record)};
  const RunLock lock(store.path(), outcome.run);
  if (unfinished) store.finish_run(outcome.run, results::RunStatus::kRunning);
  const auto stored = store.finished_cases(outcome.run);
  auto rest = job.specs;
  std::erase_if(rest, [&](const auto& spec) { return stored.contains(spec.key()); });
  if (progress.began) progress.began(outcome.run, stored.size(), job.specs.size());

  ModelHashes hashes;
  std::string model;
  presets::Sink sink;
  sink.starting = [&](const presets::CaseSpec& spec, std::size_t) {
    model = hashes.of(spec);
    if (progress.starting) progress.starting(spec);
  };
  sink.finished = [&](const presets::CaseSpec&, const results::CaseRecord& done, std::size_t) {
    auto noted = with_conditions(done);
    noted.model_hash = model;
    if (noted.verdict == results::Verdict::kPass) {
      const auto known = store.process_spread(noted, profiler::key(record.machine), record.threads);
      noted.circumstances.spread = known.spread;
      noted.circumstances.processes = known.processes;
    }
    store.add_case(outcome.run, noted);
    if (progress.finished) progress.finished(noted);
  };
  sink.waiting = progress.waiting;
  outcome.end = presets::run_sweep(rest, job.options, sink);
  const bool done = outcome.end == presets::SweepEnd::kDone;
  store.finish_run(outcome.run, done ? results::RunStatus::kDone : results::RunStatus::kInterrupted);
  if (done) outcome.backup_fault = back_up(store);
  return outcome;
}

}  // namespace wide::app
