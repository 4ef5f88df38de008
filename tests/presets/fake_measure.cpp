#include "presets/fake_measure.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "formats/error.h"
#include "presets/worker.h"
#include "profiler/measure.h"

namespace wide::test {
namespace {

using Record = results::CaseRecord;
using Spec = presets::CaseSpec;

// FAKE_SLOW in the environment, as a factor: wide takes so many times as long; where FAKE_PLAN names a file,
// as long as that bad plan is there. For tests of the gate.
double slowness(bool rival) {
  const char* text = std::getenv("FAKE_SLOW");
  const char* plan = std::getenv("FAKE_PLAN");
  double factor = 1;
  if (plan != nullptr && ::access(plan, F_OK) != 0) return factor;
  if (!rival && text != nullptr) std::from_chars(text, text + std::strlen(text), factor);
  return factor;
}

// FAKE_UNSTEADY in the environment, a number of members: from there on wide takes up to 256 times as long,
// each process otherwise; hardly ever do three take about the same.
double luck(const Spec& spec, bool rival) {
  const char* members = std::getenv("FAKE_UNSTEADY");
  if (rival || members == nullptr || spec.n < std::strtol(members, nullptr, 10)) return 1;
  static const auto kDrawn = std::random_device{}() % 1000;
  return std::exp2(0.008 * static_cast<double>(kDrawn));
}

// Wide takes 10 us, a rival n times as long; a little spread, so that intervals are real ones.
void pass(const Spec& spec, Record& record) {
  profiler::Measurement measurement;
  measurement.contenders = {"wide"};
  for (const auto& rival : spec.rivals) measurement.contenders.push_back(rival);
  measurement.contenders.push_back("wide'");
  measurement.warmup.resize(measurement.contenders.size());
  measurement.rounds = 12;
  measurement.stop_reason = profiler::StopReason::kRounds;
  const int count = static_cast<int>(measurement.contenders.size());
  for (int round = 0; round < measurement.rounds; ++round) {
    for (int i = 0; i < count; ++i) {
      const bool rival = i != 0 && i != count - 1;
      const double spread = 1 + 0.001 * ((round * 7 + i * 3) % 11);
      const double us =
          10 * slowness(rival) * luck(spec, rival) * (rival ? static_cast<double>(spec.n) / i : 1) * spread;
      measurement.samples.push_back({.contender = i, .round = round, .position = i, .microseconds = us});
    }
  }
  record.verdict = results::Verdict::kPass;
  record.checks = {{.what = "member against its own run",
                    .max_abs_err = 1e-7,
                    .max_rel_err = 1e-7,
                    .tolerance = 1e-5,
                    .passed = true,
                    .text = "largest error 1e-7"}};
  record.load_1min = 0.5;  // whatever the machine that runs the tests is doing
  results::add_measurement(record, measurement);
}

int recurse(int depth) {
  volatile char frame[4096] = {};
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? frame[0] : recurse(depth + 1) + frame[0];
}

void write_result(const std::string& text) {
  if (::write(presets::kResultDescriptor, text.data(), text.size()) < 0) std::perror("write");
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

void leave_straggler() {
  if (::fork() == 0) hang();
}

void chat() {
  const std::string line(1000, 'x');
  for (int i = 0; i < 2000; ++i)
    std::printf("%s\n", line.c_str()), std::fprintf(stderr, "%s\n", line.c_str());
}

void exhaust() {
  std::vector<std::vector<char>> blocks;
  for (;;) blocks.emplace_back(std::size_t{16} << 20, 'x');
}

// FAKE_AGAIN in the environment names a deed, FAKE_SEEN a file that remembers which cases were measured: from
// the second time on a case does that deed.
std::string deed_of(const Spec& spec) {
  const char *again = std::getenv("FAKE_AGAIN"), *seen = std::getenv("FAKE_SEEN");
  if (again == nullptr || seen == nullptr) return spec.subject;
  std::ifstream lines(seen);
  for (std::string line; std::getline(lines, line);)
    if (line == spec.key()) return again;
  std::ofstream(seen, std::ios::app) << spec.key() << '\n';
  return spec.subject;
}

void no_core_file() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace

void fake_measure(const Spec& spec, Record& record) {
  no_core_file();
  const std::map<std::string, std::function<void()>> deeds = {
      {"fail", [&] { record.verdict = results::Verdict::kFail, record.reason = "member 1 is wrong"; }},
      {"skipped", [&] { record.verdict = results::Verdict::kSkipped, record.reason = "no rule for it"; }},
      {"throw", [] { throw Error("widen", "%3 aten.sort: no rule"); }},
      {"crash", [] { ::signal(SIGSEGV, SIG_DFL), ::raise(SIGSEGV); }},  // a sanitizer would describe it
      {"abort", [] { std::fputs("first\nlast words\n\n", stderr), std::abort(); }},
      {"overflow", [] { std::printf("%d", recurse(0)); }},
      {"hang", [] { hang(); }},
      {"oom", [] { throw std::bad_alloc(); }},
      {"library_oom",
       [] { throw std::runtime_error("DefaultCPUAllocator: can't allocate memory: 8 bytes\nat x"); }},
      {"uncaught_oom", [] { std::fputs("what():  std::bad_alloc\n", stderr), std::abort(); }},
      {"exhaust", [] { exhaust(); }},
      {"garbage", [] { write_result("{\"subject\": 7"), ::_exit(0); }},
      {"silent", [] { ::_exit(0); }},
      {"exit3", [] { std::fputs("cannot go on\n", stderr), ::_exit(3); }},
      {"killed", [] { ::raise(SIGKILL); }},
      {"unproved", [&] { pass(spec, record), record.checks.clear(); }},
      {"other", [&] { pass(spec, record), record.n += 1; }},
      {"chatty", [&] { chat(), pass(spec, record); }},
      {"straggler", [&] { leave_straggler(), pass(spec, record); }},
      {"slow", [&] { ::usleep(200'000), pass(spec, record); }},
  };
  const auto deed = deeds.find(deed_of(spec));
  deed == deeds.end() ? pass(spec, record) : deed->second();
}

}  // namespace wide::test
