// Compiled code in its private folder: what is not whole, or could be another's, is not loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "core/native/code_cache.h"
#include "temporary_folder.h"

namespace wide::native {
namespace {

using std::filesystem::path;
using testing::HasSubstr;

constexpr const char* kLevel = "x86-64";

std::string text_of(int answer) {
  return "int answer(void) { return " + std::to_string(answer) + "; }\n";
}
int call(const Code& code) {
  return reinterpret_cast<int (*)()>(code.function.get())();
}
Code find(CodeCache& cache, int answer, bool may_compile = true) {
  return cache.find({text_of(answer), kLevel}, "answer", may_compile);
}

std::string bytes_of(const path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class NativeCode : public testing::Test {
 protected:
  void SetUp() override { ASSERT_FALSE(compiler_.program.empty()) << compiler_.refusal; }

  CodeCache cache() const { return CodeCache(folder(), compiler_); }
  path folder() const { return there_ / "kernels"; }
  path file_of(int answer) const { return folder() / cache().file_name({text_of(answer), kLevel}); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder()), std::filesystem::directory_iterator()));
  }
  // As another process would come by it.
  std::string refusal_of(int answer, bool may_compile = true) const {
    CodeCache other(folder(), compiler_);
    const auto code = find(other, answer, may_compile);
    EXPECT_EQ(code.function == nullptr, !code.refusal.empty());
    return code.refusal;
  }
  // A compiler that is this script.
  Compiler script(const std::string& text, double seconds = 20) const {
    const auto file = there_.write("compiler", "#!/bin/sh\n" + text + "\n");
    ::chmod(file.c_str(), 0755);
    return {file, {}, seconds};
  }
  std::string refusal_by(const Compiler& compiler) const {
    CodeCache other(folder(), compiler);
    const auto code = find(other, 1);
    EXPECT_FALSE(code.function);
    EXPECT_EQ(files(), 0U) << "a file was left";
    return code.refusal;
  }

  test::TemporaryFolder there_;
  Compiler compiler_ = Compiler::of_this_machine();
};

TEST_F(NativeCode, IsCompiledOnceAndThenFound) {
  auto first = cache();
  EXPECT_EQ(find(first, 42, false).refusal, "not compiled yet");
  EXPECT_FALSE(std::filesystem::exists(folder())) << "looking makes nothing";
  const auto code = find(first, 42);
  ASSERT_TRUE(code.function) << code.refusal;
  EXPECT_EQ(call(code), 42);
  EXPECT_EQ(files(), 1U);
  struct stat facts {};
  ASSERT_EQ(::stat(folder().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(file_of(42).c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  auto second = cache();
  EXPECT_EQ(call(find(second, 42, false)), 42);
  EXPECT_EQ(second.removed(), 0);
}

TEST_F(NativeCode, EveryPartOfTheKeyCounts) {
  const auto one = cache();
  const auto name = one.file_name({text_of(1), kLevel});
  EXPECT_NE(name, one.file_name({text_of(2), kLevel}));
  EXPECT_NE(name, one.file_name({text_of(1), "x86-64-v3"}));
  const auto copy = there_ / "cc";
  std::filesystem::copy_file("/bin/true", copy);
  const CodeCache another(folder(), {copy, {}});
  const auto before = another.file_name({text_of(1), kLevel});
  EXPECT_NE(name, before);
  std::filesystem::last_write_time(copy,
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_NE(before, another.file_name({text_of(1), kLevel})) << "the compiler was replaced";
}

// 300 files cut short or with a flipped bit, each removed and made again, none loaded.
TEST_F(NativeCode, WhatIsNotWholeIsMadeAgain) {
  auto first = cache();
  ASSERT_EQ(call(find(first, 7)), 7);
  const auto file = file_of(7);
  const auto good = bytes_of(file);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    auto bad = good;
    if (i % 3 == 0) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % good.size()] ^= static_cast<char>(1U << random() % 8U);
    }
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bad;
    auto other = cache();
    EXPECT_EQ(find(other, 7, false).refusal, "not compiled yet");
    EXPECT_EQ(other.removed(), 1);
    EXPECT_FALSE(std::filesystem::exists(file));
  }
  EXPECT_EQ(refusal_of(7), "");
  EXPECT_EQ(bytes_of(file).size(), good.size());
}

TEST_F(NativeCode, AFileUnderTheNameOfAnotherIsNotLoaded) {
  auto first = cache();
  ASSERT_EQ(call(find(first, 1)), 1);
  std::filesystem::rename(file_of(1), file_of(2));
  auto other = cache();
  EXPECT_FALSE(find(other, 2, false).function);
  EXPECT_EQ(other.removed(), 1);
}

TEST_F(NativeCode, FilesThatOthersMayWriteAreNotLoaded) {
  auto first = cache();
  ASSERT_TRUE(find(first, 1).function);
  for (const mode_t mode : {0620U, 0602U}) {
    ::chmod(file_of(1).c_str(), mode);
    EXPECT_EQ(refusal_of(1, false), "not compiled yet");
    EXPECT_FALSE(std::filesystem::exists(file_of(1))) << "it is removed";
    EXPECT_EQ(refusal_of(1), "");
  }
  const auto good = bytes_of(file_of(1));
  const auto elsewhere = there_.write("elsewhere", good);
  std::filesystem::remove(file_of(1));
  std::filesystem::create_symlink(elsewhere, file_of(1));
  EXPECT_EQ(refusal_of(1, false), "not compiled yet") << "a link";
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
  ASSERT_EQ(::mkfifo(file_of(1).c_str(), 0600), 0);
  EXPECT_EQ(refusal_of(1, false), "not compiled yet") << "a pipe is not waited for";
}

TEST_F(NativeCode, FoldersThatOthersMayWriteAreRefused) {
  auto first = cache();
  ASSERT_TRUE(find(first, 1).function);
  for (const mode_t mode : {0770U, 0707U, 0777U}) {
    ::chmod(folder().c_str(), mode);
    EXPECT_THAT(refusal_of(1), HasSubstr("not this user's alone"));
  }
  ::chmod(folder().c_str(), 0700);
  ::chmod(there_.path().c_str(), 0777);
  EXPECT_THAT(refusal_of(1), HasSubstr("could replace it"));
  ::chmod(there_.path().c_str(), 01777);
  EXPECT_EQ(refusal_of(1), "") << "as /tmp is";
  ::chmod(there_.path().c_str(), 0700);
  std::filesystem::rename(folder(), there_ / "real");
  std::filesystem::create_directory_symlink(there_ / "real", folder());
  EXPECT_THAT(refusal_of(1), HasSubstr("cannot be opened"));
  std::filesystem::remove(folder());
  there_.write("kernels", "a file");
  EXPECT_THAT(refusal_of(1), HasSubstr("cannot be opened"));
}

TEST_F(NativeCode, AnotherUsersFilesAndFoldersAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kNobody = 65534;
  auto first = cache();
  ASSERT_TRUE(find(first, 1).function);
  ASSERT_EQ(::chown(file_of(1).c_str(), kNobody, kNobody), 0);
  EXPECT_EQ(refusal_of(1, false), "not compiled yet");
  EXPECT_EQ(refusal_of(1), "");
  ASSERT_EQ(::chown(folder().c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(refusal_of(1), HasSubstr("not this user's alone"));
}

// What was compiled before is used; nothing new is made.
TEST_F(NativeCode, AFolderThatCannotBeWrittenIsReadOnly) {
  if (::geteuid() == 0) {  // whom no permission stops
    auto first = cache();
    ASSERT_TRUE(find(first, 1).function);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chown(folder().c_str(), 65534, 65534) != 0 || ::chown(file_of(1).c_str(), 65534, 65534) != 0 ||
          ::chown(there_.path().c_str(), 65534, 65534) != 0 || ::seteuid(65534) != 0 ||
          ::chmod(folder().c_str(), 0500) != 0)
        ::_exit(9);
      auto other = cache();
      const bool reads = find(other, 1, false).function != nullptr;
      const auto refusal = find(other, 2).refusal;
      ::_exit(!reads ? 1 : refusal.find("no file can be written in") == refusal.npos ? 2 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
    return;
  }
  auto first = cache();
  ASSERT_TRUE(find(first, 1).function);
  ::chmod(folder().c_str(), 0500);
  EXPECT_EQ(refusal_of(1, false), "");
  EXPECT_THAT(refusal_of(2), HasSubstr("no file can be written in"));
  ::chmod(folder().c_str(), 0700);
}

// As on a full disk: no file can grow.
TEST_F(NativeCode, WhereNothingCanBeWrittenThereIsAReasonAndNoRest) {
  std::filesystem::create_directory(folder());
  ::chmod(folder().c_str(), 0700);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{64, 64};
    ::setrlimit(RLIMIT_FSIZE, &none);
    auto other = cache();
    const auto code = find(other, 1);
    ::_exit(code.function ? 1 : code.refusal.empty() ? 2 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(files(), 0U);
}

TEST_F(NativeCode, SixteenProcessesMakeOneFile) {
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto own = cache();
      const auto code = find(own, 42);
      ::_exit(code.function && call(code) == 42 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(refusal_of(42, false), "");
}

TEST_F(NativeCode, TheOldestFilesGo) {
  constexpr std::size_t kRoom = 64 << 10;
  CodeCache small(folder(), compiler_, kRoom);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(find(small, i).function);
  std::size_t bytes = 0;
  for (const auto& one : std::filesystem::directory_iterator(folder())) bytes += one.file_size();
  EXPECT_LE(bytes, kRoom);
  EXPECT_GT(bytes, 0U);
  EXPECT_EQ(refusal_of(11, false), "");
  EXPECT_EQ(refusal_of(0, false), "not compiled yet");
}

TEST_F(NativeCode, WhatAKilledProcessLeftGoes) {
  auto first = cache();
  ASSERT_TRUE(find(first, 1).function);
  std::filesystem::create_directory(folder() / "build-abcdef");
  std::ofstream(folder() / ".new-1-2-3") << "half";
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(2);
  for (const char* name : {"build-abcdef", ".new-1-2-3"})
    std::filesystem::last_write_time(folder() / name, long_ago);
  std::filesystem::create_directory(folder() / "build-ghijkl");  // at work
  ASSERT_TRUE(find(first, 2).function);
  EXPECT_EQ(files(), 3U);
}

TEST_F(NativeCode, WithoutACompilerThereIsAReason) {
  const Compiler none{{}, "there is no C compiler"};
  CodeCache other(folder(), none);
  EXPECT_EQ(find(other, 1).refusal, "there is no C compiler");
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(NativeCode, CompilersThatFailHaveAReason) {
  std::filesystem::create_directory(folder());
  ::chmod(folder().c_str(), 0700);
  const std::string to_output = "while [ \"$1\" != -o ]; do shift; done; ";
  EXPECT_THAT(refusal_by(script("echo it broke >&2; exit 3")), HasSubstr("failed with code 3: it broke"));
  EXPECT_THAT(refusal_by(script("kill -SEGV $$")), HasSubstr("was killed by SIGSEGV"));
  EXPECT_THAT(refusal_by(script("exit 0")), HasSubstr("gave nothing"));
  EXPECT_THAT(refusal_by(script(to_output + ": > \"$2\"")), HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal_by(script(to_output + "head -c 9999 /dev/urandom > \"$2\"")),
              HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal_by(script(to_output + "mkdir \"$2\"")), HasSubstr("gave nothing"));
  EXPECT_THAT(refusal_by(script("printf 'a\\033]0;b\\007c' >&2; exit 1")), HasSubstr(": a]0;bc"));
  EXPECT_THAT(refusal_by({"/no/such/compiler", {}}), HasSubstr("gave nothing"));
  EXPECT_NE(refusal_by(script(to_output + "head -c 99999999 /dev/zero > \"$2\"")), "") << "too large";
}

// The loader maps what is not there, and whoever reads it is killed.
TEST_F(NativeCode, WhatIsCutOffIsNotLoaded) {
  std::filesystem::create_directory(folder());
  ::chmod(folder().c_str(), 0700);
  for (const char* size : {"1000", "5000", "8192"}) {
    EXPECT_THAT(
        refusal_by(script("out=; for one; do [ \"$last\" = -o ] && out=$one; last=$one; done; " +
                          compiler_.program.string() + " \"$@\" && truncate -s " + size + " \"$out\"")),
        HasSubstr("cannot be loaded"));
  }
}

TEST_F(NativeCode, AnotherKernelsObjectIsNotTaken) {
  Compiler real = compiler_;
  const auto wrong = there_.write("wrong.c", "int other(void) { return 1; }\n");
  std::filesystem::create_directory(folder());
  ::chmod(folder().c_str(), 0700);
  EXPECT_THAT(refusal_by(script("while [ \"$1\" != -o ]; do shift; done; " + real.program.string() +
                                " -shared -nostdlib -o \"$2\" " + wrong.string())),
              HasSubstr("has no kernel in it"));
}

TEST_F(NativeCode, ACompilerThatHangsIsKilledAndNotAskedAgain) {
  const auto begin = std::chrono::steady_clock::now();
  CodeCache other(folder(), script("sleep 600 & sleep 600", 0.3));
  EXPECT_THAT(find(other, 1).refusal, HasSubstr("took longer than"));
  EXPECT_THAT(find(other, 2).refusal, HasSubstr("took longer than"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(files(), 0U);
}

TEST_F(NativeCode, TheCompilerIsToldNothingThatWeWereTold) {
  ::setenv("LD_PRELOAD_TEST", "1", 1);
  ::setenv("CPATH", "/nowhere", 1);
  std::filesystem::create_directory(folder());
  ::chmod(folder().c_str(), 0700);
  const auto refusal = refusal_by(script("env | sort | tr '\\n' ' ' >&2; exit 1"));
  ::unsetenv("LD_PRELOAD_TEST");
  ::unsetenv("CPATH");
  EXPECT_THAT(refusal, HasSubstr("LC_ALL=C"));
  EXPECT_EQ(refusal.find("CPATH"), refusal.npos) << refusal;
  EXPECT_EQ(refusal.find("LD_PRELOAD"), refusal.npos) << refusal;
}

// The loader takes a path that it knows for the library that it knows.
TEST_F(NativeCode, OneCodeIsNotTakenForAnother) {
  auto own = cache();
  std::vector<Code> all;
  for (int i = 0; i < 5; ++i) all.push_back(find(own, i));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(call(all[static_cast<std::size_t>(i)]), i);
}

TEST_F(NativeCode, ThreadsShareOneCache) {
  auto own = cache();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { right += call(find(own, i % 2)) == i % 2 ? 1 : 0; });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

}  // namespace
}  // namespace wide::native
