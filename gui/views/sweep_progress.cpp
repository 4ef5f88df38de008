#include "gui/views/sweep_progress.h"

#include <charconv>

#include "results/table.h"

namespace wide::gui {
namespace {

// Takes a number off the front; false when there is none.
template <typename Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

// "run 3: 12 cases, 4 stored already, 8 to go"
bool take_beginning(std::string_view line, SweepProgress& progress) {
  std::int64_t run = 0;
  std::size_t total = 0, stored = 0;
  if (!take(line, "run ") || !take_number(line, run) || !take(line, ": ") || !take_number(line, total) ||
      !take(line, " case"))
    return false;
  take(line, "s");
  if (take(line, ", ")) take_number(line, stored);
  progress = {.run = run, .total = total, .done = stored};
  return true;
}

// "[5/12] linear n=4 pass 3.12x [3.01, 3.20] over eager (0.9 s), 0:12 left"
bool take_case(std::string_view line, SweepProgress& progress) {
  std::size_t done = 0, total = 0;
  if (!take(line, "[") || !take_number(line, done) || !take(line, "/") || !take_number(line, total) ||
      !take(line, "] "))
    return false;
  progress.done = done, progress.total = total;
  progress.left.clear();
  constexpr std::string_view kLeft = " left";
  if (const auto comma = line.rfind(", "); line.ends_with(kLeft) && comma != std::string_view::npos) {
    const auto time = line.substr(comma + 2, line.size() - comma - 2 - kLeft.size());
    if (time != "?") progress.left = results::printable(time, 20);
    line = line.substr(0, comma);
  }
  progress.last = results::printable(line, 300);
  return true;
}

}  // namespace

std::string SweepProgress::text() const {
  if (total == 0) return "starting";
  auto text = std::to_string(done);
  text.append(" of ").append(std::to_string(total)).append(total == 1 ? " case" : " cases");
  if (!left.empty()) text.append(", ").append(left).append(" left");
  return text;
}

bool take_line(std::string_view line, SweepProgress& progress) {
  return take_beginning(line, progress) || take_case(line, progress);
}

}  // namespace wide::gui
