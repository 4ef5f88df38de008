#include "results/case_store.h"

#include <sqlite3.h>

#include <cmath>

#include "results/json_fields.h"
#include "results/text.h"

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

constexpr char kOfRun[] = " FROM run_case WHERE run_id = ? ORDER BY id";

// A case that was captured only is no measurement.
constexpr char kOfSubject[] = R"(
  FROM run_case JOIN run ON run.id = run_id
  WHERE subject = ? AND origin = 'measured' AND parent_id IS NULL
  AND NOT (verdict = 'skipped' AND EXISTS (SELECT 1 FROM trace WHERE case_id = run_case.id))
  ORDER BY run.id, run_case.id)";

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
      : contenders_(db, kSelectContenders), checks_(db, kSelectChecks), samples_(db, kSelectSamples) {}

  /// `found` stands on a row of kCaseColumns.
  MeasuredCase read(SQLite::Statement& found, bool with_samples);

 private:
  void read_contenders(std::int64_t id, CaseRecord& record, Checksum& sum);
  void read_checks(std::int64_t id, CaseRecord& record, Checksum& sum);
  void read_samples(std::int64_t id, CaseRecord& record, Checksum& sum);

  SQLite::Statement contenders_, checks_, samples_;
};

void CaseReader::read_contenders(std::int64_t id, CaseRecord& record, Checksum& sum) {
  contenders_.bind(1, id);
  while (contenders_.executeStep()) {
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
  contenders_.reset();
}

void CaseReader::read_checks(std::int64_t id, CaseRecord& record, Checksum& sum) {
  checks_.bind(1, id);
  while (checks_.executeStep()) {
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
  checks_.reset();
}

void CaseReader::read_samples(std::int64_t id, CaseRecord& record, Checksum& sum) {
  samples_.bind(1, id);
  while (samples_.executeStep()) {
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
  samples_.reset();
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

MeasuredCase CaseReader::read(SQLite::Statement& found, bool with_samples) {
  Columns row(found);
  const std::int64_t id = row.integer();
  MeasuredCase result{.run = row.integer(), .record = {}};
  const auto details_sum = row.optional_integer(), samples_sum = row.optional_integer();
  Checksum details, samples;
  result.record = read_columns(row.into(&details));
  read_contenders(id, result.record, details);
  read_checks(id, result.record, details);
  const std::string what = "case " + std::to_string(id);
  require_sum(details_sum, details, what);
  if (!with_samples) return result;
  read_samples(id, result.record, samples);
  require_sum(samples_sum, samples, what);
  return result;
}

}  // namespace

void require_sum(const std::optional<std::int64_t>& stored, const Checksum& read, const std::string& what) {
  if (!stored || *stored == read.value()) return;
  throw SQLite::Exception(what + " is not what was stored", SQLITE_CORRUPT);
}

Binder& Binder::text(std::string_view value) {
  const std::string text = valid_utf8(value);
  statement_.bind(next_++, text);
  if (sum_ != nullptr) sum_->text(text);
  return *this;
}

Binder& Binder::json(const nlohmann::json& value) {
  return text(dump(value));
}

Binder& Binder::integer(std::int64_t value) {
  statement_.bind(next_++, value);
  if (sum_ != nullptr) sum_->integer(value);
  return *this;
}

Binder& Binder::real(double value) {
  if (std::isnan(value)) return null();
  statement_.bind(next_++, value);
  if (sum_ != nullptr) sum_->real(value);
  return *this;
}

Binder& Binder::interval(const Interval& value) {
  return real(value.value).real(value.low).real(value.high);
}

Binder& Binder::blob(std::string_view bytes) {
  statement_.bind(next_++, static_cast<const void*>(bytes.data()), static_cast<int>(bytes.size()));
  if (sum_ != nullptr) sum_->text(bytes);
  return *this;
}

Binder& Binder::null() {
  statement_.bind(next_++);
  if (sum_ != nullptr) sum_->null();
  return *this;
}

std::string Columns::text() {
  auto value = next().getString();
  if (sum_ != nullptr) sum_->text(value);
  return value;
}

std::int64_t Columns::integer() {
  const std::int64_t value = next().getInt64();
  if (sum_ != nullptr) sum_->integer(value);
  return value;
}

double Columns::real() {
  const auto column = next();
  const double value = column.isNull() ? kUnknown : column.getDouble();
  if (sum_ != nullptr) sum_->real(value);
  return value;
}

Interval Columns::interval() {
  Interval result;
  result.value = real();
  result.low = real();
  result.high = real();
  return result;
}

std::optional<std::int64_t> Columns::optional_integer() {
  const auto column = next();
  if (column.isNull()) {
    if (sum_ != nullptr) sum_->null();
    return std::nullopt;
  }
  const std::int64_t value = column.getInt64();
  if (sum_ != nullptr) sum_->integer(value);
  return value;
}

CaseWriter::CaseWriter(SQLite::Database& db)
    : db_(db),
      case_(db, kInsertCase),
      contender_(db, kInsertContender),
      check_(db, "INSERT INTO check_result VALUES (?,?,?,?,?,?,?,?,?,?)"),
      sample_(db, "INSERT INTO sample VALUES (?,?,?,?,?,?,?)"),
      sums_(db, "UPDATE run_case SET details_sum = ?, samples_sum = ? WHERE id = ?") {}

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
  Binder(sums_).integer(details.value()).integer(samples.value()).integer(id);
  sums_.exec();
  sums_.reset();
}

std::vector<CaseRecord> select_cases(SQLite::Database& db, std::int64_t run, bool with_samples) {
  SQLite::Statement select(db, std::string(kCaseColumns) + kOfRun);
  select.bind(1, run);
  CaseReader reader(db);
  std::vector<CaseRecord> cases;
  while (select.executeStep()) cases.push_back(reader.read(select, with_samples).record);
  return cases;
}

std::vector<MeasuredCase> select_subject(SQLite::Database& db, const std::string& subject) {
  SQLite::Statement select(db, std::string(kCaseColumns) + kOfSubject);
  Binder(select).text(subject);
  CaseReader reader(db);
  std::vector<MeasuredCase> cases;
  while (select.executeStep()) cases.push_back(reader.read(select, /*with_samples=*/false));
  return cases;
}

}  // namespace wide::results
