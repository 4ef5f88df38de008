#include "profiler/machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/temporary_folder.h"

namespace wide::profiler {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// A small machine of two cores with two threads each.
void fill(const fs::path& root) {
  std::string cpuinfo;
  for (int i = 0; i < 4; ++i) {
    cpuinfo += "processor\t: " + std::to_string(i) +
               "\nmodel name\t: Tiny 9000\ncpu MHz\t\t: " + std::to_string(2000 + 100 * i) +
               ".500\nphysical id\t: 0\ncore id\t\t: " + std::to_string(i / 2) +
               "\nflags\t\t: fpu sse4_2 avx2 fma avx avx512f\n\n";
  }
  write(root / "proc/cpuinfo", cpuinfo);
  write(root / "proc/meminfo", "MemTotal:        8012345 kB\nMemFree: 1 kB\n");
  write(root / "proc/loadavg", "1.25 0.50 0.10 1/100 1234\n");
  write(root / "proc/sys/kernel/ostype", "Linux\n");
  write(root / "proc/sys/kernel/osrelease", "6.1.0\n");
  write(root / "etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  const fs::path cache = root / "sys/devices/system/cpu/cpu0/cache";
  write(cache / "index0/level", "1\n");
  write(cache / "index0/type", "Data\n");
  write(cache / "index0/size", "48K\n");
  write(cache / "index1/level", "3\n");
  write(cache / "index1/type", "Unified\n");
  write(cache / "index1/size", "32M\n");
}

TEST(MachineTest, ReadsAKnownMachine) {
  const test::TemporaryFolder root;
  fill(root.path());
  const auto facts = machine(root.path());
  EXPECT_EQ(facts.cpu, "Tiny 9000");
  EXPECT_EQ(facts.logical_cores, 4);
  EXPECT_EQ(facts.physical_cores, 2);
  EXPECT_EQ(facts.isa, (std::vector<std::string>{"avx", "avx2", "avx512f", "fma", "sse4_2"}));
  EXPECT_EQ(facts.caches, (std::vector<Cache>{{"L1d", 48u << 10}, {"L3", 32u << 20}}));
  EXPECT_EQ(facts.memory_bytes, 8012345ULL << 10);
  EXPECT_EQ(facts.os, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts.kernel, "Linux 6.1.0");
  EXPECT_FALSE(facts.compiler.empty());
  const auto now = conditions(root.path());
  EXPECT_DOUBLE_EQ(now.load_1min, 1.25);
  EXPECT_DOUBLE_EQ(now.cpu_mhz, 2150.5);
}

TEST(MachineTest, KeyHangsOnStableFactsOnly) {
  const test::TemporaryFolder root;
  fill(root.path());
  const Facts base = machine(root.path());
  Facts same = base;
  same.kernel = "Linux 6.1.99";
  same.memory_bytes += 1000;
  EXPECT_EQ(key(base), key(same));
  EXPECT_EQ(key(base).size(), 16u);
  std::vector<Facts> others(8, base);
  others[0].cpu = "Tiny 9001";
  others[1].logical_cores = 8;
  others[2].caches[0].bytes *= 2;
  others[3].isa.pop_back();
  others[4].memory_bytes *= 2;
  others[5].compiler = "other";
  others[6].extra["libtorch"] = "2.11.0";
  others[7].os = "other";
  for (const Facts& other : others) EXPECT_NE(key(base), key(other));
}

TEST(MachineTest, WhatCannotBeReadStaysUnknown) {
  const auto facts = machine("/nonexistent");
  EXPECT_EQ(facts.cpu, "");
  EXPECT_EQ(facts.logical_cores, 0);
  EXPECT_TRUE(std::isnan(conditions("/nonexistent").load_1min));
  EXPECT_TRUE(std::isnan(conditions("/nonexistent").cpu_mhz));
}

TEST(MachineTest, KnowsTheMachineItRunsOn) {
  const auto facts = machine();
  EXPECT_GT(facts.logical_cores, 0);
  EXPECT_GT(facts.memory_bytes, 1u << 20);
  EXPECT_FALSE(facts.kernel.empty());
}

}  // namespace
}  // namespace wide::profiler
