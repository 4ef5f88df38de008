#include "results/run_names.h"

#include <algorithm>

#include "formats/error.h"
#include "results/table.h"

namespace wide::results {

bool is_report_file(const std::string& choice) {
  return choice.find('/') != std::string::npos || choice.ends_with(".json");
}

bool is_start_of_uid(const std::string& text, const std::string& uid) {
  constexpr std::size_t kShortest = 6;
  return text.size() >= kShortest && uid.starts_with(text);
}

void check_baseline_name(const std::string& name) {
  const bool digits = !name.empty() && std::all_of(name.begin(), name.end(),
                                                   [](unsigned char c) { return c >= '0' && c <= '9'; });
  if (digits || name.starts_with("latest") || name.starts_with("-") || is_report_file(name)) {
    throw Error("usage", "a baseline cannot be called \"" + printable(name) +
                             "\": that means something else; choose a plain name such as main");
  }
}

}  // namespace wide::results
