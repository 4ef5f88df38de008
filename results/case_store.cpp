#include "results/case_store.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>

#include "results/json_fields.h"

namespace wide::results {
namespace {

constexpr char kInsertCase[] = R"(
  INSERT INTO run_case (run_id, key, subject, kind, n, shape, device, dtype, mode, strategy, verdict, reason,
    speedup, speedup_low, speedup_high, best_rival, best_speedup, best_speedup_low, best_speedup_high,
    noise, noise_low, noise_high, rounds, stop_reason, compile_us, first_run_us, peak_memory_bytes, plan,
    started, seconds, seed, load_1min, cpu_mhz, model_hash)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?, ?,?,?,?,?,?,?, ?,?,?,?,?,?,?,?,?, ?,?,?,?,?,?))";

constexpr char kCaseColumns[] = R"(
  SELECT run_case.id, run_id, details_sum, samples_sum,
    key, subject, kind, n, shape, run_case.device, dtype, mode, strategy, verdict, reason,
    speedup, speedup_low, speedup_high, best_rival, best_speedup, best_speedup_low, best_speedup_high,
    noise, noise_low, noise_high, rounds, stop_reason, compile_us, first_run_us, peak_memory_bytes, plan,
    run_case.started, seconds, seed, load_1min, cpu_mhz, model_hash)";

constexpr int kFirstOfDetails = 4;  // of these columns
constexpr char kUpdateSums[] = "UPDATE run_case SET details_sum = ?, samples_sum = ? WHERE id = ?";

constexpr char kOfRun[] = " FROM run_case WHERE run_id = ? ORDER BY id";

// A case that was captured only is no measurement. In the order of the index: nothing is sorted.
constexpr char kOfSubject[] = R"(
  FROM run_case WHERE subject = ?
  AND NOT (verdict = 'skipped' AND EXISTS (SELECT 1 FROM trace WHERE case_id = run_case.id))
  ORDER BY run_case.id)";

constexpr char kInsertContender[] = R"(
  INSERT INTO contender (case_id, case_verdict, place, name, median_us, ci_low_us, ci_high_us, min_us, iqr_us, mad_us,
    outliers, samples, first_run_us, speedup, speedup_low, speedup_high)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?))";

constexpr char kSelectContenders[] = R"(
  SELECT place, name, median_us, ci_low_us, ci_high_us, min_us, iqr_us, mad_us, outliers, samples, first_run_us,
    speedup, speedup_low, speedup_high
  FROM contender WHERE case_id = ? ORDER BY place)";

constexpr char kSelectChecks[] = R"(
  SELECT what, member, max_abs_err, max_rel_err, tolerance, passed, text FROM check_result
  WHERE case_id = ? ORDER BY place)";

constexpr char kSelectSamples[] = R"(
  SELECT contender, round, position, iterations, microseconds FROM sample WHERE case_id = ? ORDER BY number)";

void bind_summary(Binder& binder, const Summary& summary) {
  binder.real(summary.median_us).real(summary.ci95.low).real(summary.ci95.high);
  binder.real(summary.min_us).real(summary.iqr_us).real(summary.mad_us);
  binder.integer(summary.outliers).integer(summary.samples);
}

Summary read_summary(Columns& row) {
  Summary summary;
  summary.ci95.value = summary.median_us = row.real();
  summary.ci95.low = row.real();
  summary.ci95.high = row.real();
  summary.min_us = row.real();
  summary.iqr_us = row.real();
  summary.mad_us = row.real();
  summary.outliers = row.small();
  summary.samples = row.small();
  return summary;
}

/// Reads cases and what lies under them, and checks their sums; keeps its statements for the next one.
class CaseReader {
 public:
  explicit CaseReader(SQLite::Database& db)
      : contenders_(db, kSelectContenders),
        checks_(db, kSelectChecks),
        samples_(db, kSelectSamples),
        circumstances_(db, "SELECT sum, json FROM circumstances WHERE case_id = ?") {}

  /// `found` stands on a row of kCaseColumns.
  CaseRecord read(const ManyRows& found, CaseParts parts);

 private:
  void read_contenders(std::int64_t id, CaseRecord& record, Checksum& sum);
  void read_checks(std::int64_t id, CaseRecord& record, Checksum& sum);
  void read_samples(std::int64_t id, CaseRecord& record, Checksum& sum);

  void read_circumstances(std::int64_t id, CaseRecord& record, CaseParts parts);

  ManyRows contenders_, checks_, samples_, circumstances_;
};

void CaseReader::read_contenders(std::int64_t id, CaseRecord& record, Checksum& sum) {
  contenders_.bind(1, id);
  while (contenders_.step()) {
    Columns row(contenders_);
    row.into(&sum);
    const int place = row.small();
    Rival rival;
    rival.name = row.text();
    rival.time = read_summary(row);
    rival.first_run_us = row.real();
    rival.speedup = row.interval();
    if (place == 0) {
      record.wide = rival.time;
    } else {
      record.rivals.push_back(std::move(rival));
    }
  }
}

void CaseReader::read_checks(std::int64_t id, CaseRecord& record, Checksum& sum) {
  checks_.bind(1, id);
  while (checks_.step()) {
    Columns row(checks_);
    row.into(&sum);
    Check check;
    check.what = row.text();
    check.member = row.text();
    check.max_abs_err = row.real();
    check.max_rel_err = row.real();
    check.tolerance = row.real();
    check.passed = row.integer() != 0;
    check.text = row.text();
    record.checks.push_back(std::move(check));
  }
}

void CaseReader::read_samples(std::int64_t id, CaseRecord& record, Checksum& sum) {
  samples_.bind(1, id);
  while (samples_.step()) {
    Columns row(samples_);
    row.into(&sum);
    profiler::Sample sample;
    sample.contender = row.small();
    sample.round = row.small();
    sample.position = row.small();
    sample.iterations = row.integer();
    sample.microseconds = row.real();
    record.samples.push_back(sample);
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

/// What compare() looks at.
CaseRecord read_compared_columns(Columns& row) {
  CaseRecord record;
  record.key = row.text();
  record.subject = row.text();
  record.n = row.skip(1).integer();
  record.device = row.skip(1).text();
  record.dtype = row.text();
  record.mode = row.text();
  record.strategy = row.text();
  record.verdict = parse_verdict(row.text()).value_or(Verdict::kError);
  record.reason = row.text();
  record.noise_floor = row.skip(7).interval();
  record.load_1min = row.skip(9).real();
  record.model_hash = row.skip(1).text();
  return record;
}

CaseRecord read_columns(Columns& row) {
  CaseRecord record;
  record.key = row.text();
  record.subject = row.text();
  record.kind = row.text();
  record.n = row.integer();
  record.shape = row.json();
  record.device = row.text();
  record.dtype = row.text();
  record.mode = row.text();
  record.strategy = row.text();
  record.verdict = parse_verdict(row.text()).value_or(Verdict::kError);
  record.reason = row.text();
  record.speedup = row.interval();
  record.best_rival = row.text();
  record.speedup_best_rival = row.interval();
  record.noise_floor = row.interval();
  record.rounds = row.small();
  record.stop_reason = row.text();
  record.compile_us = row.real();
  record.first_run_us = row.real();
  record.peak_memory_bytes = row.optional_integer();
  record.plan = row.json();
  record.started = row.text();
  record.seconds = row.real();
  record.seed = static_cast<std::uint64_t>(row.integer());
  record.load_1min = row.real();
  record.cpu_mhz = row.real();
  record.model_hash = row.text();
  return record;
}

CaseRecord CaseReader::read(const ManyRows& found, CaseParts parts) {
  Columns row(found);
  const std::int64_t id = row.integer();
  row.integer();  // run
  const auto details_sum = row.optional_integer(), samples_sum = row.optional_integer();
  Checksum details, samples;
  row.into(&details);
  const bool compared = parts == CaseParts::kCompared;
  CaseRecord result = compared ? read_compared_columns(row) : read_columns(row);
  read_contenders(id, result, details);
  if (compared) {
    checks_.bind(1, id);
    while (checks_.step()) checks_.add(details);
  } else {
    read_checks(id, result, details);
  }
  read_circumstances(id, result, parts);
  require_sum(details_sum, details, "case ", id);
  if (parts != CaseParts::kAll) return result;
  read_samples(id, result, samples);
  require_sum(samples_sum, samples, "case ", id);
  return result;
}

/// The sum over a case, whose row of kCaseColumns `found` stands on, and over its contenders and checks.
class DetailsSum {
 public:
  explicit DetailsSum(SQLite::Database& db)
      : contenders_(db, kSelectContenders), checks_(db, kSelectChecks) {}
  /// `point`, where given, gets its median of wide and the names of its rivals.
  Checksum of(const ManyRows& found, TrendPoint* point = nullptr) {
    constexpr int kPlace = 0, kName = 1, kMedian = 2;  // columns of kSelectContenders
    Checksum sum;
    found.add(sum, kFirstOfDetails);
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
};

}  // namespace

void fill_case_sums(SQLite::Database& db) {
  std::vector<std::array<std::int64_t, 3>> sums;
  ManyRows found(db, std::string(kCaseColumns) + " FROM run_case WHERE details_sum IS NULL"),
      samples(db, kSelectSamples);
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
      case_(db, kInsertCase),
      contender_(db, kInsertContender),
      check_(db, "INSERT INTO check_result VALUES (?,?,?,?,?,?,?,?,?,?)"),
      sample_(db, "INSERT INTO sample VALUES (?,?,?,?,?,?,?)"),
      sums_(db, kUpdateSums),
      circumstances_(db, "INSERT INTO circumstances VALUES (?,?,?)") {}

void CaseWriter::insert_contenders(std::int64_t id, const CaseRecord& record, Checksum& sum) {
  const auto add = [&](int place, std::string_view contender, const Summary& time, double first_run_us,
                       const Interval& speedup) {
    Binder binder(contender_);
    binder.integer(id).text(name(record.verdict)).into(sum).integer(place).text(contender);
    bind_summary(binder, time);
    binder.real(first_run_us).interval(speedup);
    contender_.exec();
    contender_.reset();
  };
  add(0, "wide", record.wide, record.first_run_us, {});
  int place = 1;
  for (const Rival& rival : record.rivals)
    add(place++, rival.name, rival.time, rival.first_run_us, rival.speedup);
}

void CaseWriter::insert_checks(std::int64_t id, const CaseRecord& record, Checksum& sum) {
  int place = 0;
  for (const Check& check : record.checks) {
    Binder binder(check_);
    binder.integer(id).text(name(record.verdict)).integer(place++);
    binder.into(sum).text(check.what).text(check.member);
    binder.real(check.max_abs_err).real(check.max_rel_err).real(check.tolerance);
    binder.integer(check.passed ? 1 : 0).text(check.text);
    check_.exec();
    check_.reset();
  }
}

void CaseWriter::insert_samples(std::int64_t id, const CaseRecord& record, Checksum& sum) {
  std::int64_t number = 0;
  for (const profiler::Sample& sample : record.samples) {
    Binder binder(sample_);
    binder.integer(id).integer(number++).into(sum);
    binder.integer(sample.contender).integer(sample.round).integer(sample.position);
    binder.integer(sample.iterations).real(sample.microseconds);
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
  binder.integer(run).into(details).text(record.key).text(record.subject).text(record.kind);
  binder.integer(record.n).json(record.shape);
  binder.text(record.device).text(record.dtype).text(record.mode).text(record.strategy);
  binder.text(name(record.verdict)).text(record.reason).interval(record.speedup);
  binder.text(record.best_rival).interval(record.speedup_best_rival).interval(record.noise_floor);
  binder.integer(record.rounds).text(record.stop_reason).real(record.compile_us).real(record.first_run_us);
  if (record.peak_memory_bytes) {
    binder.integer(*record.peak_memory_bytes);
  } else {
    binder.null();
  }
  binder.json(record.plan).text(record.started).real(record.seconds);
  binder.integer(static_cast<std::int64_t>(record.seed)).real(record.load_1min).real(record.cpu_mhz);
  binder.text(record.model_hash);
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
  ManyRows select(db, std::string(kCaseColumns) + kOfRun);
  select.bind(1, run);
  CaseReader reader(db);
  std::vector<CaseRecord> cases;
  cases.reserve(static_cast<std::size_t>(count.integer(0)));
  while (select.step()) cases.push_back(reader.read(select, parts));
  return cases;
}

std::vector<TrendPoint> select_subject(SQLite::Database& db, const std::string& subject,
                                       const std::map<std::int64_t, RunRow>& runs) {
  ManyRows found(db, std::string(kCaseColumns) + kOfSubject);
  found.bind(1, subject);
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
    point.key = found.text(4);
    point.n = found.integer(7);
    point.shape = found.text(8);
    point.device = found.text(9);
    point.dtype = found.text(10);
    point.mode = found.text(11);
    point.strategy = found.text(12);
    point.verdict = parse_verdict(found.text(13)).value_or(Verdict::kError);
    point.speedup = {found.real(15), found.real(16), found.real(17)};
    point.model_hash = found.text(36);
  }
  const auto is_older = [](const TrendPoint& a, const TrendPoint& b) { return a.run < b.run; };
  if (!std::is_sorted(points.begin(), points.end(), is_older))  // a run was resumed after others
    std::stable_sort(points.begin(), points.end(), is_older);
  return points;
}

}  // namespace wide::results
