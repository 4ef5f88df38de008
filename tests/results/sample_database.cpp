#include "tests/results/sample_database.h"

#include "formats/error.h"
#include "tests/results/sample_records.h"

namespace wide::results::test {

std::string open_error(const std::filesystem::path& path, OpenMode mode) {
  try {
    Store::open(path, mode);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void fill(const std::filesystem::path& path) {
  Store store = Store::open(path, OpenMode::kReadWrite);
  const auto run = store.begin_run(sample_run());
  for (const char* key : {"a", "b", "c"}) store.add_case(run, passed_case(key));
}

std::string pragma(const std::filesystem::path& path, const std::string& name) {
  SQLite::Database db(path.string(), SQLite::OPEN_READONLY);
  return db.execAndGet("PRAGMA " + name).getString();
}

std::string everything(const std::filesystem::path& path) {
  std::string text;
  const Store store = Store::open(path, OpenMode::kReadOnly);
  for (const auto& run : store.runs()) {
    text += run.label + run.machine_key + std::to_string(run.passed) + describe(store.run(run.id));
    for (const auto& record : store.cases(run.id)) {
      text += describe(record);
      for (const auto& trace : store.traces(run.id, record.key))
        text += trace.name + store.read_trace(run.id, record.key, trace.name);
    }
  }
  for (const auto& point : store.trend("mlp")) text += point.key + std::to_string(point.speedup.low);
  for (const auto& baseline : store.baselines()) {
    text += baseline.name + baseline.created;
    for (const auto run : baseline.runs) text += std::to_string(run);
  }
  return text;
}

}  // namespace wide::results::test
