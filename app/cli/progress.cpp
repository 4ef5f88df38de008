#include "app/cli/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "results/counted.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

std::string title(const std::string& subject, std::int64_t n) {
  return fmt::format("{} n={}", results::printable(subject, 40), n);
}

std::string painted(const results::CaseRecord& record, bool color) {
  const auto word = results::name(record.verdict);
  if (!color) return std::string(word);
  const bool good = record.verdict == results::Verdict::kPass;
  const bool grey = record.verdict == results::Verdict::kSkipped;
  return fmt::format("\x1b[{}m{}\x1b[0m", good ? 32 : grey ? 90 : 31, word);
}

// "pass 3.12x [3.01, 3.20] over eager" or "error: why"
std::string outcome(const results::CaseRecord& record, bool color) {
  auto text = painted(record, color);
  if (record.verdict != results::Verdict::kPass) return text + ": " + results::printable(record.reason, 200);
  const auto& ratio = record.speedup;
  if (!ratio.known()) return text;
  return text + fmt::format(" {:.2f}x [{:.2f}, {:.2f}] over eager", ratio.value, ratio.low, ratio.high);
}

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::~Progress() {
  clear();
}

void Progress::began(std::int64_t run, std::size_t stored, std::size_t total) {
  started_ = steady_clock::now();
  stored_ = done_ = stored;
  total_ = total;
  if (context_.quiet) return;
  context_.err << fmt::format("run {}: {}", run, results::counted(total, "case"));
  if (stored > 0) context_.err << fmt::format(", {} stored already, {} to go", stored, total - stored);
  context_.err << '\n' << std::flush;
}

void Progress::starting(const presets::CaseSpec& spec) {
  current_ = title(spec.subject, spec.n);
  if (context_.terminal) draw();
}

void Progress::finished(const results::CaseRecord& record) {
  ++done_;
  if (context_.quiet) return;
  clear();
  const auto took = std::isnan(record.seconds) ? "" : fmt::format(" ({:.1f} s)", record.seconds);
  const auto left = context_.terminal || done_ == total_ ? "" : ", " + time_left() + " left";
  context_.err << fmt::format("[{}/{}] {} {}{}{}\n", done_, total_, title(record.subject, record.n),
                              outcome(record, context_.color), took, left)
               << std::flush;
}

void Progress::waiting() {
  if (context_.terminal && steady_clock::now() - drawn_ >= std::chrono::seconds(1)) draw();
}

std::string Progress::time_left() const {
  if (done_ == stored_) return "?";
  const double spent = duration<double>(steady_clock::now() - started_).count();
  return clock_text(spent / static_cast<double>(done_ - stored_) * static_cast<double>(total_ - done_));
}

void Progress::draw() {
  if (context_.quiet) return;
  constexpr std::size_t kWidth = 24;
  drawn_ = steady_clock::now();
  const std::size_t full = total_ == 0 ? 0 : kWidth * done_ / total_;
  context_.err << fmt::format("\r\x1b[K[{}{}] {}/{}  {} left  {}", std::string(full, '#'),
                              std::string(kWidth - full, '.'), done_, total_, time_left(), current_)
               << std::flush;
  visible_ = true;
}

void Progress::clear() {
  if (!visible_) return;
  context_.err << "\r\x1b[K" << std::flush;
  visible_ = false;
}

}  // namespace wide::cli
