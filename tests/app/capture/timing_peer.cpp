// Times many small operators when asked to, over standard input and output: timing_peer plain|captured
// NUMBER. With `captured` it has captured before; with `plain` it has done the same work.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "app/capture/capture.h"

namespace {

void work() {
  auto tensor = at::ones({16});
  for (int i = 0; i < 200; ++i) tensor = tensor + 1;  // an allocation each
}

void answer(unsigned number) {
  const c10::InferenceMode guard;
  // Where the heap's blocks lie changes times by a few percent: each process has a heap of its own.
  std::mt19937 generator(number);
  std::vector<std::vector<char>> blocks(1 + generator() % 500);
  for (auto& block : blocks) block.resize(1 + generator() % 600);
  for (std::size_t i = 0; i < blocks.size(); i += 2) blocks[i] = {};
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = nlohmann::json::parse(line);
    if (!request.contains("runs")) break;
    const auto runs = request["runs"].get<std::int64_t>();
    const auto start = wide::profiler::now();
    for (std::int64_t i = 0; i < runs; ++i) work();
    std::cout << nlohmann::json{{"ns", wide::profiler::now() - start}} << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  const c10::InferenceMode guard;
  constexpr int kBefore = 50;
  if (argc > 1 && std::string(argv[1]) == "captured") {
    wide::app::Capture capture({"test", "wide", 1, {}});
    for (int i = 0; i < kBefore; ++i) capture.pass(work);
    capture.finish();
  } else {
    for (int i = 0; i < kBefore; ++i) work();
  }
  // A thread's heap is new: that of this one a capture has changed.
  std::thread(answer, argc > 2 ? static_cast<unsigned>(std::stoul(argv[2])) : 0).join();
}
