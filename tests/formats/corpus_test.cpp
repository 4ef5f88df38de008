// Real files: every model and checkpoint of the corpus reads, and its parts fit each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "formats/exported_program.h"
#include "formats/safetensors.h"
#include "support.h"

namespace wide::formats {
namespace {

using test::EditableJson;

class Corpus : public testing::TestWithParam<std::filesystem::path> {};

std::size_t count_keys(const Safetensors& file, const std::string& prefix) {
  return static_cast<std::size_t>(std::ranges::count_if(
      file.entries(), [&](const SafetensorsEntry& entry) { return entry.name.starts_with(prefix); }));
}

TEST_P(Corpus, ProgramAgreesWithItsDescription) {
  const auto program = read_exported_program(GetParam() / "model.pt2");
  const EditableJson meta = EditableJson::parse(std::ifstream(GetParam() / "meta.json"));
  EXPECT_THAT(program.warnings, testing::IsEmpty());
  EXPECT_EQ(program.schema_major, 8);
  EXPECT_EQ(program.torch_version, meta["torch"]);

  std::vector<std::string> inputs, outputs;
  for (const auto& spec : program.inputs)
    if (spec.kind == InputSpec::Kind::kUserInput)
      inputs.push_back(std::get<TensorName>(spec.argument.value).name);
  for (const auto& spec : program.outputs) outputs.push_back(std::get<TensorName>(spec.argument.value).name);
  EXPECT_EQ(EditableJson(inputs), meta["user_inputs"]);
  EXPECT_EQ(EditableJson(outputs), meta["user_outputs"]);
  EXPECT_EQ(program.output_names.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    EXPECT_EQ(name(program.graph.tensors.at(outputs[i]).dtype), meta["outputs"][i]["dtype"]);
  std::map<std::string, std::size_t> operators;
  for (const auto& node : program.graph.nodes) ++operators[node.target];
  for (const auto& [op, count] : meta["ops"].items()) {
    const std::string target = "torch.ops." + op;
    EXPECT_LE(operators[target], count.get<std::size_t>()) << op;  // nested graphs hold the rest
  }
}

TEST_P(Corpus, CheckpointsHoldThePersistentState) {
  const auto program = read_exported_program(GetParam() / "model.pt2");
  for (const char* file :
       {"seed0.safetensors", "seed1.safetensors", "seed2.safetensors", "seed3.safetensors"}) {
    const auto weights = Safetensors::read(GetParam() / file);
    EXPECT_EQ(weights.entries().size(), program.weights.size());
    for (const auto& [name, stored] : program.weights) {
      const auto* entry = weights.find(name);
      ASSERT_TRUE(entry) << name;
      EXPECT_EQ(entry->shape, stored.sizes) << name;
      EXPECT_EQ(entry->dtype, stored.dtype) << name;
    }
  }
}

TEST_P(Corpus, GoldenFileHasEveryInputAndOutput) {
  const auto program = read_exported_program(GetParam() / "model.pt2");
  const auto golden = Safetensors::read(GetParam() / "golden.safetensors");
  EXPECT_EQ(count_keys(golden, "seed2.output."), program.outputs.size());
  EXPECT_EQ(count_keys(golden, "seed2.input."),
            static_cast<std::size_t>(
                std::ranges::count(program.inputs, InputSpec::Kind::kUserInput, &InputSpec::kind)));
}

std::string folder_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.filename().string() + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(Models, Corpus, testing::ValuesIn(test::corpus()), folder_name);

TEST(Program, TiedWeightsShareOneStorage) {
  const auto program = read_exported_program(test::model_folder("tied_linears") / "model.pt2");
  EXPECT_EQ(program.weights.at("a.weight").storage, program.weights.at("c.weight").storage);
  EXPECT_NE(program.weights.at("a.weight").storage, program.weights.at("a.bias").storage);
}

TEST(Program, NonPersistentBuffersAreConstants) {
  const auto program = read_exported_program(test::model_folder("hf_bert") / "model.pt2");
  const auto& ids = program.constants.at("m.embeddings.position_ids");
  EXPECT_EQ(ids.dtype, Dtype::kInt64);
  EXPECT_EQ(ids.sizes, (std::vector<std::int64_t>{1, 32}));
  const auto* numbers = reinterpret_cast<const std::int64_t*>(ids.storage->data());
  EXPECT_EQ(numbers[0], 0);
  EXPECT_EQ(numbers[31], 31);
  EXPECT_FALSE(program.weights.contains("m.embeddings.position_ids"));
}

TEST(Program, DynamicSizesStaySymbolic) {
  const auto program = read_exported_program(test::model_folder("minigpt_dynamic") / "model.pt2");
  EXPECT_EQ(program.ranges.at("s23").min, 1);
  EXPECT_EQ(program.ranges.at("s23").max, 64);
  const auto& ids = program.graph.tensors.at("ids");
  EXPECT_EQ(std::get<Expression>(ids.sizes.at(0)).symbol, "s23");
  EXPECT_EQ(std::get<Expression>(program.graph.symbolic_ints.at("sym_size_int_5")).symbol, "s27");
  const auto& first = program.graph.nodes.at(0);
  EXPECT_EQ(first.target, "torch.ops.aten.sym_size.int");
  EXPECT_EQ(std::get<SymbolName>(first.outputs.at(0).value).name, "sym_size_int_4");
  EXPECT_EQ(first.module_path, "");
  EXPECT_EQ(program.graph.nodes.at(2).module_path, "te");
}

TEST(Program, OutputsAreNamedByTheirPath) {
  const auto program = read_exported_program(test::model_folder("dict_output") / "model.pt2");
  EXPECT_THAT(program.output_names, testing::ElementsAre("logits", "aux.0", "aux.1"));
}

TEST(Program, ArgumentsKeepTheirKind) {
  const auto program = read_exported_program(test::model_folder("minigpt_dynamic") / "model.pt2");
  const auto& arange = program.graph.nodes.at(3);
  ASSERT_EQ(arange.target, "torch.ops.aten.arange.default");
  EXPECT_FALSE(arange.inputs.at(0).keyword);
  EXPECT_TRUE(arange.inputs.at(1).keyword);
  EXPECT_EQ(std::get<DeviceName>(arange.inputs.at(1).value.value).type, "cpu");
  EXPECT_FALSE(std::get<bool>(arange.inputs.at(2).value.value));
}

}  // namespace
}  // namespace wide::formats
