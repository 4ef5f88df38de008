// The form of a sweep and its command line.
#include "gui/views/sweep_form.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "formats/error.h"
#include "tests/temporary_folder.h"

namespace wide::gui {
namespace {

const std::vector<app::SubjectInfo> kKnown = {{"linear", "primitive", "", {"einsum", "stacked"}},
                                              {"resblock", "zoo", "", {"grouped"}},
                                              {"unheard", "block", "", {}}};

TEST(SweepForm, SaysWhatItMeasuresAsACommandLine) {
  SweepForm form;
  form.subjects = {"linear", "resblock"}, form.preset = "ci", form.n = {2, 4, 8};
  form.modes = {"default"}, form.strategies = {"auto", "grouped"}, form.devices = {"cpu"};
  EXPECT_EQ(command_text(arguments(form, form.preset)),
            "widebench benchmark linear resblock -p ci -n 2,4,8 -c=default -s auto,grouped --device cpu");
  EXPECT_FALSE(needs_file(form));
  EXPECT_EQ(command_text(arguments({}, "quick")), "widebench benchmark all -p quick");
}

TEST(SweepForm, ReadsItsOwnCommandLines) {
  SweepForm form;
  form.preset = "full", form.subjects = {"linear"}, form.n = {4, 16}, form.modes = {"max-autotune"};
  form.strategies = {"all"}, form.devices = {"cuda"}, form.peers = true, form.threads = 2, form.seed = 7;
  form.label = "after lunch; isn't it", form.database = "my results.db", form.resume = true;
  const auto parsed = parse_command(command_text(arguments(form, form.preset)));
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.form, form);

  SweepForm model;
  model.model = "net.pt2", model.weights = {"a b.safetensors", "c.safetensors"}, model.n = {1, 2};
  EXPECT_EQ(parse_command(command_text(arguments(model, model.preset))).form, model);
}

TEST(SweepForm, ReadsWhatPeopleType) {
  const auto parsed =
      parse_command("  scripts/run benchmark \"linear\" --preset=ci -n=2,4 \\\n -s a -s b,c -c ");
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.form.subjects, (std::vector<std::string>{"linear"}));
  EXPECT_EQ(parsed.form.preset, "ci");
  EXPECT_EQ(parsed.form.strategies, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(parsed.form.modes, (std::vector<std::string>{"default"}));
  EXPECT_EQ(parse_command("widebench --preset full").form.preset, "full");
}

TEST(SweepForm, SaysWhatItCannotRead) {
  EXPECT_EQ(parse_command("").fault, "the line is empty");
  EXPECT_EQ(parse_command("widebench benchmark 'x").fault, "a quotation mark is not closed");
  EXPECT_EQ(parse_command("widebench benchmark x --repeat 4").fault,
            "the form has no --repeat; leave it out, or run the line in a terminal");
  EXPECT_EQ(parse_command("widebench benchmark -n 2,x").fault, "the value of -n is no number that it takes");
  EXPECT_EQ(parse_command("widebench benchmark -p").fault, "-p wants a value");
  EXPECT_NE(parse_command("widebench run").fault, "");
}

TEST(SweepForm, NeedsAFileForWhatTheCommandLineHasNoOptionFor) {
  SweepForm form;
  form.rivals = {"threads", "eager"};
  EXPECT_FALSE(needs_file(form)) << "the preset's own";
  form.rivals = {"threads"};
  EXPECT_TRUE(needs_file(form));
  form.rivals.clear();
  form.dtypes = {"float64"};
  EXPECT_TRUE(needs_file(form));
  form.dtypes.clear();
  form.modes = {"eager", "default"};
  EXPECT_TRUE(needs_file(form));
}

TEST(SweepForm, AGridOfOnesOwnIsAPresetThatCanBeRead) {
  const auto base = presets::read_preset(presets::find_preset("ci"));
  SweepForm form;
  form.preset = "ci", form.subjects = {"linear", "unheard"}, form.n = {2, 4};
  form.dtypes = {"float32", "float64"}, form.modes = {"eager", "default"}, form.rivals = {"threads"};
  const auto text = own_preset(form, base, kKnown);
  EXPECT_EQ(text, own_preset(form, base, kKnown)) << "the same form gives the same file";
  const auto own = presets::parse_preset(text, "own.json");
  EXPECT_TRUE(own.name.starts_with("own-"));
  std::size_t shapes = 0;
  for (const auto& spec : own.cases) {
    EXPECT_TRUE(spec.subject == "linear" || spec.subject == "unheard");
    EXPECT_EQ(spec.rivals, (std::vector<std::string>{"threads"}));
    EXPECT_EQ(spec.stopping.max_seconds, base.cases.front().stopping.max_seconds);
    if (spec.n == 2 && spec.dtype == "float32" && spec.mode == "eager") ++shapes;
  }
  EXPECT_EQ(own.cases.size(), shapes * 2 * 2 * 2);
  EXPECT_EQ(count_cases(form, kKnown), own.cases.size());
  form.subjects = {"nobody"};
  EXPECT_THROW(own_preset(form, base, kKnown), Error);
}

TEST(SweepForm, TheFileIsKeptWhereTheProgramLooksForPresets) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1), 0);
  SweepForm form;
  form.preset = "ci", form.subjects = {"linear"}, form.dtypes = {"float64"};
  const auto name = write_own_preset(form, kKnown);
  EXPECT_EQ(name, write_own_preset(form, kKnown));
  const auto read = presets::read_preset(presets::find_preset(name));
  EXPECT_EQ(read.cases.front().dtype, "float64");
}

TEST(SweepForm, CountsItsCases) {
  SweepForm form;
  form.preset = "ci", form.subjects = {"linear"}, form.n = {2, 4, 8};
  EXPECT_EQ(count_cases(form, kKnown) % 3, 0u);
  const auto one = count_cases(form, kKnown);
  form.strategies = {"auto", "einsum"};
  EXPECT_EQ(count_cases(form, kKnown), 2 * one);
  form.strategies = {"all"};
  EXPECT_EQ(count_cases(form, kKnown), 4 * one) << "auto, einsum, stacked, sequential";
  form.subjects.clear(), form.strategies.clear(), form.n.clear();
  EXPECT_EQ(count_cases(form, kKnown), presets::read_preset(presets::find_preset("ci")).cases.size());
}

TEST(SweepForm, AModelHasCopiesWhereCheckpointsAreFew) {
  SweepForm form;
  form.model = "m.pt2", form.weights = {"a", "b"}, form.n = {2};
  EXPECT_EQ(objection(form), "");
  EXPECT_EQ(remark(form), "");
  form.n = {4, 2};
  EXPECT_EQ(objection(form), "");
  EXPECT_EQ(
      remark(form),
      "Members beyond the first 2 have no checkpoint: they are copies, their weights scaled by a percent "
      "or more.");
  form.peers = true;
  EXPECT_EQ(objection(form), "with the Python ways each member needs a checkpoint; there are fewer than 4");
  form.peers = false;
  form.n.clear(), form.modes = {"eager", "default"};
  EXPECT_NE(objection(form), "");
}

TEST(Counts, AreListsAndRanges) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(parse_counts("2, 4 8"), (List{2, 4, 8}));
  EXPECT_EQ(parse_counts("2..20"), (List{2, 4, 8, 16}));
  EXPECT_EQ(parse_counts(""), List{});
  EXPECT_FALSE(parse_counts("0"));
  EXPECT_FALSE(parse_counts("2,x"));
  EXPECT_FALSE(parse_counts("99999999"));
  EXPECT_EQ(counts_text({2, 4}), "2,4");
}

}  // namespace
}  // namespace wide::gui
