#include "results/case_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "results/json_fields.h"

namespace wide::results {
namespace {

constexpr char kUpdateSums[] = "UPDATE run_case SET details_sum = ?, samples_sum = ? WHERE id = ?";

// A case that was captured only is no measurement. In the order of the index: nothing is sorted.
constexpr char kOfSubject[] = R"(
  FROM run_case WHERE subject = ?
  AND NOT (verdict = 'skipped' AND EXISTS (SELECT 1 FROM trace WHERE case_id = run_case.id))
  ORDER BY run_case.id)";

constexpr int kFirstField = 4;  // column of select_sql()

std::string select_sql() {
  return "SELECT id,run_id,details_sum,samples_sum," + columns_of<CaseRecord>();
}

/// Where select_sql() has a field.
int column_of(std::string_view name) {
  int next = kFirstField, found = -1;
  const CaseRecord none;
  visit_fields(none, [&]<typename Value>(const Field& field, const Value&) {
    if (field.column == name) found = next;
    next += is_limits<Value> ? 2 : 1;
  });
  return found;
}

/// Statements that give what lies under the case ?.
template <typename Record>
std::string select_under(const char* table, const char* first, const char* order) {
  return std::string("SELECT ") + first + columns_of<Record>() + " FROM " + table +
         " WHERE case_id = ? ORDER BY " + order;
}
std::string select_contenders() {
  return select_under<Rival>("contender", "place,name,", "place");
}
std::string select_checks() {
  return select_under<Check>("check_result", "", "place");
}
std::string select_samples() {
  return select_under<profiler::Sample>("sample", "", "number");
}

/// Reads cases and what lies under them, and checks their sums; keeps its statements for the next one.
class CaseReader {
 public:
  explicit CaseReader(SQLite::Database& db)
      : contenders_(db, select_contenders()),
        checks_(db, select_checks()),
        samples_(db, select_samples()),
        circumstances_(db, "SELECT sum, json FROM circumstances WHERE case_id = ?") {}

  /// `found` stands on a row of select_sql().
  CaseRecord read(const ManyRows& found, CaseParts parts);

 private:
  void read_contenders(std::int64_t id, CaseRecord& record, Checksum& sum);
  void read_circumstances(std::int64_t id, CaseRecord& record, CaseParts parts);

  ManyRows contenders_, checks_, samples_, circumstances_;
};

void CaseReader::read_contenders(std::int64_t id, CaseRecord& record, Checksum& sum) {
  contenders_.bind(1, id);
  while (contenders_.step()) {
    Columns row(contenders_);
    row.into(&sum);
    const std::int64_t place = row.integer();
    Rival rival;
    rival.name = row.text();
    visit_fields(rival, row);
    if (place == 0) {
      record.wide = rival.time;
    } else {
      record.rivals.push_back(std::move(rival));
    }
  }
}

/// All that `rows` gives of a case.
template <typename Record>
void read_all(ManyRows& rows, std::int64_t id, std::vector<Record>& into, Checksum& sum) {
  rows.bind(1, id);
  while (rows.step()) {
    Columns row(rows);
    visit_fields(into.emplace_back(), row.into(&sum));
  }
}

void CaseReader::read_circumstances(std::int64_t id, CaseRecord& record, CaseParts parts) {
  circumstances_.bind(1, id);
  while (circumstances_.step()) {
    Columns row(circumstances_);
    Checksum read;
    const auto sum = row.optional_integer();
    const auto text = row.into(&read).text();
    require_sum(sum, read, "the circumstances of case ", id);
    if (parts == CaseParts::kCompared && text.find("disturbed") == text.npos) continue;
    record.circumstances = circumstances_from_json(formats::parse_document(text));
  }
}

CaseRecord CaseReader::read(const ManyRows& found, CaseParts parts) {
  Columns row(found);
  const std::int64_t id = row.integer();
  row.integer();  // run
  const auto details_sum = row.optional_integer(), samples_sum = row.optional_integer();
  Checksum details, samples;
  row.into(&details);
  const bool compared = parts == CaseParts::kCompared;
  CaseRecord result;
  visit_fields(result, [&](const Field& field, auto&& value) {
    if (compared && !field.is_compared) {
      row.skip(field, value);
    } else {
      row(field, value);
    }
  });
  read_contenders(id, result, details);
  if (compared) {
    checks_.bind(1, id);
    while (checks_.step()) checks_.add(details);
  } else {
    read_all(checks_, id, result.checks, details);
  }
  read_circumstances(id, result, parts);
  require_sum(details_sum, details, "case ", id);
  if (parts != CaseParts::kAll) return result;
  read_all(samples_, id, result.samples, samples);
  require_sum(samples_sum, samples, "case ", id);
  return result;
}

/// The sum over a case, whose row of select_sql() `found` stands on, and over its contenders and checks.
class DetailsSum {
 public:
  explicit DetailsSum(SQLite::Database& db)
      : contenders_(db, select_contenders()), checks_(db, select_checks()) {}
  /// `point`, where given, gets its median of wide and the names of its rivals.
  Checksum of(const ManyRows& found, TrendPoint* point = nullptr) {
    constexpr int kPlace = 0, kName = 1, kMedian = 2;  // columns of select_contenders()
    Checksum sum;
    Columns row(found, kFirstField);
    row.into(&sum);
    visit_fields(none_, [&](const Field& field, const auto& value) { row.skip(field, value); });
    contenders_.bind(1, found.integer(0));
    rivals_.clear();
    while (contenders_.step()) {
      contenders_.add(sum);
      if (point == nullptr) continue;
      if (contenders_.integer(kPlace) == 0) {
        point->wide_us = contenders_.real(kMedian);
      } else {
        rivals_.emplace_back(contenders_.text(kName));
      }
    }
    std::sort(rivals_.begin(), rivals_.end());
    for (const auto& rival : rivals_) point->rivals.append(point->rivals.empty() ? "" : ",").append(rival);
    checks_.bind(1, found.integer(0));
    while (checks_.step()) checks_.add(sum);
    return sum;
  }

 private:
  ManyRows contenders_, checks_;
  std::vector<std::string> rivals_;
  const CaseRecord none_;
};

}  // namespace

void fill_case_sums(SQLite::Database& db) {
  std::vector<std::array<std::int64_t, 3>> sums;
  ManyRows found(db, select_sql() + " FROM run_case WHERE details_sum IS NULL"),
      samples(db, select_samples());
  DetailsSum details(db);
  while (found.step()) {
    Checksum of_samples;
    samples.bind(1, found.integer(0));
    while (samples.step()) samples.add(of_samples);
    sums.push_back({details.of(found).value(), of_samples.value(), found.integer(0)});
  }
  SQLite::Statement update(db, kUpdateSums);
  for (const auto& [of_details, of_samples, id] : sums) {
    Binder(update).integer(of_details).integer(of_samples).integer(id);
    update.exec();
    update.reset();
  }
}

CaseWriter::CaseWriter(SQLite::Database& db)
    : db_(db),
      case_(db, insert_into("run_case", "run_id," + columns_of<CaseRecord>())),
      contender_(db, insert_into("contender", "case_id,case_verdict,place,name," + columns_of<Rival>())),
      check_(db, insert_into("check_result", "case_id,case_verdict,place," + columns_of<Check>())),
      sample_(db, insert_into("sample", "case_id,number," + columns_of<profiler::Sample>())),
      sums_(db, kUpdateSums),
      circumstances_(db, insert_into("circumstances", "case_id,json,sum")) {}

void CaseWriter::insert_contenders(std::int64_t id, const CaseRecord& record, Checksum& sum) {
  int place = 0;
  const auto add = [&](const Rival& rival) {
    Binder binder(contender_);
    binder.integer(id).text(name(record.verdict)).into(sum).integer(place++).text(rival.name);
    visit_fields(rival, binder);
    contender_.exec();
    contender_.reset();
  };
  add({"wide", record.wide, {}, record.first_run_us});
  for (const Rival& rival : record.rivals) add(rival);
}

void CaseWriter::insert_checks(std::int64_t id, const CaseRecord& record, Checksum& sum) {
  int place = 0;
  for (const Check& check : record.checks) {
    Binder binder(check_);
    binder.integer(id).text(name(record.verdict)).integer(place++);
    visit_fields(check, binder.into(sum));
    check_.exec();
    check_.reset();
  }
}

void CaseWriter::insert_samples(std::int64_t id, const CaseRecord& record, Checksum& sum) {
  std::int64_t number = 0;
  for (const profiler::Sample& sample : record.samples) {
    Binder binder(sample_);
    visit_fields(sample, binder.integer(id).integer(number++).into(sum));
    sample_.exec();
    sample_.reset();
  }
}

void CaseWriter::insert_circumstances(std::int64_t id, const CaseRecord& record) {
  const auto known = to_json(record.circumstances);
  if (known.empty()) return;
  Checksum sum;
  Binder binder(circumstances_);
  binder.integer(id).into(sum).json(known);
  circumstances_.bind(3, sum.value());
  circumstances_.exec();
  circumstances_.reset();
}

void CaseWriter::insert(std::int64_t run, const CaseRecord& record) {
  Checksum details, samples;
  Binder binder(case_);
  visit_fields(record, binder.integer(run).into(details));
  case_.exec();
  case_.reset();
  const std::int64_t id = db_.getLastInsertRowid();
  insert_contenders(id, record, details);
  insert_checks(id, record, details);
  insert_samples(id, record, samples);
  insert_circumstances(id, record);
  Binder(sums_).integer(details.value()).integer(samples.value()).integer(id);
  sums_.exec();
  sums_.reset();
}

std::vector<CaseRecord> select_cases(SQLite::Database& db, std::int64_t run, CaseParts parts) {
  ManyRows count(db, "SELECT count(*) FROM run_case WHERE run_id = ?");
  count.bind(1, run);
  count.step();
  ManyRows select(db, select_sql() + " FROM run_case WHERE run_id = ? ORDER BY id");
  select.bind(1, run);
  CaseReader reader(db);
  std::vector<CaseRecord> cases;
  cases.reserve(static_cast<std::size_t>(count.integer(0)));
  while (select.step()) cases.push_back(reader.read(select, parts));
  return cases;
}

std::vector<TrendPoint> select_subject(SQLite::Database& db, const std::string& subject,
                                       const std::map<std::int64_t, RunRow>& runs) {
  ManyRows found(db, select_sql() + kOfSubject);
  found.bind(1, subject);
  const int key = column_of("key"), n = column_of("n"), shape = column_of("shape"),
            device = column_of("device"), dtype = column_of("dtype"), mode = column_of("mode"),
            strategy = column_of("strategy"), verdict = column_of("verdict"), speedup = column_of("speedup"),
            model_hash = column_of("model_hash");
  DetailsSum details(db);
  std::vector<TrendPoint> points;
  while (found.step()) {
    const auto of_run = runs.find(found.integer(1));
    if (of_run == runs.end()) throw SQLite::Exception("run without a machine", SQLITE_CORRUPT);
    const auto& [run, machine_key] = of_run->second;
    if (run.origin != "measured" || run.parent != 0) continue;
    TrendPoint& point = points.emplace_back();
    require_sum(found.optional_integer(2), details.of(found, &point), "case ", found.integer(0));
    point.run = run.id;
    point.started = run.started;
    point.git_commit = run.git_commit;
    point.machine_key = machine_key;
    point.threads = run.threads;
    point.key = found.text(key);
    point.n = found.integer(n);
    point.shape = found.text(shape);
    point.device = found.text(device);
    point.dtype = found.text(dtype);
    point.mode = found.text(mode);
    point.strategy = found.text(strategy);
    point.verdict = parse_verdict(found.text(verdict)).value_or(Verdict::kError);
    point.speedup = {found.real(speedup), found.real(speedup + 1), found.real(speedup + 2)};
    point.model_hash = found.text(model_hash);
  }
  const auto is_older = [](const TrendPoint& a, const TrendPoint& b) { return a.run < b.run; };
  if (!std::is_sorted(points.begin(), points.end(), is_older))  // a run was resumed after others
    std::stable_sort(points.begin(), points.end(), is_older);
  return points;
}

}  // namespace wide::results
