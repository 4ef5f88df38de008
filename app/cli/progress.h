#pragma once
// How far a sweep is: a bar with the time left on a terminal, a line per case elsewhere. Prints to standard
// error.

#include <chrono>
#include <cstdint>
#include <string>

#include "app/cli/context.h"
#include "presets/case.h"
#include "results/record.h"

namespace wide::cli {

class Progress {
 public:
  /// `context` must outlive it. Prints nothing with --quiet.
  explicit Progress(const Context& context) : context_(context) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void began(std::int64_t run, std::size_t stored, std::size_t total);
  void starting(const presets::CaseSpec& spec);
  void finished(const results::CaseRecord& record);
  void waiting();  ///< redraws the bar, at most once a second

 private:
  void draw();
  void clear();
  std::string time_left() const;

  const Context& context_;
  std::chrono::steady_clock::time_point started_, drawn_;
  std::size_t stored_ = 0, done_ = 0, total_ = 0;
  std::string current_;
  bool visible_ = false;
};

/// "0:07", "12:30", "1:02:03".
std::string clock_text(double seconds);

}  // namespace wide::cli
