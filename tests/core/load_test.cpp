// Members from files: checkpoints of one program, and several programs.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <fstream>

#include "core/aten/torch_bridge.h"
#include "core/frontend/members.h"
#include "core/support.h"
#include "formats/file.h"
#include "formats/safetensors.h"

namespace wide::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

using Tensors = std::map<std::string, at::Tensor>;

Tensors checkpoint(std::string_view model, int seed) {
  const auto file =
      formats::Safetensors::read(corpus(model) / ("seed" + std::to_string(seed) + ".safetensors"));
  Tensors tensors;
  for (const auto& entry : file.entries()) tensors.emplace(entry.name, to_tensor(entry));
  return tensors;
}

void save(const fs::path& path, const Tensors& tensors) {
  fs::create_directories(path.parent_path());
  write_tensors(path, {tensors.begin(), tensors.end()});
}

fs::path program(std::string_view model) {
  return corpus(model) / "model.pt2";
}

void expect_refused(const Tensors& tensors, const std::vector<std::string>& words) {
  const TemporaryFolder folder;
  const auto file = folder / "changed.safetensors";
  save(file, tensors);
  auto all = words;
  all.push_back(file.string());
  all.push_back(program("mlp").string());
  expect_error([&] { load({program("mlp")}, {file}); }, "load", all);
}

TEST(Load, CheckpointsAreMembersNamedByTheirStems) {
  const auto loaded =
      load({program("mlp")}, {corpus("mlp") / "seed1.safetensors", corpus("mlp") / "seed0.safetensors"});
  ASSERT_EQ(loaded.members.size(), 2u);
  EXPECT_EQ(loaded.members[0].name, "seed1");
  EXPECT_EQ(loaded.members[1].name, "seed0");
  for (const auto& [name, tensor] : checkpoint("mlp", 1))
    EXPECT_TRUE(loaded.members[0].tensors.at(name).equal(tensor)) << name;
  EXPECT_EQ(loaded.graph.name, "model");
}

TEST(Load, ViewsThatAreConjugatedOrNegatedAreWrittenAsTheyRead) {
  const TemporaryFolder folder;
  const auto z = at::randn({3}, at::kComplexFloat), one = at::randn({1}, at::kComplexFloat);
  const Tensors tensors{
      {"conj", at::conj(z)}, {"imag", at::imag(at::conj(one))}, {"turned", at::randn({2, 3}).t()}};
  save(folder / "t.safetensors", tensors);
  const auto file = formats::Safetensors::read(folder / "t.safetensors");
  for (const auto& [name, tensor] : tensors)
    EXPECT_TRUE(at::equal(to_tensor(*file.find(name)), tensor)) << name;
}

TEST(Load, AProgramInMemoryIsTheFilesAndLeavesOutWhatIsGiven) {
  const auto file = formats::read_file(program("mlp"));
  const auto loaded = load({program("mlp")}, {corpus("mlp") / "seed1.safetensors"});
  const auto whole = load_program(file, "mlp.pt2");
  EXPECT_EQ(architecture_difference(whole.graph, loaded.graph), "");
  EXPECT_EQ(whole.tensors.size(), loaded.members[0].tensors.size());
  const auto name = whole.tensors.begin()->first;
  EXPECT_FALSE(load_program(file, "mlp.pt2", {name}).tensors.contains(name));
  EXPECT_NE(architecture_difference(whole.graph, captured("resblock")), "");
  expect_error([] { load_program(std::vector<std::byte>(9), "short"); }, "load", {"short"});
}

TEST(Load, AMemberInMemoryMustFitTheGraph) {
  const auto graph = captured("mlp");
  auto member = load({program("mlp")}, {corpus("mlp") / "seed0.safetensors"}).members[0];
  check_member(graph, member);
  const auto name = member.tensors.begin()->first;
  const auto kept = member.tensors.at(name);
  member.tensors[name] = kept.to(at::kDouble);
  expect_error([&] { check_member(graph, member); }, "load", {"seed0", name, "float64", "float32"});
  member.tensors[name] = at::zeros({3, 1, 4});
  expect_error([&] { check_member(graph, member); }, "load", {"seed0", name, "[3, 1, 4]"});
  member.tensors.erase(name);
  expect_error([&] { check_member(graph, member); }, "load", {"seed0", "lacks", name});
}

TEST(Load, AProgramAloneIsOneMemberWithItsOwnWeights) {
  const auto loaded = load({program("mlp")}, {});
  ASSERT_EQ(loaded.members.size(), 1u);
  EXPECT_EQ(loaded.members[0].name, "model");
  EXPECT_EQ(loaded.members[0].tensors.size(), 4u);
}

TEST(Load, MissingTensorsAreNamed) {
  auto tensors = checkpoint("mlp", 0);
  tensors.erase("fc1.bias");
  expect_refused(tensors, {"lacks 'fc1.bias'"});
  tensors.clear();
  tensors["other"] = at::ones({2});
  expect_refused(tensors, {"lacks 'fc1.bias', 'fc1.weight', 'fc2.bias' and 1 more", "has 'other'"});
}

TEST(Load, ExtraTensorsAreNamed) {
  auto tensors = checkpoint("mlp", 0);
  tensors["fc3.bias"] = at::ones({2});
  expect_refused(tensors, {"has 'fc3.bias'"});
}

TEST(Load, WrongShapesAndTypesAreNamedWithBothSides) {
  auto tensors = checkpoint("mlp", 0);
  tensors["fc1.weight"] = tensors["fc1.weight"].t().contiguous();
  expect_refused(tensors, {"'fc1.weight'", "float32[64, 128]", "float32[128, 64]"});
  tensors = checkpoint("mlp", 0);
  tensors["fc2.bias"] = tensors["fc2.bias"].to(at::kDouble);
  expect_refused(tensors, {"'fc2.bias'", "float64[64]", "float32[64]"});
}

TEST(Load, ATiedTensorKeptUnderOneNameFillsItsTwins) {
  const TemporaryFolder folder;
  auto tensors = checkpoint("tied_linears", 2);
  tensors.erase("b.weight");
  tensors.erase("c.weight");
  tensors.erase("b.bias");
  save(folder / "tied.safetensors", tensors);
  const auto loaded = load({program("tied_linears")}, {folder / "tied.safetensors"});
  for (const auto& [name, tensor] : checkpoint("tied_linears", 2)) {
    EXPECT_TRUE(loaded.members[0].tensors.at(name).equal(tensor)) << name;
  }
  tensors.erase("a.weight");
  save(folder / "none.safetensors", tensors);
  expect_error([&] { load({program("tied_linears")}, {folder / "none.safetensors"}); }, "load",
               {"none.safetensors", "'a.weight', 'b.weight', 'c.weight'"});
}

TEST(Load, BuffersOutsideOfCheckpointsComeFromTheProgram) {
  const auto loaded = load({program("hf_bert")}, {corpus("hf_bert") / "seed0.safetensors"});
  const auto& tensors = loaded.members[0].tensors;
  EXPECT_FALSE(checkpoint("hf_bert", 0).contains("m.embeddings.position_ids"));
  EXPECT_EQ(tensors.at("m.embeddings.position_ids").sizes(), at::IntArrayRef({1, 32}));
}

TEST(Load, SeveralProgramsAreOneMemberEach) {
  const TemporaryFolder folder;
  fs::copy_file(program("mlp"), folder / "first.pt2");
  fs::copy_file(program("mlp"), folder / "second.pt2");
  const auto loaded = load({folder / "first.pt2", folder / "second.pt2"}, {});
  ASSERT_EQ(loaded.members.size(), 2u);
  EXPECT_EQ(loaded.members[0].name, "first");
  EXPECT_EQ(loaded.members[1].name, "second");
  EXPECT_TRUE(loaded.members[1].tensors.at("fc1.weight").equal(loaded.members[0].tensors.at("fc1.weight")));
}

TEST(Load, AnotherArchitectureIsNamedWithTheFirstDifference) {
  expect_error(
      [] {
        load({program("mlp"), program("resblock")}, {});
      },
      "load", {program("resblock").string(), program("mlp").string(), "another architecture", "against"});
}

TEST(Load, OptionsThatContradictAreRefused) {
  const auto seed = corpus("mlp") / "seed0.safetensors";
  expect_error([] { load({}, {}); }, "load", {"--model"});
  expect_error([&] { load({program("mlp"), program("mlp")}, {seed}); }, "load", {"--weights"});
  expect_error([] { load({corpus("mlp") / "nothing.pt2"}, {}); }, "load", {"nothing.pt2"});
}

class Names : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& content) {
    const auto path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Names, TheSameFileAgainIsNumbered) {
  const auto a = file("a.safetensors", "x");
  EXPECT_THAT(member_names({a, a, a}), ElementsAre("a", "a#2", "a#3"));
  EXPECT_THAT(member_names({a, a.parent_path() / "." / "a.safetensors"}), ElementsAre("a", "a#2"));
}

TEST_F(Names, EqualContentsUnderTheSameStemAreNumbered) {
  EXPECT_THAT(member_names({file("p/a.safetensors", "x"), file("q/a.safetensors", "x")}),
              ElementsAre("a", "a#2"));
}

TEST_F(Names, TheFolderTellsDifferentFilesOfOneStemApart) {
  EXPECT_THAT(member_names(
                  {file("p/a.safetensors", "x"), file("q/a.safetensors", "y"), file("p/b.safetensors", "z")}),
              ElementsAre("p/a", "q/a", "b"));
  // Of equal length too.
  EXPECT_THAT(member_names({file("p/c.safetensors", "same length"), file("q/c.safetensors", "same_length")}),
              ElementsAre("p/c", "q/c"));
}

TEST_F(Names, FilesThatStayAlikeAreRefused) {
  const auto one = file("1/p/a.safetensors", "x"), other = file("2/p/a.safetensors", "y");
  expect_error([&] { member_names({one, other}); }, "load", {other.string(), "'p/a'", "rename"});
}

TEST_F(Names, EqualFilesBesideADifferentOne) {
  const auto p = file("p/a.safetensors", "x"), q = file("q/a.safetensors", "y");
  EXPECT_THAT(member_names({p, p, q}), ElementsAre("p/a", "p/a#2", "q/a"));
}

}  // namespace
}  // namespace wide::test
