// What a program says of its weights, and how they are stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/error.h"
#include "formats/exported_program.h"
#include "support.h"

namespace wide::formats {
namespace {

using test::EditableJson;
using test::refusal;
using test::with_json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kWeights = "_weights_config.json";

std::string mlp_weight(const std::function<void(EditableJson&)>& change) {
  return with_json("mlp", kWeights, [&](EditableJson& json) { change(json["config"]["fc1.weight"]); });
}

struct WeightFault {
  const char* what;
  std::function<void(EditableJson&)> change;
  const char* why;
};
void PrintTo(const WeightFault& fault, std::ostream* out) {
  *out << fault.what;
}

class BadWeight : public testing::TestWithParam<WeightFault> {};

TEST_P(BadWeight, IsRefusedByName) {
  EXPECT_THAT(refusal(mlp_weight(GetParam().change)),
              AllOf(HasSubstr("model_weights_config.json: tensor '"), HasSubstr(GetParam().why)));
}

EditableJson as_ints(std::initializer_list<std::int64_t> values) {
  EditableJson result = EditableJson::array();
  for (const auto value : values) result.push_back({{"as_int", value}});
  return result;
}
std::function<void(EditableJson&)> meta(const char* key, EditableJson value) {
  return [=](EditableJson& entry) { entry["tensor_meta"][key] = value; };
}
std::function<void(EditableJson&)> view(EditableJson sizes, EditableJson strides, std::int64_t offset = 0) {
  return [=](EditableJson& entry) {
    entry["tensor_meta"]["sizes"] = sizes;
    entry["tensor_meta"]["strides"] = strides;
    entry["tensor_meta"]["storage_offset"] = {{"as_int", offset}};
  };
}

INSTANTIATE_TEST_SUITE_P(
    All, BadWeight,
    testing::Values(
        WeightFault{"pickle", [](EditableJson& e) { e["use_pickle"] = true; }, "is stored as a pickle"},
        WeightFault{"no_meta", [](EditableJson& e) { e["tensor_meta"] = nullptr; },
                    "'tensor_meta' is missing"},
        WeightFault{"path", [](EditableJson& e) { e["path_name"] = "../weights/weight_0"; },
                    "not a plain file name"},
        WeightFault{"gone", [](EditableJson& e) { e["path_name"] = "weight_99"; }, "weight_99' is missing"},
        WeightFault{"too_long", view(as_ints({1'000'000}), as_ints({1})), "reach beyond"},
        WeightFault{"offset", view(as_ints({1}), as_ints({1}), 1'000'000), "reach beyond"},
        WeightFault{"huge_offset", view(as_ints({1}), as_ints({1}), INT64_MAX), "reach beyond"},
        WeightFault{"offset_of_nothing", view(as_ints({0}), as_ints({1}), INT64_MAX), "reach beyond"},
        WeightFault{"huge_stride", view(as_ints({2, 2}), as_ints({INT64_MAX, INT64_MAX})), "reach beyond"},
        WeightFault{"huge_size", view(as_ints({INT64_MAX, INT64_MAX}), as_ints({INT64_MAX, 1})),
                    "reach beyond"},
        WeightFault{"huge_broadcast", view(as_ints({INT64_MAX, INT64_MAX, INT64_MAX}), as_ints({0, 0, 0})),
                    "broadcast"},
        WeightFault{"negative_size", meta("sizes", as_ints({-1, 64})), "negative"},
        WeightFault{"negative_stride", meta("strides", as_ints({-1, 1})), "negative"},
        WeightFault{"negative_offset", meta("storage_offset", {{"as_int", -1}}), "negative"},
        WeightFault{"ranks", meta("strides", as_ints({1})), "strides"},
        WeightFault{"sparse", meta("layout", 1), "layout 1"},
        WeightFault{"dtype", meta("dtype", 99), "unknown element type 99"},
        WeightFault{"symbolic",
                    meta("sizes", {{{"as_expr", {{"expr_str", "Symbol('s0')"}}}}, {{"as_int", 1}}}),
                    "symbolic"}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(ProgramWeights, SixtyFiveDimensionsAreTooMany) {
  EXPECT_THAT(refusal(mlp_weight([](EditableJson& e) {
                const EditableJson ones(65, EditableJson{{"as_int", 1}});
                e["tensor_meta"]["sizes"] = ones;
                e["tensor_meta"]["strides"] = ones;
              })),
              HasSubstr("65 dimensions"));
}

TEST(ProgramWeights, StoredAsTheGraphSays) {
  EXPECT_THAT(refusal(mlp_weight([](EditableJson& e) { e["tensor_meta"]["dtype"] = 4; })),
              HasSubstr("stored with another shape or type than the graph has for it (int32, float32)"));
}

TEST(ProgramWeights, AnEmptyRecordIsNoZeros) {
  EXPECT_THAT(
      refusal(test::with_member("mlp", "data/weights/weight_0", [](std::string& bytes) { bytes.clear(); })),
      AllOf(HasSubstr("weight_0' is empty"), HasSubstr("fake tensors")));
  EXPECT_THAT(refusal(test::with_member("mlp", "data/weights/weight_0",
                                        [](std::string& bytes) { bytes.pop_back(); })),
              HasSubstr("not a multiple of the 4"));
}

TEST(ProgramWeights, OneFileHasOneElementType) {
  const auto file = with_json("tied_linears", kWeights,
                              [](EditableJson& j) { j["config"]["c.weight"]["tensor_meta"]["dtype"] = 4; });
  EXPECT_THAT(refusal(file), HasSubstr("another tensor as float32"));
}

TEST(ProgramWeights, ViewsIntoASharedStorageKeepTheirPlace) {
  const auto program = parse_exported_program(
      test::bytes_of(with_json("mlp", kWeights,
                               [](EditableJson& j) {
                                 EditableJson slice = j["config"]["fc1.weight"];
                                 slice["tensor_meta"]["sizes"] = as_ints({2, 3});
                                 slice["tensor_meta"]["strides"] = as_ints({1, 8});
                                 slice["tensor_meta"]["storage_offset"] = {{"as_int", 5}};
                                 j["config"]["extra"] = slice;
                               })),
      "m.pt2");
  const auto& extra = program.weights.at("extra");
  EXPECT_EQ(extra.storage_offset, 5);
  EXPECT_EQ(extra.strides, (std::vector<std::int64_t>{1, 8}));
}

}  // namespace
}  // namespace wide::formats
