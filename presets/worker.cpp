#include "presets/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>

#include "formats/error.h"
#include "presets/json_reader.h"
#include "presets/sweep.h"
#include "results/report.h"

namespace wide::presets {
namespace {

constexpr int kExitUsage = 2;

// Dies with the sweep, however that ends: no orphan goes on measuring.
void tie_to_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitUsage);  // it was gone before the line above
}

void limit_memory(std::int64_t bytes) {
  if (bytes <= 0) return;
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) throw Error("worker", "the memory limit cannot be set");
}

CaseSpec receive_case() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto json = parse_json(text, "standard input");
  JsonReader in(json, "standard input");
  tie_to_parent(static_cast<pid_t>(in.at("parent").integer(1, INT32_MAX)));
  limit_memory(in.at("memory_limit_bytes").integer(0, INT64_MAX));
  return spec_from_json(in.at("case").json(), "standard input");
}

bool send(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto wrote = ::write(kResultDescriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return true;
}

void set_failure(results::CaseRecord& record, std::string_view message) {
  record.verdict = tells_of_memory(message) ? results::Verdict::kOom : results::Verdict::kError;
  record.reason = message.substr(0, message.find('\n'));
}

}  // namespace

bool tells_of_memory(std::string_view message) {
  return message.find("can't allocate memory") != message.npos ||
         message.find("out of memory") != message.npos || message.find("bad_alloc") != message.npos;
}

int run_worker(const std::function<void(const CaseSpec&, results::CaseRecord&)>& measure) try {
  const auto spec = receive_case();
  auto record = record_of(spec);
  try {
    measure(spec, record);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    set_failure(record, error.what());
  }
  if (record.verdict != results::Verdict::kPass) results::clear_speedups(record);
  return send(results::case_json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) ? 0
                                                                                                         : 1;
} catch (const std::bad_alloc&) {
  std::fputs("memory ran out\n", stderr);
  return kExitOutOfMemory;
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return kExitUsage;
}

}  // namespace wide::presets
