#pragma once
// Damaged and hostile input: each piece is read by a child of its own under a limit of time and memory, and
// must end in success or in one line.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "formats/error.h"
#include "profiler/random.h"

namespace wide::test {

/// How many pieces a test reads that takes `share` of all; WIDEBENCH_MUTANTS: how many in all, default 400.
inline int mutants(double share) {
  const char* count = std::getenv("WIDEBENCH_MUTANTS");
  return std::max(1, static_cast<int>(share * (count == nullptr ? 400 : std::atoi(count))));
}

/// Runs `work` in a child. Empty: it returned "" in time. Else what it returned, or what ended it.
inline std::string objection_of_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    constexpr rlim_t kSeconds = 20;
    const rlimit time{kSeconds, kSeconds}, none{0, 0};
    ::setrlimit(RLIMIT_CPU, &time);
    ::setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__
    constexpr rlim_t kBytes = rlim_t{1} << 30;
    rlimit memory{kBytes, kBytes};
    ::setrlimit(RLIMIT_DATA, &memory);
#endif
    ::alarm(2 * kSeconds);  // waits for ever without work
    std::string objection;
    try {
      objection = work();
    } catch (const std::exception& error) {
      objection = std::string("an exception: ") + error.what();
    }
    objection.resize(std::min<std::size_t>(objection.size(), 2000));
    (void)!::write(ends[1], objection.data(), objection.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return text;
}

/// What is wrong with an error's text, which must be one line that a terminal may see.
inline std::string objection_to_line(const std::string& line) {
  if (line.empty()) return "an error without a word";
  const bool clean =
      std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (!clean) return "not one clean line: " + line;
  return line.size() > 4000 ? "a line of " + std::to_string(line.size()) + " bytes" : "";
}

/// Reads something; fails by wide::Error of one line, and by nothing else.
inline std::string objection_to_reading(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    return objection_to_line(error.what());
  }
  return "";
}

/// Text with something wrong in it: bytes, pieces, values, depth, size.
inline std::string mutated(std::string text, profiler::Random& random) {
  const auto below = [&](std::size_t limit) {
    return random.below(static_cast<std::uint32_t>(std::max<std::size_t>(1, limit)));
  };
  const auto value_at = [&] {  // behind a colon, comma or bracket
    std::vector<std::size_t> starts{0};
    for (std::size_t at = 1; at < text.size(); ++at)
      if (text[at - 1] == ':' || text[at - 1] == '[' || text[at - 1] == ',') starts.push_back(at);
    return starts[below(starts.size())];
  };
  static const std::vector<std::string> kValues = {"null",
                                                   "-1",
                                                   "1e308",
                                                   "-0.0",
                                                   "1e999",
                                                   "9223372036854775808",
                                                   "99999999999999999999",
                                                   "\"\"",
                                                   "[]",
                                                   "{}",
                                                   "[[]]",
                                                   R"("\u0000")",
                                                   R"("\ud800")",
                                                   R"("\u202e\u001b[31m")",
                                                   "NaN",
                                                   "\"\x1b[2J\"",
                                                   "\"\xff\xfe\"",
                                                   "\"../../x\"",
                                                   "{\"a\":1,\"a\":2}",
                                                   "4294967296",
                                                   "-9223372036854775808",
                                                   "0.1",
                                                   "true",
                                                   "\"pass\""};
  switch (below(8)) {
    case 0:
      for (auto left = 1 + below(6); left > 0 && !text.empty(); --left)
        text[below(text.size())] = static_cast<char>(random.next());
      break;
    case 1:
      text.resize(below(text.size()));
      break;
    case 2:
      text.erase(below(text.size()), 1 + below(40));
      break;
    case 3:
      text.insert(below(text.size()), text.substr(below(text.size()), 1 + below(200)));
      break;
    case 4:
    case 5: {
      const auto from = value_at();
      const auto to = std::min(text.find_first_of(",}]", from), text.size());
      text.replace(from, to - from, kValues[below(kValues.size())]);
      break;
    }
    case 6: {
      static constexpr std::size_t kDepths[] = {40, 63, 64, 65, 1000, 300'000};
      const auto depth = kDepths[below(std::size(kDepths))];
      const bool objects = below(2) == 0, closed = below(2) == 0;
      std::string open, close;
      for (std::size_t i = 0; i < depth; ++i) open += objects ? "{\"a\":" : "[", close += objects ? "}" : "]";
      const auto from = value_at();
      text.replace(from, std::min(text.find_first_of(",}]", from), text.size()) - from,
                   open + "0" + (closed ? close : ""));
      break;
    }
    default: {
      static const std::vector<std::string> kParts = {"x", "\\u202e", "\xFF", "\n", "0", "[", "\"", "1,"};
      const auto& part = kParts[below(kParts.size())];
      std::string huge;
      while (huge.size() < (1U << 20)) huge += part;
      text.insert(below(text.size()), huge);
    }
  }
  return text;
}

}  // namespace wide::test
