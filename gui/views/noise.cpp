#include "gui/views/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "profiler/statistics.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::gui {

std::optional<Noise> noise_of(const std::vector<results::CaseRecord>& cases) {
  std::vector<double> shares;
  for (const auto& record : cases) {
    const double share = profiler::indifference(record.noise_floor, 0);
    if (std::isfinite(share)) shares.push_back(share);
  }
  if (shares.empty()) return std::nullopt;
  return Noise{.share = profiler::median(shares), .cases = shares.size()};
}

bool unreliable(const Noise& noise) {
  return noise.share > profiler::kMostNoiseOfVerdict;
}

std::optional<Noise> read_noise(const std::filesystem::path& database, const std::string& machine_key) {
  constexpr std::size_t kLookedAt = 20;  // runs: of older ones nothing is concluded
  const auto store = results::Store::open(database, results::OpenMode::kReadOnly);
  auto runs = store.runs();
  std::reverse(runs.begin(), runs.end());
  std::erase_if(runs,
                [&](const auto& run) { return run.origin != "measured" || run.machine_key != machine_key; });
  for (std::size_t i = 0; i < std::min(runs.size(), kLookedAt); ++i) {
    auto noise = noise_of(store.cases(runs[i].id, /*with_samples=*/false));
    if (!noise) continue;
    noise->run = runs[i].id;
    return noise;
  }
  return std::nullopt;
}

std::string short_processor(const std::string& name) {
  constexpr std::array<std::string_view, 7> kFill = {"CPU",  "Processor", "AMD",           "Intel",
                                                     "with", "Genuine",   "Microprocessor"};
  auto plain = results::printable(name, 200);
  for (const std::string_view mark : {"(R)", "(r)", "(TM)", "(tm)"}) {
    for (auto at = plain.find(mark); at != std::string::npos; at = plain.find(mark))
      plain.erase(at, mark.size());
  }
  std::istringstream words(plain);
  std::string text;
  for (std::string word; words >> word;) {
    if (word == "@") break;  // its clock
    if (std::find(kFill.begin(), kFill.end(), word) != kFill.end() || word.ends_with("-Core")) continue;
    text.append(text.empty() ? "" : " ").append(word);
  }
  return text.empty() ? plain : text;
}

}  // namespace wide::gui
