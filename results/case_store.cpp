#include "results/case_store.h"

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

constexpr char kSelectCases[] = R"(
  SELECT id, key, subject, kind, n, shape, device, dtype, mode, strategy, verdict, reason,
    speedup, speedup_low, speedup_high, best_rival, best_speedup, best_speedup_low, best_speedup_high,
    noise, noise_low, noise_high, rounds, stop_reason, compile_us, first_run_us, peak_memory_bytes, plan,
    started, seconds, seed, load_1min, cpu_mhz, model_hash
  FROM run_case WHERE run_id = ? ORDER BY id)";

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

/// Reads what lies under a case; keeps its statements for the next one.
class DetailReader {
 public:
  explicit DetailReader(SQLite::Database& db)
      : contenders_(db, kSelectContenders), checks_(db, kSelectChecks), samples_(db, kSelectSamples) {}

  void read(std::int64_t id, bool with_samples, CaseRecord& record) {
    read_contenders(id, record);
    read_checks(id, record);
    if (with_samples) read_samples(id, record);
  }

 private:
  void read_contenders(std::int64_t id, CaseRecord& record);
  void read_checks(std::int64_t id, CaseRecord& record);
  void read_samples(std::int64_t id, CaseRecord& record);

  SQLite::Statement contenders_, checks_, samples_;
};

void DetailReader::read_contenders(std::int64_t id, CaseRecord& record) {
  contenders_.bind(1, id);
  while (contenders_.executeStep()) {
    Columns row(contenders_);
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

void DetailReader::read_checks(std::int64_t id, CaseRecord& record) {
  checks_.bind(1, id);
  while (checks_.executeStep()) {
    Columns row(checks_);
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

void DetailReader::read_samples(std::int64_t id, CaseRecord& record) {
  samples_.bind(1, id);
  while (samples_.executeStep()) {
    Columns row(samples_);
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

CaseRecord read_case(Columns& row) {
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

}  // namespace

Binder& Binder::text(std::string_view value) {
  statement_.bind(next_++, valid_utf8(value));
  return *this;
}

Binder& Binder::json(const nlohmann::json& value) {
  statement_.bind(next_++, dump(value));
  return *this;
}

Binder& Binder::integer(std::int64_t value) {
  statement_.bind(next_++, value);
  return *this;
}

Binder& Binder::real(double value) {
  if (std::isnan(value)) return null();
  statement_.bind(next_++, value);
  return *this;
}

Binder& Binder::interval(const Interval& value) {
  return real(value.value).real(value.low).real(value.high);
}

Binder& Binder::blob(std::string_view bytes) {
  statement_.bind(next_++, static_cast<const void*>(bytes.data()), static_cast<int>(bytes.size()));
  return *this;
}

Binder& Binder::null() {
  statement_.bind(next_++);
  return *this;
}

double Columns::real() {
  const auto column = next();
  return column.isNull() ? kUnknown : column.getDouble();
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
  if (column.isNull()) return std::nullopt;
  return column.getInt64();
}

CaseWriter::CaseWriter(SQLite::Database& db)
    : db_(db),
      case_(db, kInsertCase),
      contender_(db, kInsertContender),
      check_(db, "INSERT INTO check_result VALUES (?,?,?,?,?,?,?,?,?,?)"),
      sample_(db, "INSERT INTO sample VALUES (?,?,?,?,?,?,?)") {}

void CaseWriter::insert_contenders(std::int64_t id, const CaseRecord& record) {
  const auto add = [&](int place, std::string_view contender, const Summary& time, double first_run_us,
                       const Interval& speedup) {
    Binder binder(contender_);
    binder.integer(id).text(name(record.verdict)).integer(place).text(contender);
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

void CaseWriter::insert_checks(std::int64_t id, const CaseRecord& record) {
  int place = 0;
  for (const Check& check : record.checks) {
    Binder binder(check_);
    binder.integer(id).text(name(record.verdict)).integer(place++).text(check.what).text(check.member);
    binder.real(check.max_abs_err).real(check.max_rel_err).real(check.tolerance);
    binder.integer(check.passed ? 1 : 0).text(check.text);
    check_.exec();
    check_.reset();
  }
}

void CaseWriter::insert_samples(std::int64_t id, const CaseRecord& record) {
  std::int64_t number = 0;
  for (const profiler::Sample& sample : record.samples) {
    Binder binder(sample_);
    binder.integer(id)
        .integer(number++)
        .integer(sample.contender)
        .integer(sample.round)
        .integer(sample.position);
    binder.integer(sample.iterations).real(sample.microseconds);
    sample_.exec();
    sample_.reset();
  }
}

void CaseWriter::insert(std::int64_t run, const CaseRecord& record) {
  Binder binder(case_);
  binder.integer(run)
      .text(record.key)
      .text(record.subject)
      .text(record.kind)
      .integer(record.n)
      .json(record.shape);
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
  insert_contenders(id, record);
  insert_checks(id, record);
  insert_samples(id, record);
}

std::vector<CaseRecord> select_cases(SQLite::Database& db, std::int64_t run, bool with_samples) {
  SQLite::Statement select(db, kSelectCases);
  select.bind(1, run);
  DetailReader details(db);
  std::vector<CaseRecord> cases;
  while (select.executeStep()) {
    Columns row(select);
    const std::int64_t id = row.integer();
    cases.push_back(read_case(row));
    details.read(id, with_samples, cases.back());
  }
  return cases;
}

}  // namespace wide::results
