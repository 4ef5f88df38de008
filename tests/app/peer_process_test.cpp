#include "app/peer_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <filesystem>
#include <fstream>

#include "formats/error.h"

namespace wide::app {
namespace {

// A peer in the shell: `script` may read requests from its input.
PeerProcess shell(const std::string& script) {
  return PeerProcess({"/bin/sh", "-c", script});
}

std::string error_of(PeerProcess& peer) {
  try {
    peer.ask({{"do", "round"}});
  } catch (const Error& error) {
    EXPECT_EQ(error.stage(), "peers");
    return error.what();
  }
  return "no error";
}

TEST(PeerProcessTest, AnswersLineByLine) {
  auto peer = shell("while read -r line; do echo \"{\\\"got\\\": $line}\"; done");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(peer.ask({{"round", i}}).at("got").at("round"), i);
  const std::string longer(100'000, 'x');
  EXPECT_EQ(peer.ask({{"name", longer}}).at("got").at("name"), longer);
}

TEST(PeerProcessTest, TwoAnswersInOnePieceAreTwo) {
  auto peer = shell("read -r line; printf '{\"a\": 1}\\n{\"a\": 2}\\n'; cat >/dev/null");
  EXPECT_EQ(peer.ask({{"do", 1}}).at("a"), 1);
  EXPECT_EQ(peer.ask({{"do", 2}}).at("a"), 2);
}

TEST(PeerProcessTest, ADeadPeerIsAnErrorAndNoSignal) {
  auto peer = shell("exit 1");
  EXPECT_THAT(error_of(peer), testing::HasSubstr("has ended with code 1"));
  EXPECT_THAT(error_of(peer), testing::HasSubstr("has ended with code 1"));
  auto killed = shell("kill -KILL $$");
  EXPECT_THAT(error_of(killed), testing::HasSubstr("was killed by SIGKILL (Killed)"));
}

TEST(PeerProcessTest, ACheckThatIsKilledSaysSo) {
  const auto python = std::filesystem::path(testing::TempDir()) / "killed_python";
  std::ofstream(python) << "#!/bin/sh\necho 2.11.0\nkill -KILL $$\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  ::setenv("WIDEBENCH_PYTHON", python.c_str(), 1);
  try {
    check_peers("cpu");
    ADD_FAILURE() << "a killed check passed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("it was killed by SIGKILL (Killed)"),
                                             testing::Not(testing::HasSubstr("2.11.0;"))));
  }
  ::unsetenv("WIDEBENCH_PYTHON");
}

TEST(PeerProcessTest, FaultsArePassedOn) {
  auto peer =
      shell("read -r line; echo nonsense; read -r line; echo '{\"error\": \"no folder\"}'; cat >/dev/null");
  EXPECT_THAT(error_of(peer), testing::HasSubstr("no JSON object: nonsense"));
  EXPECT_EQ(error_of(peer), "no folder");
}

TEST(PeerProcessTest, AProgramThatIsNotThereIsNamed) {
  EXPECT_THAT(
      [] { PeerProcess({"/no/such/program"}); },
      testing::Throws<Error>(testing::Property(&Error::what, testing::HasSubstr("/no/such/program"))));
}

TEST(PeerProcessTest, EndsAPeerThatDoesNotStop) {
  { auto peer = shell("trap '' TERM; while :; do sleep 1; done"); }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
}

}  // namespace
}  // namespace wide::app
