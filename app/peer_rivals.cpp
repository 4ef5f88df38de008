#include "app/peer_rivals.h"

#include <ATen/Parallel.h>
#include <stdlib.h>

#include <algorithm>

#include "app/devices.h"
#include "app/export_folder.h"
#include "app/peer_process.h"
#include "app/temporary_folder.h"
#include "formats/error.h"
#include "presets/case_fields.h"

namespace wide::app {
namespace {

nlohmann::json failed_report(const std::string& name, const std::string& reason) {
  return {{"name", name},           {"ok", false},         {"reason", reason},
          {"max_abs_err", nullptr}, {"build_us", nullptr}, {"first_run_us", nullptr}};
}

// Compiled code goes beside the case: the compile time is that of a first compile, and nothing stays behind.
void keep_compiled_code_in(const std::filesystem::path& folder) {
  ::setenv("TORCHINDUCTOR_CACHE_DIR", (folder / "inductor").c_str(), /*overwrite=*/0);
}

std::int64_t total_nanoseconds(const nlohmann::json& answer) {
  std::int64_t total = 0;
  for (const auto& one : answer.at("nanoseconds")) total += one.get<std::int64_t>();
  return total;
}

}  // namespace

struct PeerRivals::Process {
  TemporaryFolder folder{"widebench-peers"};
  std::unique_ptr<PeerProcess> peer;
};

std::vector<std::string> python_rivals(const presets::CaseSpec& spec) {
  auto names = spec.rivals;
  std::erase_if(names, [](const std::string& name) {
    const auto& known = presets::kPythonRivals;
    return std::find(known.begin(), known.end(), name) == known.end();
  });
  return names;
}

PeerRivals::PeerRivals(const presets::CaseSpec& spec, WideModel& model, std::span<const ModelInput> inputs) {
  const auto names = python_rivals(spec);
  try {
    process_ = std::make_unique<Process>();
    const auto& folder = process_->folder.path();
    keep_compiled_code_in(folder);
    write_export(folder, {.subject = spec.subject, .model = spec.model, .weights = spec.weights}, model,
                 inputs);
    process_->peer = std::make_unique<PeerProcess>(peer_command());
    report_ = process_->peer
                  ->ask({{"do", "prepare"},
                         {"folder", folder.string()},
                         {"threads", at::get_num_threads()},
                         {"device", settled_device(spec.device)},
                         {"rivals", names}})
                  .at("rivals");
  } catch (const std::exception& error) {
    for (const auto& name : names) report_.push_back(failed_report(name, error.what()));
  }
}

PeerRivals::~PeerRivals() = default;

std::vector<profiler::Contender> PeerRivals::contenders() const {
  std::vector<profiler::Contender> result;
  for (const auto& rival : report_) {
    if (!rival.at("ok").get<bool>()) continue;
    const auto name = rival.at("name").get<std::string>();
    result.push_back(
        {name, {}, [peer = process_->peer.get(), name](std::int64_t runs) {
           return total_nanoseconds(peer->ask({{"do", "round"}, {"rival", name}, {"runs", runs}}));
         }});
  }
  return result;
}

void PeerRivals::give_up(const std::string& reason) {
  for (auto& rival : report_) {
    if (rival.at("ok").get<bool>()) rival["ok"] = false, rival["reason"] = reason;
  }
  process_.reset();
}

}  // namespace wide::app
