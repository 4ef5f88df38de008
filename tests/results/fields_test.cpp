// The lists of fields: what is in them is stored, reported and read back; what is added later breaks no old
// sum.
#include <gtest/gtest.h>

#include "results/export.h"
#include "results/report.h"
#include "results/rows.h"
#include "results/store.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::describe;
using test::TemporaryFolder;

/// Gives every field a value that no other has.
class Filler {
 public:
  void operator()(const Field& field, auto&& value) {
    if constexpr (is_limits<std::remove_cvref_t<decltype(value)>>) {
      value.low = ++next_, value.high = ++next_;
    } else if constexpr (requires { value.is_null(); }) {
      value = {{"made up", ++next_}};
    } else if constexpr (requires { value.append(""); }) {
      value = field.json == "stop_reason" ? "time" : "made up " + std::to_string(++next_);
    } else if constexpr (std::is_same_v<decltype(value), Verdict&>) {
      value = Verdict::kPass;
    } else {
      value = ++next_;
    }
  }

 private:
  int next_ = 0;
};

void forget(Limits<double>& value) {
  value.low = value.high = kUnknown;
}
void forget(double& value) {
  value = kUnknown;
}
void forget(auto& value) {
  value = {};
}

TEST(Fields, AllAreStoredReportedAndReadBack) {
  CaseRecord record;
  Filler fill;
  visit_fields(record, fill);
  visit_fields(record.wide, fill);
  visit_fields(record.rivals.emplace_back(Rival{.name = "rival"}), fill);
  Check& check = record.checks.emplace_back();
  visit_fields(check, fill);
  check.passed = true;
  visit_fields(record.samples.emplace_back(), fill);
  EXPECT_EQ(describe(case_from_json(case_json(record))), describe(record));

  const TemporaryFolder folder;
  Store store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  const auto run = store.begin_run(test::sample_run());
  store.add_case(run, record);
  EXPECT_EQ(describe(store.cases(run).front()), describe(record));

  visit_fields(record, [](const Field& field, auto&& value) {
    if (!field.is_compared) forget(value);
  });
  record.checks.clear(), record.samples.clear();
  EXPECT_EQ(describe(store.compared_cases(run).front()), describe(record));
}

struct Measured {
  double old = kUnknown, later = kUnknown;
  std::optional<std::int64_t> count;
};

void visit_fields(RecordOf<Measured> auto& record, auto&& visit) {
  visit(Field("old"), record.old);
  visit(Field("later").metric(), record.later);
  visit(Field("count").metric(), record.count);
}

class Metrics : public testing::Test {
 protected:
  Metrics() { db_.exec("CREATE TABLE made_up (old REAL, later REAL, count INTEGER) STRICT"); }

  /// The sum as it is written, as it is read, and as it is when the fields are passed over.
  std::array<std::int64_t, 3> sums(const Measured& record) {
    db_.exec("DELETE FROM made_up");
    Checksum written, read, passed;
    SQLite::Statement insert(db_, insert_into("made_up", "old,later,count"));
    Binder binder(insert);
    visit_fields(record, binder.into(written));
    insert.exec();
    ManyRows rows(db_, "SELECT old,later,count FROM made_up");
    EXPECT_TRUE(rows.step());
    Columns row(rows), again(rows);
    Measured back;
    visit_fields(back, row.into(&read));
    EXPECT_EQ(nlohmann::json({back.old, back.later}).dump(),
              nlohmann::json({record.old, record.later}).dump());
    EXPECT_EQ(back.count, record.count);
    again.into(&passed);
    visit_fields(record, [&](const Field& field, const auto& value) { again.skip(field, value); });
    return {written.value(), read.value(), passed.value()};
  }

  SQLite::Database db_{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
};

TEST_F(Metrics, ThatAreNotKnownAreInNoSum) {
  const auto before = Checksum().real(2.5).value();  // of the row when it had no such column
  EXPECT_EQ(sums({.old = 2.5}), (std::array{before, before, before}));
  const auto all = Checksum().real(2.5).real(7.5).integer(3).value();
  EXPECT_EQ(sums({2.5, 7.5, 3}), (std::array{all, all, all}));
  const auto null = Checksum().null().value();  // of what every database has
  EXPECT_EQ(sums({}), (std::array{null, null, null}));
}

}  // namespace
}  // namespace wide::results
