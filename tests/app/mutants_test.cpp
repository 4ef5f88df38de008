// Databases, presets, reports and peaks that were damaged or made to hurt: no signal, no hang, one line each.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <sstream>

#include "app/cli/cli.h"
#include "app/fake_engine.h"
#include "app/fake_widebench.h"
#include "mutants.h"
#include "presets/preset.h"
#include "profiler/trace/roofline.h"
#include "results/case_store.h"
#include "results/database.h"
#include "results/report.h"
#include "results/run_store.h"
#include "results/sample_records.h"

namespace wide {
namespace {

using profiler::Random;
using results::test::bytes_of;
using test::mutants;
using test::objection_of_child;
using test::TemporaryFolder;

/// Runs a command line in this process; what is wrong with how it ended.
std::string objection_to_command(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  cli::Context context{.engine = test::fake_engine(), .out = out, .err = err};
  const int code = cli::run(arguments, context, test::fake_commands());
  const std::string what = arguments[0] + " " + arguments[1] + ": ";
  if (code != 0 && code != 2 && code != 3) return what + "code " + std::to_string(code) + " " + err.str();
  if (code == 0) return "";
  std::string line = err.str();
  if (line.ends_with('\n')) line.pop_back();
  const auto objection = test::objection_to_line(line);
  return objection.empty() ? "" : what + objection;
}

class Mutants : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    good_ = new TemporaryFolder;
    {
      auto store = results::Store::open(*good_ / "r.db", results::OpenMode::kReadWrite);
      for (int i = 0; i < 3; ++i) {
        auto record = results::test::sample_run();
        record.uid.clear();  // each its own
        const auto run = store.begin_run(record);
        for (const char* key : {"a", "b", "mlp/n=4"}) store.add_case(run, results::test::passed_case(key));
        store.add_case(run, results::test::failed_case("skipped", results::Verdict::kSkipped));
        store.add_trace(run, "a", "wide", std::string(5000, 't'));
        store.finish_run(run, results::RunStatus::kDone);
      }
      store.set_baseline("main", {1});
      store.add_tag(2, "nightly");
      store.add_note(2, "a note");
    }
    report_ = results::report(results::test::sample_run(), {results::test::passed_case()}).dump();
  }
  static void TearDownTestSuite() { delete good_; }

  void SetUp() override {
    ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    std::filesystem::copy_file(*good_ / "r.db", folder_ / "r.db");
  }

  /// What people do with a database that somebody gave them.
  std::string objection_to_database() {
    const auto file = (folder_ / "r.db").string();
    for (std::vector<std::string> words :
         std::vector<std::vector<std::string>>{{"runs", "list"},
                                               {"runs", "show", "1"},
                                               {"runs", "show", "latest", "--json"},
                                               {"runs", "compare", "1", "2"},
                                               {"runs", "trend", "mlp"},
                                               {"runs", "export", "1", "-o", (folder_ / "out.html").string()},
                                               {"runs", "tag", "2", "seen"},
                                               {"runs", "prune", "--keep", "1"}}) {
      words.insert(words.end(), {"--db", file});
      auto objection = objection_to_command(words);
      if (!objection.empty()) return objection;
    }
    return "";
  }

  void put(const std::string& bytes) {
    for (const char* left : {"r.db-wal", "r.db-shm"}) std::filesystem::remove(folder_ / left);
    folder_.write("r.db", bytes);
  }

  static TemporaryFolder* good_;
  static std::string report_;
  TemporaryFolder folder_;
};

TemporaryFolder* Mutants::good_ = nullptr;
std::string Mutants::report_;

template <typename List>
const auto& any_of(const List& list, Random& random) {
  return list[random.below(static_cast<std::uint32_t>(std::size(list)))];
}

/// A statement that changes rows; what it refers to may not be there.
std::string change_of_rows(Random& random) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kTables = {
      {"machine", {"key", "facts"}},
      {"settings", {"json"}},
      {"run",
       {"uid", "started", "command_line", "settings_id", "machine_id", "threads", "environment",
        "statistics_version", "parent_id", "origin", "status", "pinned", "label", "sum", "id"}},
      {"run_case",
       {"run_id", "key", "subject", "n", "shape", "plan", "verdict", "speedup", "speedup_low", "best_rival",
        "rounds", "seed", "reason", "noise", "details_sum", "samples_sum", "model_hash", "strategy"}},
      {"contender",
       {"place", "name", "median_us", "ci_low_us", "speedup", "samples", "outliers", "case_verdict"}},
      {"check_result", {"place", "what", "max_abs_err", "passed", "text", "tolerance"}},
      {"sample", {"number", "contender", "round", "position", "iterations", "microseconds"}},
      {"baseline", {"name", "created", "sum"}},
      {"baseline_run", {"name", "run_id"}},
      {"tag", {"tag", "run_id", "sum"}},
      {"note", {"text", "created", "run_id"}},
      {"trace", {"name", "size", "bytes", "case_id"}}};
  static const std::vector<std::string> kValues = {
      "NULL",
      "0",
      "-1",
      "1",
      "2",
      "9223372036854775807",
      "-9223372036854775808",
      "1e308",
      "-1e308",
      "9e999",
      "1e-320",
      "''",
      "'[]'",
      "'{}'",
      "'{\"a\":1,\"a\":2}'",
      "'null'",
      "'{'",
      "char(27)||'[31m'||char(10)||'x'",
      "CAST(x'FFFE00' AS TEXT)",
      "replace(hex(zeroblob(1000000)), '0', 'x')",
      "replace(hex(zeroblob(150000)), '00', '[')",
      "replace(hex(zeroblob(150000)), '00', '[') || replace(hex(zeroblob(150000)), '00', ']')",
      "replace(hex(zeroblob(300000)), '00', '{\"a\":') || '1' || replace(hex(zeroblob(300000)), '00', '}')",
      "x'00FF'",
      "'pass'",
      "'fail'",
      "'{\"cases\":[{\"kind\":\"model\",\"model\":\"/etc/passwd\"}]}'"};
  const auto& [table, columns] = any_of(kTables, random);
  const auto& column = any_of(columns, random);
  if (random.below(8) == 0) return "DELETE FROM " + table;
  auto sql = "UPDATE " + table + " SET " + column + " = " + any_of(kValues, random);
  if (random.below(2) == 0) sql += " WHERE rowid = " + std::to_string(1 + random.below(4));
  return sql;
}

std::string change_of_schema(Random& random) {
  static const std::vector<std::string> kTables = {"run",      "run_case", "tag",    "note",
                                                   "settings", "machine",  "sample", "trace"};
  const auto& table = any_of(kTables, random);
  static const std::string kEndless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT ";
  const std::vector<std::string> changes = {
      "CREATE TRIGGER evil AFTER INSERT ON " + table + " BEGIN DELETE FROM run_case; END",
      "CREATE TRIGGER evil BEFORE UPDATE ON " + table + " BEGIN SELECT RAISE(ABORT, 'no'); END",
      "CREATE TRIGGER evil AFTER DELETE ON " + table + " BEGIN INSERT INTO tag " + kEndless +
          "1, x, 1 FROM c; END",
      "CREATE VIEW evil AS " + kEndless + "x FROM c",
      "DROP TABLE " + table + "; CREATE VIEW " + table + " AS " + kEndless +
          "x AS id, x AS sum, x AS run_id, x AS tag FROM c",
      "DROP TABLE " + table,
      "DROP TABLE " + table + "; CREATE TABLE " + table + " (id, sum, run_id, json, key, facts)",
      "ALTER TABLE " + table + " ADD COLUMN more TEXT AS (hex(zeroblob(900000000)))",
      "ALTER TABLE " + table + " RENAME TO x" + table,
      "CREATE INDEX evil ON " + table + " (hex(zeroblob(1000)))",
      "CREATE TABLE \"" + std::string("a\nb\x1b[31m") + "\" (x)",
      "CREATE VIRTUAL TABLE evil USING fts5(x)",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE name = '" + table + "'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE " + table +
          "(' WHERE name = '" + table + "'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET type = 'view' WHERE name = '" + table + "'",
      "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = '" + table + "'",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 0 WHERE type = 'index'",
      "PRAGMA user_version = 0",
      "PRAGMA user_version = 1",
      "PRAGMA user_version = -1",
      "PRAGMA application_id = 0",
      "INSERT INTO sqlite_sequence VALUES ('run', 9223372036854775807)",
      "ANALYZE"};
  return any_of(changes, random);
}

/// Applies SQL as a stranger would, without the checks of ours; rows may get sums that fit.
void forge(const std::filesystem::path& path, const std::string& sql, bool with_sums) {
  try {
    SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
    db.exec("PRAGMA ignore_check_constraints = ON");
    db.exec(sql);
    if (!with_sums) return;
    db.exec(
        "UPDATE run SET sum = NULL; UPDATE settings SET sum = NULL; UPDATE machine SET sum = NULL; "
        "UPDATE run_case SET details_sum = NULL, samples_sum = NULL");
    results::fill_run_sums(db);
    results::fill_case_sums(db);
  } catch (const SQLite::Exception&) {
    // It was refused by SQLite: what was done until then stands.
  }
}

TEST_F(Mutants, RowsOfDatabases) {
  const std::string good = bytes_of(folder_ / "r.db");
  Random random(1);
  for (int i = 0; i < mutants(0.3); ++i) {
    put(good);
    std::string sql = change_of_rows(random);
    while (random.below(3) == 0) sql += "; " + change_of_rows(random);
    forge(folder_ / "r.db", sql, random.below(2) == 0);
    ASSERT_EQ(objection_of_child([&] { return objection_to_database(); }), "")
        << i << ": " << sql.substr(0, 500);
  }
}

TEST_F(Mutants, SchemasOfDatabases) {
  const std::string good = bytes_of(folder_ / "r.db");
  Random random(2);
  for (int i = 0; i < mutants(0.15); ++i) {
    put(good);
    const std::string sql = change_of_schema(random);
    forge(folder_ / "r.db", sql, false);
    ASSERT_EQ(objection_of_child([&] { return objection_to_database(); }), "") << i << ": " << sql;
  }
}

TEST_F(Mutants, BytesOfDatabases) {
  const std::string good = bytes_of(folder_ / "r.db");
  Random random(3);
  for (int i = 0; i < mutants(0.15); ++i) {
    std::string bad = good;
    const auto pages = static_cast<std::uint32_t>(bad.size() / 4096);
    const auto page = 4096 * static_cast<std::size_t>(random.below(pages));
    switch (random.below(4)) {
      case 0:
        bad.resize(random.below(static_cast<std::uint32_t>(bad.size())));
        break;
      case 1:  // one page in the place of another: loops
        bad.replace(page, 4096, good.substr(4096 * static_cast<std::size_t>(random.below(pages)), 4096));
        break;
      default:
        for (auto left = 1 + random.below(20); left > 0; --left)
          bad[page + random.below(random.below(2) == 0 ? 120 : 4096)] = static_cast<char>(random.next());
    }
    put(bad);
    ASSERT_EQ(objection_of_child([&] { return objection_to_database(); }), "") << i;
  }
}

TEST_F(Mutants, Presets) {
  const std::string good = bytes_of(presets::find_preset("ci"));
  Random random(4);
  for (int i = 0; i < mutants(0.15); ++i) {
    const auto file = folder_.write("p.json", test::mutated(good, random));
    const auto read = [&] { presets::read_preset(file); };
    ASSERT_EQ(objection_of_child([&] { return test::objection_to_reading(read); }), "") << i;
  }
}

TEST_F(Mutants, Reports) {
  Random random(5);
  for (int i = 0; i < mutants(0.1); ++i) {
    const auto file = folder_.write("report.json", test::mutated(report_, random)).string();
    const auto database = (folder_ / "r.db").string();
    ASSERT_EQ(objection_of_child([&] {
                auto objection = objection_to_command({"runs", "import", file, "--db", database});
                if (objection.empty())
                  objection = objection_to_command({"runs", "compare", file, "1", "--db", database});
                return objection;
              }),
              "")
        << i;
  }
}

TEST_F(Mutants, Peaks) {
  profiler::Peaks peaks;
  peaks.machine = "abc", peaks.device = "cpu", peaks.threads = 2, peaks.flops = {{"float32", 1e11}};
  peaks.bandwidth = {{16384, 1e11}, {1 << 26, 1e10}};
  const auto good = profiler::to_text(peaks);
  Random random(6);
  for (int i = 0; i < mutants(0.05); ++i) {
    const auto text = test::mutated(good, random);
    const auto read = [&] { profiler::peaks_from_text(text); };
    ASSERT_EQ(objection_of_child([&] { return test::objection_to_reading(read); }), "") << i;
  }
}

}  // namespace
}  // namespace wide
