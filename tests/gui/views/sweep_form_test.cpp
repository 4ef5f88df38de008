// The form of a sweep and its command line.
#include "gui/views/sweep_form.h"

#include <gtest/gtest.h>

#include "formats/error.h"

namespace wide::gui {
namespace {

const std::vector<app::SubjectInfo> kKnown = {{"linear", "primitive", "", {"einsum", "stacked"}},
                                              {"resblock", "zoo", "", {"grouped"}},
                                              {"unheard", "block", "", {}}};

TEST(SweepForm, SaysWhatItMeasuresAsACommandLine) {
  SweepForm form;
  form.subjects = {"linear", "resblock"}, form.preset = "ci", form.n = {2, 4, 8};
  form.modes = {"eager", "default"}, form.strategies = {"auto", "grouped"}, form.devices = {"cpu"};
  form.dtypes = {"float32", "float64"}, form.rivals = {"threads", "apart"};
  EXPECT_EQ(command_text(arguments(form)),
            "widebench benchmark linear resblock -p ci -n 2,4,8 -c=eager,default -s auto,grouped "
            "--dtype float32,float64 --rivals threads,apart --device cpu");
  EXPECT_EQ(command_text(arguments(SweepForm{})), "widebench benchmark all -p quick");
}

TEST(SweepForm, ReadsItsOwnCommandLines) {
  SweepForm form;
  form.preset = "full", form.subjects = {"linear"}, form.n = {4, 16};
  form.modes = {"eager", "max-autotune"}, form.dtypes = {"float64"}, form.rivals = {"apart"};
  form.strategies = {"all"}, form.devices = {"cpu", "cuda"}, form.peers = true, form.threads = 2,
  form.seed = 7, form.timeout = 90.5;
  form.label = "after lunch; isn't it", form.database = "my results.db", form.resume = true;
  const auto parsed = parse_command(command_text(arguments(form)));
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.form, form);

  SweepForm model;
  model.model = "net.pt2", model.weights = {"a b.safetensors", "c.safetensors"}, model.n = {1, 2};
  EXPECT_EQ(parse_command(command_text(arguments(model))).form, model);
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

TEST(SweepForm, ATimeLimitIsOneOfTheProgram) {
  EXPECT_EQ(command_text(arguments({.timeout = 120})), "widebench benchmark all -p quick --timeout 120");
  EXPECT_EQ(objection({.timeout = 120}), "");
  for (const double wrong : {0.0, -3.0, 1e9})
    EXPECT_EQ(objection({.timeout = wrong}), "the time limit of a case is 0.1 to 86,400 seconds") << wrong;
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

TEST(SweepForm, CountsItsCases) {
  SweepForm form;
  form.preset = "ci", form.subjects = {"linear"}, form.n = {2, 4, 8};
  EXPECT_EQ(count_cases(form, kKnown) % 3, 0u);
  const auto one = count_cases(form, kKnown);
  form.strategies = {"auto", "einsum"};
  EXPECT_EQ(count_cases(form, kKnown), 2 * one);
  form.strategies = {"all"};
  EXPECT_EQ(count_cases(form, kKnown), 4 * one) << "auto, einsum, stacked, sequential";
  form.strategies = {"auto"}, form.dtypes = {"float32", "float64"}, form.modes = {"eager", "default"};
  EXPECT_EQ(count_cases(form, kKnown), 4 * one);
  form.subjects = {"linear", "unheard"};
  EXPECT_EQ(count_cases(form, kKnown), 4 * (one + 3)) << "not in the preset: one shape";
  form.subjects = {"nobody"};
  EXPECT_THROW(count_cases(form, kKnown), Error);
  form.dtypes.clear(), form.modes.clear();
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
  form.members = 4;  // in packed files
  EXPECT_EQ(remark(form), "");
  form.members.reset();
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
