#include "tests/results/sample_records.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace wide::results::test {
namespace {

Summary sample_time(double base) {
  Summary time;
  time.median_us = base;
  time.ci95 = {base, base * 0.97, base * 1.04};
  time.min_us = base * 0.9;
  time.iqr_us = base * 0.05;
  time.mad_us = base * 0.02;
  time.outliers = 1;
  time.samples = 12;
  return time;
}

/// Every field, numbers exactly.
struct Described {
  std::ostream& out;
  void operator()(const Field& field, const auto& value) {
    out << field.column << ' ';
    put(value);
    out << '|';
  }
  void put(const auto& value) { out << value; }
  void put(Verdict value) { out << name(value); }
  void put(const Limits<const double>& value) { out << value.low << ' ' << value.high; }
  void put(const std::optional<std::int64_t>& value) { value ? out << *value : out << "unknown"; }
};

}  // namespace

CaseRecord passed_case(const std::string& key) {
  CaseRecord record;
  record.key = key;
  record.subject = "mlp";
  record.kind = "zoo";
  record.n = 4;
  record.shape = {{"batch", 16}, {"features", 64}};
  record.device = "cpu";
  record.dtype = "float32";
  record.mode = "eager";
  record.strategy = "auto";
  record.verdict = Verdict::kPass;
  record.checks = {
      {"member against its own run", "member2", 1.25e-7, 3e-6, 1e-5, true, "largest error in output 0"},
      {"cross-talk", "", 0, 0, 0, true, ""}};
  constexpr std::array<double, 4> kTimes = {123.456789012345678, 200.1, 410.2, 123.3};
  record.wide = sample_time(kTimes[0]);
  record.speedup_best_rival = {kTimes[1] / kTimes[0], 1.55, 1.71};
  record.speedup = {kTimes[2] / kTimes[0], 3.25, 3.41};
  record.rivals = {{"threads", sample_time(kTimes[1]), record.speedup_best_rival, 901.5},
                   {"eager", sample_time(kTimes[2]), record.speedup, 1234.5}};
  record.best_rival = "threads";
  record.noise_floor = {1.001, 0.99, 1.012};
  record.rounds = 2;
  record.stop_reason = "precision";
  record.compile_us = 5000.25;
  record.first_run_us = 777.125;
  record.peak_memory_bytes = 123456789012;
  for (int round = 0; round < 2; ++round) {
    for (int place = 0; place < 4; ++place) {
      const int contender = (place + round) % 4;
      record.samples.push_back(
          {contender, round, place, 3 + place, kTimes[contender] * (round == 0 ? 0.9 : 1.1)});
    }
  }
  record.plan = {
      {"nodes", {{"%3", "batched_gemm"}, {"%5", "sequential"}}}, {"sequential", 1}, {"conversions", 2}};
  record.started = "2025-03-04T05:06:07Z";
  record.seconds = 1.75;
  record.seed = 0xFEDCBA9876543210ULL;
  record.load_1min = 0.31;
  record.cpu_mhz = 2893.5;
  record.model_hash = "0f1e2d3c";
  record.circumstances = {.attempts = 2,
                          .steal = 0.0125,
                          .others = 0.25,
                          .preempted = 3.5,
                          .regime = "hot",
                          .steady = true,
                          .threads = 2,
                          .spread = 0.03125,
                          .processes = 4};
  return record;
}

CaseRecord failed_case(const std::string& key, Verdict verdict) {
  CaseRecord record;
  record.key = key;
  record.subject = "mlp";
  record.kind = "zoo";
  record.n = 8;
  record.device = "cpu";
  record.dtype = "float32";
  record.mode = "eager";
  record.strategy = "auto";
  record.verdict = verdict;
  record.reason = "member 3 differs from its own run by 0.5 (tolerance 1e-05)";
  record.checks = {{"member against its own run", "member3", 0.5, kUnknown, 1e-5, false, ""}};
  record.rivals = {{"eager", sample_time(50), {}, kUnknown}};
  record.started = "2025-03-04T05:06:09Z";
  return record;
}

RunRecord sample_run() {
  RunRecord run;
  run.uid = "0123456789abcdef0123456789abcdef";
  run.started = "2025-03-04T05:06:00Z";
  run.command_line = "widebench --preset ci --db r.db";
  run.preset = "ci";
  run.tool_version = "0.1.0";
  run.git_commit = "c0ffee";
  run.settings = {{"preset", "ci"}, {"n", {2, 4, 8}}, {"relative_width", 0.05}};
  run.machine.cpu = "Tiny 9000";
  run.machine.physical_cores = 2;
  run.machine.logical_cores = 4;
  run.machine.caches = {{"L1d", 49152}, {"L3", 33554432}};
  run.machine.isa = {"avx2", "fma"};
  run.machine.memory_bytes = 8204641280;
  run.machine.os = "Debian GNU/Linux 12 (bookworm)";
  run.machine.kernel = "Linux 6.1.0";
  run.machine.compiler = "gcc 12.2.0";
  run.machine.extra = {{"libtorch", "2.11.0"}, {"threads", "2"}};
  run.device = "cpu";
  run.threads = 2;
  run.label = "before the change";
  run.status = RunStatus::kDone;
  run.environment = {{"OMP_NUM_THREADS", "2"}, {"governor", "performance"}};
  run.tags = {"before", "nightly"};
  run.notes = {{"2025-03-04T06:00:00Z", "with the new allocator"}, {"2025-03-05T06:00:00Z", "looks\nright"}};
  return run;
}

std::string describe(const CaseRecord& record) {
  std::ostringstream out;
  Described all{out << std::hexfloat};
  visit_fields(record, all);
  for (const Check& check : record.checks) visit_fields(check, all);
  visit_fields(record.wide, all);
  out << record.wide.ci95.value;
  for (const Rival& rival : record.rivals) {
    out << '\n' << rival.name << ' ' << rival.time.ci95.value << ' ';
    visit_fields(rival, all);
  }
  for (const auto& sample : record.samples) visit_fields(sample, all);
  out << to_json(record.circumstances) << '\n';
  return out.str();
}

std::string describe(const RunRecord& run) {
  std::ostringstream out;
  out << run.uid << '|' << run.started << '|' << run.command_line << '|' << run.preset << '|'
      << run.tool_version << '|' << run.git_commit << '|' << run.settings << '|' << run.device << '|'
      << run.threads << '|' << run.label << '|' << name(run.status) << '\n';
  const profiler::Facts& machine = run.machine;
  out << machine.cpu << '|' << machine.physical_cores << '|' << machine.logical_cores << '|'
      << machine.memory_bytes << '|' << machine.os << '|' << machine.kernel << '|' << machine.compiler;
  for (const auto& cache : machine.caches) out << '|' << cache.name << ' ' << cache.bytes;
  for (const auto& flag : machine.isa) out << '|' << flag;
  for (const auto& [key, value] : machine.extra) out << '|' << key << '=' << value;
  out << '\n' << run.statistics_version;
  for (const auto& [key, value] : run.environment) out << '|' << key << '=' << value;
  for (const auto& tag : run.tags) out << "|tag " << tag;
  for (const auto& note : run.notes) out << "|note " << note.created << ' ' << note.text;
  return out.str();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

bool soak() {
  return std::getenv("WIDEBENCH_SOAK") != nullptr;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace wide::results::test
