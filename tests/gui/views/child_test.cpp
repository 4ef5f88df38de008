// Child processes: lines, output, cancelling.
#include "gui/views/child.h"

#include <gtest/gtest.h>

#include <chrono>

#include "formats/error.h"

namespace wide::gui {
namespace {

ChildTask shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}};
}

TEST(Child, LinesComeAsTheyAreWrittenAndOutputIsKept) {
  std::vector<std::string> lines;
  auto task = shell("echo one >&2; printf 'two\\rthree' >&2; echo result; exit 3");
  task.line = [&](const std::string& line) { lines.push_back(line); };
  const auto end = run_child(task);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(end.output, "result\n");
  EXPECT_EQ(end.code, 3);
  EXPECT_FALSE(end.cancelled);
}

TEST(Child, IsAskedToStopAndMayTidyUp) {
  auto task = shell("trap 'echo stored; exit 130' INT; while :; do sleep 0.05; done");
  const auto start = std::chrono::steady_clock::now();
  task.cancelled = [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(300); };
  const auto end = run_child(task);
  EXPECT_TRUE(end.cancelled);
  EXPECT_EQ(end.code, 130);
  EXPECT_EQ(end.output, "stored\n");
}

TEST(Child, IsKilledWhenItDoesNotStop) {
  auto task = shell("trap '' INT; while :; do sleep 0.05; done");
  task.cancelled = [] { return true; };
  task.grace_seconds = 0.3;
  const auto end = run_child(task);
  EXPECT_EQ(end.code, 128 + 9);
}

TEST(Child, ALongOutputDoesNotStopIt) {
  auto task = shell("head -c 300000 /dev/zero | tr '\\0' x; head -c 300000 /dev/zero | tr '\\0' y >&2");
  task.longest_output = 1000;
  const auto end = run_child(task);
  EXPECT_EQ(end.output.size(), 1000u);
  EXPECT_LE(end.errors.size(), 8192u);
  EXPECT_EQ(end.code, 0);
}

TEST(Child, OneThatCannotBeStartedIsSaid) {
  EXPECT_THROW(run_child({.argv = {"/nowhere/widebench"}}), Error);
}

TEST(Child, ItsComplaintIsItsErrorLine) {
  EXPECT_EQ(complaint({.code = 2, .errors = "reading\nerror: no such file\nbye\n"}), "no such file");
  EXPECT_EQ(complaint({.code = 1, .errors = "a\nb\n"}), "a\nb");
  EXPECT_EQ(complaint({.code = 4}), "it ended with code 4 and said nothing");
}

}  // namespace
}  // namespace wide::gui
