// The code of the sentinel kernel, assembled by NVIDIA's own assembler (nvJitLink), which needs no GPU.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nvJitLink.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/driver.h"

namespace wide::cuda {
namespace {

// The header gives each function its version in its name.
#define WIDE_NAME(name) WIDE_TEXT(name)
#define WIDE_TEXT(name) #name
#define WIDE_FIND(name) reinterpret_cast<decltype(&name)>(::dlsym(library_, WIDE_NAME(name)))

class SentinelCode : public testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(WIDEBENCH_TEST_ASSEMBLER, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
      GTEST_SKIP() << "there is no assembler: scripts/setup --profile full installs it";
  }

  /// Machine code for that GPU; empty, with what it says in `complaint_`, where it cannot be assembled.
  std::vector<char> assembled(const std::string& code, const std::string& architecture) {
    const auto create = WIDE_FIND(nvJitLinkCreate);
    const auto add = WIDE_FIND(nvJitLinkAddData);
    const auto complete = WIDE_FIND(nvJitLinkComplete);
    const auto size_of = WIDE_FIND(nvJitLinkGetLinkedCubinSize);
    const auto get = WIDE_FIND(nvJitLinkGetLinkedCubin);
    const auto complaint_size = WIDE_FIND(nvJitLinkGetErrorLogSize);
    const auto complaint = WIDE_FIND(nvJitLinkGetErrorLog);
    const auto destroy = WIDE_FIND(nvJitLinkDestroy);
    const auto option = "-arch=" + architecture;
    std::array<const char*, 1> options = {option.c_str()};
    nvJitLinkHandle handle = nullptr;
    if (create(&handle, options.size(), options.data()) != NVJITLINK_SUCCESS) return {};
    std::vector<char> made;
    const bool done =
        add(handle, NVJITLINK_INPUT_PTX, code.data(), code.size(), "sentinel") == NVJITLINK_SUCCESS &&
        complete(handle) == NVJITLINK_SUCCESS;
    std::size_t size = 0;
    if (done && size_of(handle, &size) == NVJITLINK_SUCCESS) {
      made.resize(size);
      get(handle, made.data());
    } else if (complaint_size(handle, &size) == NVJITLINK_SUCCESS) {
      complaint_.resize(size);
      complaint(handle, complaint_.data());
    }
    destroy(&handle);
    return made;
  }

  void* library_ = nullptr;
  std::string complaint_;
};

TEST_F(SentinelCode, IsAssembledForEveryGpuThatTheLibrariesAreFor) {
  for (const auto* architecture : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}) {
    const auto made = assembled(kSentinelCode, architecture);
    ASSERT_GT(made.size(), 4u) << architecture << ": " << complaint_;
    EXPECT_EQ(std::string(made.data(), 4),
              "\x7f"
              "ELF");
    // A section of code of its own name: what cuModuleGetFunction looks up.
    const std::string all(made.begin(), made.end());
    EXPECT_NE(all.find(std::string(".text.") + kSentinelKernel), std::string::npos) << architecture;
  }
}

TEST_F(SentinelCode, AMistakeInItWouldBeFound) {
  EXPECT_TRUE(assembled(std::string(kSentinelCode) + "}", "sm_90").empty());
  EXPECT_NE(complaint_, "");
}

}  // namespace
}  // namespace wide::cuda
