// Events asked in SQL: answers, what is refused, what goes wrong.
#include "results/event_query.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "formats/error.h"

namespace wide::results {
namespace {

profiler::Trace two_events() {
  profiler::Trace trace;
  trace.contender = "wide";
  trace.nodes.push_back({.name = "%mm aten.mm.default", .op = "aten.mm.default", .strategy = "bmm"});
  const auto track = trace.track({"wide", "main", 1, 1, -1});
  for (const std::int64_t start : {1000, 9000}) {
    profiler::Slice slice;
    slice.name = trace.names.intern(start == 1000 ? "aten::bmm" : "it's"),
    slice.kind = profiler::Kind::kOperator;
    slice.start = start, slice.duration = 2500, slice.track = track;
    if (start == 1000) slice.node = 0, slice.pass = 3;
    trace.slices.push(slice);
  }
  return trace;
}

EventQuery events() {
  const std::array traces = {two_events()};
  const std::array structures = {profiler::structure(traces[0])};
  return {traces, structures, [] {}};
}

std::string fault_of(const std::string& sql) {
  try {
    (void)events().ask(sql, [] {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(EventQuery, Answers) {
  const auto answer = events().ask(
      "SELECT name, node, strategy, start_us, duration_us, pass FROM events ORDER BY start_us;", [] {});
  EXPECT_EQ(answer.columns.at(3), "start_us");
  ASSERT_EQ(answer.rows.size(), 2U);
  EXPECT_EQ(answer.rows[0],
            (std::vector<std::string>{"aten::bmm", "%mm aten.mm.default", "bmm", "1.0", "2.5", "3"}));
  EXPECT_EQ(answer.rows[1], (std::vector<std::string>{"it's", "", "", "9.0", "2.5", ""}));
  EXPECT_EQ(events().ask("SELECT count(*) FROM events", [] {}).rows.at(0).at(0), "2");
  EXPECT_EQ(
      events()
          .ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 5) SELECT * FROM n", [] {})
          .rows.size(),
      5U);
}

TEST(EventQuery, ChangesNothingAndSeesNoFile) {
  const auto file = std::filesystem::temp_directory_path() / "widebench-event-query.db";
  std::filesystem::remove(file);
  for (const std::string sql :
       {"DELETE FROM events", "DROP TABLE events", "UPDATE events SET pass = 1", "PRAGMA user_version = 3",
        "CREATE TABLE t (x)", "INSERT INTO events (name) VALUES ('x')", "VACUUM", "BEGIN",
        "SELECT load_extension('x')"})
    EXPECT_NE(fault_of(sql), "") << sql;
  EXPECT_NE(fault_of("ATTACH DATABASE '" + file.string() + "' AS other"), "");
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_NE(fault_of("DELETE FROM events").find("only SELECT is allowed"), std::string::npos)
      << fault_of("DELETE FROM events");
}

TEST(EventQuery, SaysWhatIsWrong) {
  EXPECT_NE(fault_of("SELECT nonsense FROM events").find("no such column: nonsense"), std::string::npos);
  EXPECT_NE(fault_of("SELECT nonsense FROM events").find("the table is called events"), std::string::npos);
  EXPECT_NE(fault_of("SELEC").find("syntax error"), std::string::npos);
  EXPECT_NE(fault_of(" -- nothing").find("there is no query"), std::string::npos);
  EXPECT_NE(fault_of("SELECT 1; SELECT 2").find("one query at a time"), std::string::npos);
}

TEST(EventQuery, EndsWhenNobodyWaitsAndLeavesRowsOut) {
  const auto query = events();
  int asked = 0;
  const std::string forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT ";
  EXPECT_THROW(query.ask(forever + "count(*) FROM n",
                         [&] {
                           if (++asked > 3) throw std::runtime_error("cancelled");
                         }),
               std::runtime_error);
  const auto cut = query.ask(
      forever + "i FROM n", [] {}, 10);
  EXPECT_EQ(cut.rows.size(), 10U);
  EXPECT_TRUE(cut.more);
  EXPECT_EQ(query.ask("SELECT count(*) FROM events", [] {}).rows.at(0).at(0), "2");  // it still answers
}

}  // namespace
}  // namespace wide::results
