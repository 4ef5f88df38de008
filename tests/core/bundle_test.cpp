// Bundles: they run as the model did that they were made of, and what is not as it was written is refused.
#include "core/bundle/bundle.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/native/code_cache.h"
#include "core/prove/prove.h"
#include "core/support.h"
#include "formats/error.h"
#include "formats/file.h"
#include "formats/sha256.h"

namespace wide::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::byte> program(std::string_view model) {
  return formats::read_file(corpus(model) / "model.pt2");
}

// Written with a plan for the golden file's inputs.
fs::path bundled(const fs::path& folder, std::string_view model, Mode mode = Mode::kDefault) {
  BuildOptions options;
  options.mode = mode;
  auto made = corpus_model(model, kMembers, options);
  made.build(corpus_inputs(model, kMembers));
  write_bundle(folder, program(model), made);
  return folder;
}

// The model of a bundle; `told` is what it says of its plans.
WideModel opened(const fs::path& folder, std::vector<std::string>& told) {
  auto bundle = read_bundle(folder, {.trust = true});
  BuildOptions options;
  options.mode = bundle.mode;
  options.seed = bundle.seed;
  options.plans = std::move(bundle.plans);
  options.warn = [&](const std::string& what) { told.push_back(what); };
  return WideModel(std::move(bundle.loaded.graph), std::move(bundle.loaded.members), std::move(options));
}

class BundleOf : public testing::TestWithParam<const char*> {};

TEST_P(BundleOf, RunsAsTheModelDid) {
  const TemporaryFolder folder;
  const auto inputs = corpus_inputs(GetParam(), kMembers);
  for (const auto mode : {Mode::kEager, Mode::kMaxAutotune}) {
    BuildOptions options;
    options.mode = mode;
    options.seed = 7;
    auto first = corpus_model(GetParam(), kMembers, options);
    const auto expected = first.forward(inputs);
    write_bundle(folder / name(mode), program(GetParam()), first);
    std::vector<std::string> told;
    auto second = opened(folder / name(mode), told);
    EXPECT_EQ(second.options().mode, mode);
    EXPECT_EQ(second.options().seed, 7u);
    EXPECT_EQ(strategies(second.build(inputs)), strategies(first.build(inputs)));
    EXPECT_THAT(told, IsEmpty());
    const auto got = second.forward(inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (!got[k].is_tensor()) continue;
      for (std::int64_t i = 0; i < kMembers; ++i)
        EXPECT_TRUE(same_bits(got[k].member(i), expected[k].member(i))) << k << " " << i;
    }
    for (std::int64_t i = 0; i < kMembers; ++i) {
      const auto place = static_cast<std::size_t>(i);
      EXPECT_EQ(second.member_list()[place].name, first.member_list()[place].name);
    }
    second.reset();
    EXPECT_TRUE(prove(second, inputs).passed());
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, BundleOf,
                         testing::Values("mlp", "resblock", "minigpt_dynamic", "tied_linears",
                                         "mutating_buffer", "dict_output"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Bundle, HoldsMembersAsTheyWereLoaded) {
  const TemporaryFolder folder;
  const auto inputs = corpus_inputs("mutating_buffer", kMembers);
  auto model = corpus_model("mutating_buffer", kMembers);
  const auto fresh = model.forward(inputs)[0].stacked().clone();
  (void)model.forward(inputs);
  write_bundle(folder / "b", program("mutating_buffer"), model);
  std::vector<std::string> told;
  EXPECT_TRUE(same_bits(opened(folder / "b", told).forward(inputs)[0].stacked(), fresh));
}

TEST(Bundle, WhatMembersHaveAlikeIsOneTensor) {
  const TemporaryFolder folder;
  const auto graph = captured("mlp");
  WideModel model(graph, made_up_members(graph, kMembers, true));
  write_bundle(folder / "b", program("mlp"), model);
  const auto members = read_bundle(folder / "b").loaded.members;
  ASSERT_EQ(members.size(), static_cast<std::size_t>(kMembers));
  for (const auto& [fqn, tensor] : members[0].tensors)
    EXPECT_EQ(members[2].tensors.at(fqn).const_data_ptr(), tensor.const_data_ptr()) << fqn;
}

TEST(Bundle, PlansForShapesThatItWasNotMadeFor) {
  const TemporaryFolder folder;
  std::vector<std::string> told;
  auto model = opened(bundled(folder / "b", "minigpt_dynamic"), told);
  auto inputs = corpus_inputs("minigpt_dynamic", kMembers);
  for (auto& input : inputs) input.tensor = at::cat({input.tensor, input.tensor}, input.mapped ? 1 : 0);
  EXPECT_TRUE(prove(model, inputs).passed());
}

TEST(Bundle, EveryFileMustBeWhatWasWritten) {
  const TemporaryFolder folder;
  const auto bundle = bundled(folder / "b", "mlp");
  for (const char* name : {"model.pt2", "members.safetensors"}) {
    SCOPED_TRACE(name);
    const auto bytes = formats::read_file(bundle / name);
    for (const std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      auto other = bytes;
      other[at] ^= std::byte{1};
      std::ofstream(bundle / name, std::ios::binary)
          .write(reinterpret_cast<const char*>(other.data()), std::ssize(other));
      expect_error([&] { read_bundle(bundle); }, "load", {name, "SHA-256", "widebench bundle"});
    }
    fs::remove(bundle / name);
    expect_error([&] { read_bundle(bundle); }, "load", {name});
    std::ofstream(bundle / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  EXPECT_EQ(read_bundle(bundle).loaded.members.size(), static_cast<std::size_t>(kMembers));
}

TEST(Bundle, CodeIsNamedByDigestsOnly) {
  const TemporaryFolder folder;
  const auto bundle = bundled(folder / "b", "mlp");
  std::ifstream file(bundle / "bundle.json");
  auto document = json::parse(file);
  for (const char* name : {"../model.pt2", "", "/bin/true", "00"}) {
    document["code"] = {name};
    std::ofstream(bundle / "bundle.json") << document;
    expect_error([&] { read_bundle(bundle, {.trust = true}); }, "load", {"bundle.json", "names no code"});
  }
  document["code"] = {std::string(64, 'a')};
  std::ofstream(bundle / "bundle.json") << document;
  expect_error([&] { read_bundle(bundle, {.trust = true}); }, "load", {"bundle.json", "missing"});
}

TEST(Bundle, ReplacesNothingButABundleAndOnlyIfAsked) {
  const TemporaryFolder folder;
  auto model = corpus_model("mlp", kMembers);
  const auto bytes = program("mlp");
  fs::create_directory(folder / "mine");
  folder.write("mine/notes", "of years");
  folder.write("file", "");
  for (const char* name : {"mine", "file"}) {
    for (const bool replace : {false, true})
      expect_error([&] { write_bundle(folder / name, bytes, model, replace); }, "bundle",
                   {name, "no bundle"});
  }
  EXPECT_TRUE(fs::exists(folder / "mine/notes"));
  write_bundle(folder / "b/", bytes, model);
  expect_error([&] { write_bundle(folder / "b", bytes, model); }, "bundle", {"--force"});
  const auto fewer = corpus_model("mlp", 2);
  write_bundle(folder / "b", bytes, fewer, true);
  EXPECT_EQ(read_bundle(folder / "b").loaded.members.size(), 2u);
  folder.write("b/notes", "of years");
  expect_error([&] { write_bundle(folder / "b", bytes, model, true); }, "bundle", {"b/notes", "no part"});
  EXPECT_TRUE(fs::exists(folder / "b/notes"));
  fs::remove(folder / "b/notes");
  folder.write("b/code/notes", "of years");
  expect_error([&] { write_bundle(folder / "b", bytes, model, true); }, "bundle",
               {"b/code/notes", "no part"});
  EXPECT_TRUE(fs::exists(folder / "b/code/notes"));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::UnorderedElementsAre("mine", "file", "b"));
}

// Whoever comes second is told, and what he found is left alone.
TEST(Bundle, OneOfManyWritersHasThePlace) {
  const TemporaryFolder folder;
  const auto bytes = program("mlp");
  std::atomic<int> written{0}, refused{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&] {
      const auto model = corpus_model("mlp", kMembers);
      try {
        write_bundle(folder / "b", bytes, model);
        ++written;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("--force"));
        ++refused;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(written, 1);
  EXPECT_EQ(refused, 7);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(Bundle, AnySeedIsReadAgain) {
  const TemporaryFolder folder;
  BuildOptions options;
  options.seed = ~std::uint64_t{0};
  const auto model = corpus_model("mlp", kMembers, options);
  write_bundle(folder / "b", program("mlp"), model);
  EXPECT_EQ(read_bundle(folder / "b").seed, ~std::uint64_t{0});
}

TEST(Bundle, TheProgramIsTheOneOfTheModel) {
  const TemporaryFolder folder;
  auto model = corpus_model("mlp", kMembers);
  expect_error([&] { write_bundle(folder / "b", program("resblock"), model); }, "bundle", {"another one"});
  EXPECT_FALSE(fs::exists(folder / "b"));
}

// Code that was compiled elsewhere is found where it is neither in the folder nor can be made.
TEST(Bundle, LentCodeNeedsNoCompiler) {
  const TemporaryFolder folder;
  const native::Source source{"int answer(void) { return 42; }", "x86-64"};
  native::CodeCache made(folder / "made", native::Compiler::of_this_machine());
  if (made.compiler().program.empty()) GTEST_SKIP() << made.compiler().refusal;
  ASSERT_TRUE(made.find(source, "answer", true).function);
  native::CodeCache other(folder / "other", {{}, "there is none"});
  EXPECT_EQ(other.find(source, "answer", true).refusal, "there is none");
  EXPECT_FALSE(other.object(source));
  other.lend({{native::CodeCache::name_of(source), made.object(source).value()}});
  const auto code = other.find(source, "answer", true);
  ASSERT_TRUE(code.function) << code.refusal;
  EXPECT_EQ(reinterpret_cast<int (*)()>(code.function.get())(), 42);
  EXPECT_EQ(other.object(source), made.object(source));
  EXPECT_FALSE(other.find({source.text, "x86-64-v3"}, "answer", true).function)
      << "of another kind of machine";
}

}  // namespace
}  // namespace wide::test
