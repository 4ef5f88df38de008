#include "results/event_query.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <exception>

#include "formats/error.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr const char* kTable =
    "CREATE TABLE events (capture TEXT, track TEXT, name TEXT, kind TEXT, node TEXT, strategy TEXT, "
    "start_us REAL, duration_us REAL, own_us REAL, work INTEGER, pass INTEGER, member INTEGER)";
constexpr const char* kRow = "INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?,?,?,?)";

double microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

void bind_number(SQLite::Statement& row, int at, std::int32_t value) {
  if (value < 0) {
    row.bind(at);
  } else {
    row.bind(at, value);
  }
}

void fill(SQLite::Database& db, const profiler::Trace& trace, const profiler::Structure& structure,
          const std::function<void()>& stop) {
  SQLite::Statement row(db, kRow);
  const auto text = [&](int at, std::string_view value) { row.bind(at, printable(value, 300)); };
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    constexpr std::size_t kOften = 4096;
    if (i % kOften == 0) stop();
    const auto slice = trace.slices[i];
    text(1, trace.contender);
    text(2, slice.track < trace.tracks.size() ? std::string_view(trace.tracks[slice.track].name) : "");
    text(3, trace.names[slice.name]);
    text(4, profiler::name(slice.kind));
    const bool known = slice.node >= 0 && static_cast<std::size_t>(slice.node) < trace.nodes.size();
    text(5, known ? std::string_view(trace.nodes[static_cast<std::size_t>(slice.node)].name) : "");
    text(6, known ? std::string_view(trace.nodes[static_cast<std::size_t>(slice.node)].strategy) : "");
    row.bind(7, microseconds(slice.start));
    row.bind(8, microseconds(slice.duration));
    row.bind(9, microseconds(structure.own[i]));
    row.bind(10, structure.work[i] ? 1 : 0);
    bind_number(row, 11, slice.pass);
    bind_number(row, 12, slice.member);
    row.exec();
    row.reset();
  }
}

// Reading alone: no other statement, no other database, no file.
int only_reading(void*, int action, const char*, const char* function, const char*, const char*) {
  if (action == SQLITE_FUNCTION)
    return function != nullptr && std::string_view(function) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
  return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE ? SQLITE_OK
                                                                                        : SQLITE_DENY;
}

// What SQLite calls now and then while it works; an exception may not pass through it.
struct Watch {
  const std::function<void()>& stop;
  std::exception_ptr stopped = nullptr;
};
int look(void* watch) {
  try {
    static_cast<Watch*>(watch)->stop();
    return 0;
  } catch (...) {
    static_cast<Watch*>(watch)->stopped = std::current_exception();
    return 1;
  }
}

std::string said(const SQLite::Exception& error) {
  if (error.getErrorCode() == SQLITE_AUTH) return "only SELECT is allowed here: the events are not changed";
  const std::string text = error.what();
  return printable(text, 300) +
         "; the table is called events: capture, track, name, kind, node, strategy, "
         "start_us, duration_us, own_us, work, pass, member";
}

Answer read(SQLite::Statement& query, std::size_t most) {
  Answer answer;
  for (int i = 0; i < query.getColumnCount(); ++i)
    answer.columns.push_back(printable(query.getColumnName(i), 60));
  while (query.executeStep()) {
    if (answer.rows.size() == most) {
      answer.more = true;
      break;
    }
    auto& row = answer.rows.emplace_back();
    for (int i = 0; i < query.getColumnCount(); ++i) {
      const auto cell = query.getColumn(i);
      row.push_back(cell.isNull() ? std::string() : printable(cell.getString(), 300));
    }
  }
  return answer;
}

}  // namespace

struct EventQuery::Database {
  SQLite::Database db{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
};

EventQuery::EventQuery(std::span<const profiler::Trace> traces,
                       std::span<const profiler::Structure> structures, const std::function<void()>& stop) try
    : database_(std::make_unique<Database>()) {
  auto& db = database_->db;
  db.exec(kTable);
  SQLite::Transaction transaction(db);
  for (std::size_t i = 0; i < traces.size(); ++i) fill(db, traces[i], structures[i], stop);
  transaction.commit();
  sqlite3_limit(db.getHandle(), SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_set_authorizer(db.getHandle(), only_reading, nullptr);
} catch (const SQLite::Exception& error) {
  throw Error("sql", std::string("the events cannot be put into a table: ") + error.what());
}

EventQuery::~EventQuery() = default;
EventQuery::EventQuery(EventQuery&&) noexcept = default;
EventQuery& EventQuery::operator=(EventQuery&&) noexcept = default;

Answer EventQuery::ask(const std::string& sql, const std::function<void()>& stop, std::size_t most) const {
  auto* handle = database_->db.getHandle();
  Watch watch{stop};
  constexpr int kInstructions = 10'000;
  sqlite3_progress_handler(handle, kInstructions, look, &watch);
  const struct Unwatched {
    sqlite3* handle;
    ~Unwatched() { sqlite3_progress_handler(handle, 0, nullptr, nullptr); }
  } unwatched{handle};
  // SQLite runs the first statement and leaves the rest unsaid.
  sqlite3_stmt* probe = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(handle, sql.c_str(), static_cast<int>(sql.size()), &probe, &rest);
  const bool nothing = code == SQLITE_OK && probe == nullptr;
  sqlite3_finalize(probe);
  if (nothing) throw Error("sql", "there is no query; try: SELECT name, count(*) FROM events GROUP BY name");
  if (code == SQLITE_OK && std::string_view(rest).find_first_not_of(" \t\r\n;") != std::string_view::npos)
    throw Error("sql", "one query at a time; take out what follows the first ;");
  try {
    SQLite::Statement query(database_->db, sql);
    return read(query, most);
  } catch (const SQLite::Exception& error) {
    if (watch.stopped) std::rethrow_exception(watch.stopped);
    throw Error("sql", said(error));
  }
}

}  // namespace wide::results
