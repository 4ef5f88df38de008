// Import of damaged and hostile reports: never a crash, never half a run, always one clear line.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "formats/error.h"
#include "profiler/random.h"
#include "results/report.h"
#include "results/store.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using nlohmann::json;
using profiler::Random;
using test::describe;
using test::failed_case;
using test::passed_case;
using test::sample_run;
using test::TemporaryFolder;

std::size_t below(Random& random, std::size_t limit) {
  return random.below(static_cast<std::uint32_t>(limit));
}

using Damage = std::function<void(std::string&, Random&)>;

void flip_bytes(std::string& text, Random& random) {
  for (std::size_t left = 1 + below(random, 4); left > 0; --left) {
    text[below(random, text.size())] = static_cast<char>(random.next());
  }
}

void flip_bit(std::string& text, Random& random) {
  text[below(random, text.size())] ^= static_cast<char>(1 << below(random, 8));
}

void cut_end(std::string& text, Random& random) {
  text.resize(below(random, text.size()));
}

void cut_middle(std::string& text, Random& random) {
  text.erase(below(random, text.size()), 1 + below(random, 40));
}

void repeat_part(std::string& text, Random& random) {
  const auto from = below(random, text.size());
  text.insert(below(random, text.size()), text.substr(from, 1 + below(random, 60)));
}

/// Another value in the place of any value of the document, whole objects and arrays included.
void replace_value(std::string& text, Random& random) {
  static const std::vector<std::string> kValues = {"null",
                                                   "true",
                                                   "-1",
                                                   "0",
                                                   "-0.0",
                                                   "1e308",
                                                   "-1e308",
                                                   "1e-320",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "18446744073709551616",
                                                   "99999999999999999999999999",
                                                   "1e999",
                                                   "0.1",
                                                   "\"text\"",
                                                   "\"\"",
                                                   "[]",
                                                   "{}",
                                                   "[[]]",
                                                   "[1,2]",
                                                   "{\"a\":1}",
                                                   R"("\u0000")",
                                                   R"("\ud800")",
                                                   R"("\u202e")",
                                                   "NaN",
                                                   "\"'; DROP TABLE run;--\"",
                                                   "\"../../x\"",
                                                   "\"pass\"",
                                                   "\"measured\""};
  std::vector<std::size_t> starts;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at - 1] == ':' || text[at - 1] == '[') starts.push_back(at);
  }
  const auto from = starts[below(random, starts.size())];
  std::size_t to = from;
  for (int depth = 0; to < text.size(); ++to) {
    const char c = text[to];
    if (depth == 0 && (c == ',' || c == '}' || c == ']')) break;
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
  }
  text.replace(from, to - from, kValues[below(random, kValues.size())]);
}

/// Every field once more, with another value: a reader may take either.
void double_field(std::string& text, Random& random) {
  std::vector<std::size_t> names;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"' && (text[at - 1] == '{' || text[at - 1] == ',')) names.push_back(at);
  }
  const auto at = names[below(random, names.size())];
  const auto end = text.find("\":", at);
  if (end != std::string::npos) text.insert(at, text.substr(at, end - at) + "\":0,");
}

void nest(std::string& text, Random& random) {
  static constexpr std::size_t kDepths[] = {10, 60, 70, 1000, 100'000};
  const auto depth = kDepths[below(random, std::size(kDepths))];
  const auto at = text.find(':', below(random, text.size() / 2)) + 1;
  const bool objects = random.below(2) == 0;
  std::string open, close;
  for (std::size_t i = 0; i < depth; ++i) {
    open += objects ? "{\"a\":" : "[";
    close += objects ? "}" : "]";
  }
  text.insert(at, open + "0" + (random.below(2) == 0 ? close : ""));
}

void swell_text(std::string& text, Random& random) {
  const auto at = text.find('"', below(random, text.size() / 2)) + 1;
  static const std::vector<std::string> kParts = {"x", "\\u202e", "\xFF", "\\n", "</script>"};
  const std::string& part = kParts[below(random, kParts.size())];
  std::string huge;
  while (huge.size() < (1U << 20)) huge += part;
  text.insert(at, huge);
}

struct Kind {
  const char* name;
  int cases;
  Damage damage;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

class ImportFuzz : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    RunRecord run = sample_run();
    run.uid = "0123456789abcdef";
    good_ = report(run, {passed_case(), failed_case(), failed_case("oom", Verdict::kOom)}).dump();
  }

  /// What `runs import` does; "" and a stored run, or one line and none.
  std::string import(const std::string& text) {
    std::ofstream(folder_ / "bad.json", std::ios::binary) << text;
    try {
      const Imported read = read_report(folder_ / "bad.json");
      const auto id = store_.import_run(read.run, read.cases);
      expect_whole(id, read);
      store_.delete_run(id);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  /// All of it is stored, as a claim, and leaves as it came.
  void expect_whole(std::int64_t id, const Imported& read) {
    RunRecord run = store_.run(id);
    EXPECT_EQ(run.origin, "imported");
    const auto cases = store_.cases(id);
    ASSERT_EQ(cases.size(), read.cases.size());
    const std::string first = report(run, cases).dump();
    const Imported again = from_report(first);
    EXPECT_EQ(report(again.run, again.cases).dump(), first);
  }

  TemporaryFolder folder_;
  Store store_ = Store::open(folder_ / "r.db", OpenMode::kReadWrite);
  std::string good_;
};

TEST_P(ImportFuzz, IsRefusedInOneLineOrStoredWhole) {
  ASSERT_EQ(import(good_), "");
  Random random(11);
  int refused = 0;
  const int cases = GetParam().cases * (std::getenv("WIDEBENCH_SOAK") != nullptr ? 200 : 1);
  for (int trial = 0; trial < cases; ++trial) {
    std::string text = good_;
    GetParam().damage(text, random);
    const std::string line = import(text);
    if (line.empty()) continue;
    ++refused;
    const bool one_line =
        std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
    EXPECT_TRUE(one_line) << line.substr(0, 300);
    EXPECT_LT(line.size(), 1000u) << line.substr(0, 300);
    EXPECT_NE(line.find(".json"), std::string::npos) << line.substr(0, 300);
    ASSERT_TRUE(store_.runs().empty()) << "half a run was stored: " << line;
  }
  EXPECT_GT(refused, cases / 20) << "hardly anything was damaged";
}

INSTANTIATE_TEST_SUITE_P(Reports, ImportFuzz,
                         testing::Values(Kind{"flipped_bytes", 800, flip_bytes},
                                         Kind{"flipped_bit", 400, flip_bit}, Kind{"cut_end", 300, cut_end},
                                         Kind{"cut_middle", 400, cut_middle},
                                         Kind{"repeated_part", 400, repeat_part},
                                         Kind{"replaced_value", 800, replace_value},
                                         Kind{"doubled_field", 150, double_field}, Kind{"nested", 60, nest},
                                         Kind{"swollen_text", 20, swell_text}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(ImportFuzzTest, AFieldThatAnObjectHasTwiceIsRefusedByName) {
  const TemporaryFolder folder;
  std::string text = report(sample_run(), {passed_case()}).dump();
  text.insert(text.find("\"verdict\""), R"("verdict":"fail",)");
  std::ofstream(folder / "two.json", std::ios::binary) << text;
  try {
    read_report(folder / "two.json");
    ADD_FAILURE() << "two verdicts were taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'verdict' stands twice"), std::string::npos) << error.what();
  }
}

// 64 containers are a document, though no report; 65 are none.
TEST(ImportFuzzTest, DepthIsLimited) {
  const TemporaryFolder folder;
  const auto refusal = [&](std::size_t depth) -> std::string {
    std::ofstream(folder / "deep.json", std::ios::binary)
        << std::string(depth, '[') << 1 << std::string(depth, ']');
    try {
      read_report(folder / "deep.json");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(64).find("nested deeper"), std::string::npos) << refusal(64);
  EXPECT_NE(refusal(64), "");
  for (const std::size_t depth : {65, 100'000})
    EXPECT_NE(refusal(depth).find("nested deeper than 64 levels"), std::string::npos) << refusal(depth);
}

}  // namespace
}  // namespace wide::results
