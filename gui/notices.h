#pragma once
// What the person should know: notices, and the log of all that happened.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace wide::gui {

enum class Level { kDebug, kInfo, kWarning, kError };

struct LogLine {
  Level level = Level::kInfo;
  std::string time;  ///< local, "12:01:07"
  std::string text;  ///< may have several lines
};

struct Notice {
  std::uint64_t id = 0;
  Level level = Level::kError;
  std::string title;  ///< "The model could not be opened"
  std::string text;   ///< what, where, what to try; whole, can be copied
  int times = 1;      ///< posted under this title; the text is the last one's
  double until = -1;  ///< seconds of Ui::now at which it goes by itself; below 0: stays until dismissed
};

/// Used on the window's thread only: jobs post through JobContext::post.
class Notices {
 public:
  /// Shows a notice and writes it to the log, which has them all. Errors stay, the last one of a title;
  /// others go after `seconds`, warnings after three times as long.
  void post(Level level, std::string title, std::string text = {});
  void log(Level level, std::string text);
  void dismiss(std::uint64_t id);
  void dismiss_all() { shown_.clear(); }
  void expire(double now);  ///< each frame

  const std::vector<Notice>& shown() const { return shown_; }
  const std::deque<LogLine>& lines() const { return lines_; }  ///< at most the last 5,000
  std::string log_text() const;                                ///< all lines, to copy
  std::uint64_t revision() const { return revision_; }         ///< grows with every line

  double seconds = 6;
  std::function<std::string()> time_text;  ///< local time of day; a fixed one in demo mode

 private:
  std::vector<Notice> shown_;
  std::deque<LogLine> lines_;
  std::uint64_t last_id_ = 0, revision_ = 0;
  double now_ = 0;
};

}  // namespace wide::gui
