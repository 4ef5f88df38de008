// The gate as a form: options of the program, and what the program says in the end.
#include "gui/views/gate_form.h"

#include <gtest/gtest.h>

#include "gui/views/sweep_form.h"
#include "results/gate.h"

namespace wide::gui {
namespace {

TEST(GateForm, IsPartOfTheCommandLine) {
  SweepForm form{.preset = "ci", .subjects = {"mlp"}};
  EXPECT_EQ(command_text(arguments(form)), "widebench benchmark mlp -p ci");
  form.gate.effect_percent = 2.5;  // without a baseline there is nothing to be strict about
  EXPECT_EQ(command_text(arguments(form)), "widebench benchmark mlp -p ci");
  form.gate = {.baseline = "main"};
  EXPECT_EQ(command_text(arguments(form)), "widebench benchmark mlp -p ci --baseline main");
  form.gate = {"my runs", 2.5, 10, 0, true, true};
  EXPECT_EQ(
      command_text(arguments(form)),
      "widebench benchmark mlp -p ci --baseline 'my runs' --min-effect 2.5 --min-us 10 --gate-repeats 0 "
      "--fail-inconclusive --across-machines");
  const auto parsed = parse_command(command_text(arguments(form)));
  EXPECT_EQ(parsed.fault, "");
  EXPECT_EQ(parsed.form, form);
  EXPECT_NE(parse_command("widebench benchmark mlp --baseline main --min-effect much").fault, "");
}

TEST(GateForm, RefusesWhatTheProgramWould) {
  EXPECT_EQ(objection(GateForm{.effect_percent = -1}), "");  // there is no gate
  EXPECT_NE(objection(GateForm{.baseline = "main", .effect_percent = 0}), "");
  EXPECT_NE(objection(GateForm{.baseline = "main", .minimum_us = -1}), "");
  EXPECT_NE(objection(GateForm{.baseline = "main", .repeats = 1001}), "");
  EXPECT_EQ(objection(GateForm{.baseline = "main"}), "");
  EXPECT_NE(objection(SweepForm{.gate = {.baseline = "main", .repeats = -1}}), "");
}

// What the program prints is what the window reads.
TEST(GateForm, ReadsWhatTheGateSays) {
  results::GateOutcome outcome;
  outcome.verdict = results::GateVerdict::kRegressed;
  outcome.slower = {"resblock/n=4"}, outcome.missing = {"mlp/n=2", "mlp/n=4"};
  const auto said = read_gate("a table before it\ngate is no headline\n" + results::text(outcome));
  EXPECT_EQ(said.verdict, "regressed");
  EXPECT_EQ(said.counts, "0 cases, 0 measured again, 1 slower, 2 missing, 0 undecided");
  ASSERT_EQ(said.cases.size(), 3u);
  EXPECT_TRUE(said.cases[0].starts_with("SLOWER"));
  EXPECT_TRUE(said.cases[0].ends_with("resblock/n=4"));
  EXPECT_EQ(read_gate("MISSING  of a table\nall cases passed\n").verdict, "");
  EXPECT_TRUE(read_gate("MISSING  of a table\nall cases passed\n").cases.empty());
  EXPECT_EQ(read_gate("").verdict, "");
}

}  // namespace
}  // namespace wide::gui
