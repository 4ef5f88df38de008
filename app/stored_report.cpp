#include "app/stored_report.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "app/run_lock.h"
#include "app/stored_captures.h"
#include "app/summary.h"
#include "results/export.h"

namespace wide::app {
namespace {

std::vector<results::Trend> trends(const results::Store& store,
                                   const std::vector<results::CaseRecord>& cases) {
  constexpr std::size_t kMostSubjects = 40;
  std::vector<results::Trend> all;
  std::set<std::string> subjects;
  for (const auto& record : cases) {
    if (subjects.size() < kMostSubjects && subjects.insert(record.subject).second)
      all.push_back(results::trend(record.subject, store.trend(record.subject)));
  }
  return all;
}

}  // namespace

std::string stored_report(const results::Store& store, std::int64_t id, const std::string& format) {
  auto run = store.run(id);
  run.status = status_now(store, id, run.status);
  const auto cases = store.cases(id);
  if (format == "html") return results::to_html(run, cases, trends(store, cases), limits_of(store, id));
  if (format != "json") return results::exported(format, run, cases, {});
  if (captured_cases(store, id).empty()) return full_report_text(run, cases);
  auto report = full_report(run, cases);
  name_captures(report, store, id);
  return report.dump() + "\n";
}

}  // namespace wide::app
