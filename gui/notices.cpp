#include "gui/notices.h"

#include <algorithm>
#include <utility>

namespace wide::gui {
namespace {

constexpr std::size_t kLines = 5000, kNotices = 50;

const char* word(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      break;
  }
  return "error";
}

}  // namespace

void Notices::post(Level level, std::string title, std::string text) {
  auto whole = title;
  if (!text.empty()) whole.append(": ").append(text);
  log(level, std::move(whole));
  const double until = level == Level::kError     ? -1
                       : level == Level::kWarning ? now_ + 3 * seconds
                                                  : now_ + seconds;
  int times = 1;
  std::erase_if(shown_, [&](const Notice& one) {
    const bool again = level == Level::kError && one.level == level && one.title == title;
    if (again) times += one.times;
    return again;
  });
  shown_.push_back({++last_id_, level, std::move(title), std::move(text), times, until});
  if (shown_.size() > kNotices) shown_.erase(shown_.begin());  // the log has them all
}

void Notices::log(Level level, std::string text) {
  lines_.push_back({level, time_text ? time_text() : std::string(), std::move(text)});
  if (lines_.size() > kLines) lines_.pop_front();
  ++revision_;
}

void Notices::dismiss(std::uint64_t id) {
  std::erase_if(shown_, [id](const Notice& one) { return one.id == id; });
}

void Notices::expire(double now) {
  now_ = now;
  std::erase_if(shown_, [now](const Notice& one) { return one.until >= 0 && one.until < now; });
}

std::string Notices::log_text() const {
  std::string text;
  for (const auto& line : lines_)
    text.append(line.time).append("  ").append(word(line.level)).append("  ").append(line.text).append("\n");
  return text;
}

}  // namespace wide::gui
