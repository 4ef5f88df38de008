#pragma once
// The events of a profile as a table in memory that is asked in SQL. Nothing but SELECT is allowed: a query
// changes nothing and sees no file.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::results {

/// Cells as texts; "" for NULL.
struct Answer {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool more = false;  ///< there are more than were wanted
};

class EventQuery {
 public:
  /// Fills the table `events`, a row a slice: capture, track, name, kind, node, strategy, start_us,
  /// duration_us, own_us, work, pass, member. `stop` is asked now and then. Throws wide::Error ("sql").
  EventQuery(std::span<const profiler::Trace> traces, std::span<const profiler::Structure> structures,
             const std::function<void()>& stop);
  ~EventQuery();
  EventQuery(EventQuery&&) noexcept;
  EventQuery& operator=(EventQuery&&) noexcept;

  /// Runs one SELECT. `stop` throws when nobody waits any more. Throws wide::Error ("sql") with what SQLite
  /// says.
  Answer ask(const std::string& sql, const std::function<void()>& stop, std::size_t most = 10'000) const;

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace wide::results
