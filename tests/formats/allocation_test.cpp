// The n-th allocation fails, for every n until none does: a refusal each time, never a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "formats/error.h"
#include "formats/exported_program.h"
#include "formats/safetensors.h"
#include "support.h"

namespace {
// Allocations to go until one fails; negative: none does.
long countdown = -1;
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (countdown >= 0 && countdown-- == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace wide::formats {
namespace {

/// Calls `parse` on copies of `file` with one more allocation granted each time, until it succeeds; returns
/// how often it was refused.
template <class Parse>
long fail_each_allocation(const std::vector<std::byte>& file, const Parse& parse) {
  for (long granted = 0;; ++granted) {
    auto copy = file;
    countdown = granted;
    try {
      parse(std::move(copy));
      countdown = -1;
      return granted;
    } catch (const Error& error) {
      countdown = -1;
      EXPECT_THAT(error.what(), testing::HasSubstr("not enough memory"));
    }
  }
}

std::vector<std::byte> corpus_file(const char* model, const char* file) {
  return test::bytes_of(test::slurp(test::model_folder(model) / file));
}

TEST(Allocation, AProgramIsReadOrRefused) {
  const auto parse = [](std::vector<std::byte> file) { parse_exported_program(std::move(file), "m.pt2"); };
  EXPECT_GT(fail_each_allocation(corpus_file("dict_output", "model.pt2"), parse), 500);
}

TEST(Allocation, ACheckpointIsReadOrRefused) {
  const auto parse = [](std::vector<std::byte> file) {
    Safetensors::parse(std::move(file), "w.safetensors");
  };
  EXPECT_GT(fail_each_allocation(corpus_file("tied_linears", "seed0.safetensors"), parse), 50);
}

}  // namespace
}  // namespace wide::formats
