// Programs that are well-formed but say something that must be refused, or that must be understood.
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

constexpr const char* kModel = "models/model.json";

ExportedProgram parsed(const std::string& archive) {
  return parse_exported_program(test::bytes_of(archive), "m.pt2");
}

/// The small MLP with a change to its graph: linear, relu, linear.
std::string mlp(const std::function<void(EditableJson&)>& change) {
  return with_json("mlp", kModel, change);
}
std::string mlp_node(const std::function<void(EditableJson&)>& change) {
  return mlp([&](EditableJson& json) { change(json["graph_module"]["graph"]["nodes"][1]); });
}

TEST(ProgramFile, WhatIsNoProgramIsNamed) {
  const test::TemporaryFolder folder;
  const auto why = [&](const std::filesystem::path& path) -> std::string {
    try {
      read_exported_program(path);
      return "";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path.string()));
      return error.what();
    }
  };
  EXPECT_THAT(why(folder.path() / "none.pt2"), HasSubstr("no such file"));
  EXPECT_THAT(why(folder.path()), HasSubstr("is a directory"));
  EXPECT_THAT(why("/dev/null"), HasSubstr("not a regular file"));
  EXPECT_THAT(why(folder.write("empty.pt2", "")), HasSubstr("is empty"));
  EXPECT_THAT(why(folder.write("text.pt2", "import torch\n")), HasSubstr("is text"));
  EXPECT_THAT(why(folder.write("pickle.pt2", "\x80\x02}q\1.")), HasSubstr("is a pickle"));
  EXPECT_THAT(why(folder.write("zip.pt2", test::zip({}))), HasSubstr("without members"));
  EXPECT_THAT(why(folder.write("noise.pt2", "\x01\x02\x03\x04\x05")), HasSubstr("not a zip archive"));
  EXPECT_THAT(why(test::model_folder("mlp") / "seed0.safetensors"), HasSubstr("is a safetensors file"));
}

TEST(ProgramFile, OtherKindsOfArchiveAreNamed) {
  EXPECT_THAT(refusal(test::zip({{"m/constants.pkl", "x"}, {"m/code/__torch__.py", "x"}})),
              HasSubstr("TorchScript"));
  EXPECT_THAT(refusal(test::zip({{"m/data.pkl", "x"}, {"m/data/0", "x"}})), HasSubstr("pickled checkpoint"));
  EXPECT_THAT(refusal(test::zip({{"serialized_exported_program.json", "{}"}, {"version", "8.2"}})),
              AllOf(HasSubstr("torch 2.7 or older"), HasSubstr("re-save it with torch >= 2.11")));
  EXPECT_THAT(refusal(test::zip({{"m/models/model.json", "{}"}, {"m/data/weights/model.pt", "x"}})),
              AllOf(HasSubstr("torch 2.8"), HasSubstr("re-save it with torch >= 2.11")));
  EXPECT_THAT(refusal(test::zip({{"m/data/aotinductor/model/x.so", "x"}})), HasSubstr("AOTInductor"));
  EXPECT_THAT(refusal(test::zip({{"m/a", "x"}})), HasSubstr("no models/*.json"));
}

TEST(ProgramFile, CompressedTorchScriptIsStillRecognised) {
  EXPECT_THAT(refusal(test::zip({{"m/data.pkl", "x"}, {.name = "m/code/a.py", .bytes = "x", .method = 8}})),
              HasSubstr("TorchScript"));
}

TEST(ProgramFile, MembersShareOneRoot) {
  auto parts = test::unzip(test::slurp(test::model_folder("mlp") / "model.pt2"));
  parts.push_back({"other/x", "x"});
  EXPECT_THAT(refusal(test::zip(parts)), HasSubstr("'other/x' is not in one root folder"));
  parts.back().name = "x";
  EXPECT_THAT(refusal(test::zip(parts)), HasSubstr("'x' is not in one root folder"));
}

TEST(ProgramFile, MarkersAreChecked) {
  const auto with = [](const char* name, const char* text) {
    return refusal(test::with_member("mlp", name, [&](std::string& bytes) { bytes = text; }));
  };
  EXPECT_THAT(with("/byteorder", "big"), HasSubstr("'big' where only 'little'"));
  EXPECT_THAT(with("/archive_version", "1"), HasSubstr("'1' where only '0'"));
  EXPECT_THAT(with("/archive_format", "pt3"), HasSubstr("'pt3'"));
}

TEST(ProgramFile, OfSeveralModelsTheOneNamedModelIsTaken) {
  auto parts = test::unzip(test::slurp(test::model_folder("mlp") / "model.pt2"));
  parts.push_back({"model/models/other.json", "{}"});
  EXPECT_EQ(refusal(test::zip(parts)), "");
  for (auto& part : parts)
    if (part.name.ends_with("models/model.json")) part.name = "model/models/first.json";
  EXPECT_THAT(refusal(test::zip(parts)), HasSubstr("2 programs, none named 'model' ('first', 'other')"));
}

TEST(ProgramFile, MembersWithoutChecksumGiveAWarning) {
  auto parts = test::unzip(test::slurp(test::model_folder("mlp") / "model.pt2"));
  for (auto& part : parts)
    if (part.name.ends_with("weight_0")) part.crc = 0;
  EXPECT_THAT(parsed(test::zip(parts)).warnings, testing::ElementsAre(HasSubstr("1 member has no checksum")));
}

TEST(ProgramVersion, OnlyMajorEightIsRead) {
  EXPECT_THAT(refusal(mlp([](EditableJson& j) { j["schema_version"]["major"] = 9; })),
              HasSubstr("only schema 8.x"));
  EXPECT_THAT(refusal(mlp([](EditableJson& j) { j.erase("schema_version"); })),
              HasSubstr("'schema_version' is missing"));
  const auto newer = parsed(mlp([](EditableJson& j) { j["schema_version"]["minor"] = 21; }));
  EXPECT_EQ(newer.schema_minor, 21);
  EXPECT_THAT(newer.warnings, testing::ElementsAre(HasSubstr("newer than the known 8.20")));
}

TEST(ProgramGraph, UnknownArgumentsAreRefusedWithTheirNode) {
  EXPECT_THAT(refusal(mlp_node([](EditableJson& n) {
                n["inputs"][0]["arg"] = {{"as_future", 1}};
              })),
              AllOf(HasSubstr("'model/models/model.json'"),
                    HasSubstr("node 1 'relu' ('torch.ops.aten.relu.default')"), HasSubstr("argument 'self'"),
                    HasSubstr("'as_future'"), HasSubstr("schema 8.17")));
  EXPECT_THAT(refusal(mlp_node([](EditableJson& n) {
                n["inputs"][0]["arg"] = {{"as_scalar_type", 33}};
              })),
              AllOf(HasSubstr("'relu'"), HasSubstr("unknown element type 33")));
  EXPECT_THAT(refusal(mlp_node([](EditableJson& n) {
                n["inputs"][0]["arg"] = {{"as_custom_obj", {{"name", "o"}, {"class_fqn", "a.B"}}}};
              })),
              HasSubstr("custom object of class 'a.B'"));
}

TEST(ProgramGraph, EveryKindOfArgumentIsRead) {
  const auto argument = [](EditableJson value) {
    const auto program = parsed(mlp_node([&](EditableJson& n) {
      n["inputs"].push_back({{"name", "x"}, {"arg", std::move(value)}, {"kind", 2}});
    }));
    return program.graph.nodes[1].inputs.back().value.value;
  };
  const auto items = [&](EditableJson value) {
    return std::get<std::vector<Argument>>(argument(std::move(value)));
  };
  EXPECT_TRUE(std::holds_alternative<None>(argument({{"as_none", true}})));
  EXPECT_EQ(std::get<std::int64_t>(argument({{"as_int", -5}})), -5);
  EXPECT_EQ(std::get<double>(argument({{"as_float", "-Infinity"}})), -INFINITY);
  EXPECT_EQ(std::get<bool>(argument({{"as_bool", true}})), true);
  EXPECT_EQ(std::get<std::string>(argument({{"as_string", "none"}})), "none");
  EXPECT_EQ(std::get<std::complex<double>>(argument({{"as_complex", {{"real", 1}, {"imag", 2.5}}}})),
            (std::complex<double>{1, 2.5}));
  EXPECT_EQ(std::get<Dtype>(argument({{"as_scalar_type", 13}})), Dtype::kBFloat16);
  EXPECT_EQ(std::get<MemoryFormat>(argument({{"as_memory_format", 2}})).code, 2);
  EXPECT_EQ(std::get<TensorLayout>(argument({{"as_layout", 7}})).code, 7);
  EXPECT_EQ(std::get<DeviceName>(argument({{"as_device", {{"type", "cuda"}, {"index", 1}}}})).index, 1);
  EXPECT_EQ(std::get<OperatorName>(argument({{"as_operator", "add"}})).name, "add");
  EXPECT_EQ(std::get<TensorName>(argument({{"as_tensor", {{"name", "x"}}}})).name, "x");
  EXPECT_EQ(std::get<std::int64_t>(argument({{"as_sym_int", {{"as_int", 3}}}})), 3);
  EXPECT_TRUE(std::holds_alternative<None>(argument({{"as_optional_tensor", {{"as_none", true}}}})));
  EXPECT_EQ(items({{"as_ints", {1, 2}}}).size(), 2u);
  EXPECT_EQ(items({{"as_ints", EditableJson::array()}}).size(), 0u);
  EXPECT_EQ(std::get<bool>(items({{"as_sym_bools", {{{"as_bool", true}}}}})[0].value), true);
  const auto optional =
      items({{"as_optional_tensors", {{{"as_none", true}}, {{"as_tensor", {{"name", "x"}}}}}}});
  EXPECT_TRUE(std::holds_alternative<None>(optional[0].value));
  EXPECT_EQ(std::get<TensorName>(optional[1].value).name, "x");
  const auto nested = items({{"as_int_lists", {{1, 2}, {3}}}});
  EXPECT_EQ(std::get<std::int64_t>(std::get<std::vector<Argument>>(nested[1].value)[0].value), 3);
}

TEST(ProgramGraph, ValuesAreDefinedOnceAndBeforeUse) {
  EXPECT_THAT(
      refusal(mlp_node([](EditableJson& n) { n["inputs"][0]["arg"]["as_tensor"]["name"] = "linear_1"; })),
      HasSubstr("'linear_1' is used before it is defined"));
  EXPECT_THAT(refusal(mlp_node([](EditableJson& n) { n["outputs"][0]["as_tensor"]["name"] = "linear"; })),
              HasSubstr("'linear' is defined twice"));
  EXPECT_THAT(refusal(mlp_node([](EditableJson& n) { n["outputs"][0]["as_tensor"]["name"] = "new"; })),
              HasSubstr("'new' is not described"));
  EXPECT_THAT(refusal(mlp_node([](EditableJson& n) {
                n["outputs"][0] = {{"as_int", 1}};
              })),
              HasSubstr("an output is neither"));
}

TEST(ProgramGraph, NestedGraphsAreReadToALimit) {
  const auto nested = [](int levels) {
    return mlp_node([levels](EditableJson& node) {
      EditableJson graph = {{"inputs", EditableJson::array()},
                            {"outputs", EditableJson::array()},
                            {"nodes", EditableJson::array()},
                            {"tensor_values", EditableJson::object()},
                            {"sym_int_values", EditableJson::object()}};
      for (int i = 0; i < levels; ++i) {
        EditableJson argument = {
            {"name", "f"}, {"arg", {{"as_graph", {{"name", "g"}, {"graph", graph}}}}}, {"kind", 1}};
        if (i + 1 == levels) {
          node["inputs"].push_back(argument);
        } else {
          graph["nodes"] = {{{"target", "t"}, {"inputs", {argument}}, {"outputs", EditableJson::array()}}};
        }
      }
    });
  };
  const auto program = parsed(nested(2));
  const auto& graph =
      std::get<std::shared_ptr<const Subgraph>>(program.graph.nodes[1].inputs.back().value.value);
  EXPECT_EQ(graph->nodes.at(0).target, "t");
  EXPECT_EQ(refusal(nested(16)), "");
  EXPECT_THAT(refusal(nested(17)), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(refusal(nested(100)), HasSubstr("nested deeper"));
}

TEST(ProgramSignature, LossAndGradientsAreOutputsOtherKindsAreRefusedByName) {
  const auto output = [](const char* tag, EditableJson spec) {
    return refusal(mlp([&](EditableJson& j) {
      j["graph_module"]["signature"]["output_specs"][0] = {{tag, std::move(spec)}};
    }));
  };
  const EditableJson tensor = {{"name", "linear_1"}};
  EXPECT_THAT(output("custom_obj", {{"arg", tensor}}), HasSubstr("'custom_obj' is not supported"));
  const auto kind = [&](const char* tag, EditableJson spec) {
    const auto program = parsed(mlp([&](EditableJson& j) {
      j["graph_module"]["signature"]["output_specs"][0] = {{tag, std::move(spec)}};
    }));
    return program.outputs[0].kind;
  };
  EXPECT_EQ(kind("loss_output", {{"arg", tensor}}), OutputSpec::Kind::kLoss);
  EXPECT_EQ(kind("gradient_to_parameter", {{"arg", tensor}, {"parameter_name", "p"}}),
            OutputSpec::Kind::kParameterGradient);
  EXPECT_EQ(kind("gradient_to_user_input", {{"arg", tensor}, {"user_input_name", "x"}}),
            OutputSpec::Kind::kUserInputGradient);
}

TEST(ProgramSignature, EffectTokensAreTakenOut) {
  const auto wrapped = [](EditableJson op) {
    return mlp([&](EditableJson& j) {
      auto& module = j["graph_module"];
      auto& graph = module["graph"];
      const EditableJson in = {{"as_tensor", {{"name", "token"}}}},
                         out = {{"as_tensor", {{"name", "token_1"}}}};
      auto& described = graph["tensor_values"];
      described["token"] = described["token_1"] = described["linear_1"];
      graph["inputs"].insert(graph["inputs"].begin(), in);
      graph["outputs"].insert(graph["outputs"].begin(), out);
      auto& signature = module["signature"];
      const auto spec = [](const char* name) {
        EditableJson token;
        token["token"]["arg"]["name"] = name;
        return token;
      };
      signature["input_specs"].insert(signature["input_specs"].begin(), spec("token"));
      signature["output_specs"].insert(signature["output_specs"].begin(), spec("token_1"));
      const auto argument = [](EditableJson value) {
        return EditableJson{{"name", ""}, {"arg", std::move(value)}, {"kind", 1}};
      };
      EditableJson node = {{"target", "torch.ops.higher_order.with_effects"},
                           {"inputs", {argument(in), argument(std::move(op)), argument({{"as_int", 3}})}},
                           {"outputs", {out, {{"as_none", true}}}},
                           {"metadata", EditableJson::object()},
                           {"name", "with_effects"}};
      graph["nodes"].insert(graph["nodes"].begin(), std::move(node));
    });
  };
  const auto plain = parsed(mlp([](EditableJson&) {}));
  const auto program = parsed(wrapped({{"as_operator", "torch.ops.aten.sym_constrain_range.default"}}));
  EXPECT_EQ(program.inputs.size(), plain.inputs.size());
  EXPECT_EQ(program.graph.inputs.size(), plain.graph.inputs.size());
  EXPECT_EQ(program.outputs.size(), plain.outputs.size());
  const auto& node = program.graph.nodes.at(0);
  EXPECT_EQ(node.target, "torch.ops.aten.sym_constrain_range.default");
  ASSERT_EQ(node.inputs.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(node.inputs[0].value.value), 3);
  EXPECT_TRUE(node.outputs.empty());
  EXPECT_THAT(refusal(wrapped({{"as_int", 1}})), HasSubstr("wants a token and an operator"));
}

TEST(ProgramSignature, WrittenIsOnlyWhatTheGraphWasGiven) {
  const auto written = [](const char* tag, const char* key, const char* target) {
    return mlp([=](EditableJson& j) {
      j["graph_module"]["signature"]["output_specs"][0] = {
          {tag, {{"arg", {{"name", "linear_1"}}}, {key, target}}}};
    });
  };
  for (const auto& [tag, key] :
       {std::pair{"parameter_mutation", "parameter_name"}, std::pair{"buffer_mutation", "buffer_name"}}) {
    const auto program = parsed(written(tag, key, "fc1.weight"));
    EXPECT_EQ(program.outputs[0].kind, OutputSpec::Kind::kBufferMutation);
    EXPECT_EQ(program.outputs[0].target, "fc1.weight");
    EXPECT_THAT(refusal(written(tag, key, "gone")), HasSubstr("the graph writes 'gone', which is no"));
  }
}

TEST(ProgramSignature, AgreesWithTheGraph) {
  EXPECT_THAT(refusal(mlp([](EditableJson& j) { j["graph_module"]["signature"]["input_specs"].erase(0); })),
              HasSubstr("4 inputs, the graph 5"));
  EXPECT_THAT(refusal(mlp([](EditableJson& j) {
                auto& specs = j["graph_module"]["signature"]["input_specs"];
                std::swap(specs[0], specs[1]);
              })),
              HasSubstr("input 0 is"));
  EXPECT_THAT(refusal(mlp([](EditableJson& j) {
                j["graph_module"]["signature"]["input_specs"][0]["parameter"]["parameter_name"] = "gone";
              })),
              HasSubstr("'gone' is named in the signature but not stored"));
}

TEST(ProgramSignature, ConstantsAmongTheInputsKeepTheirValue) {
  const auto program = parsed(mlp([](EditableJson& j) {
    j["graph_module"]["graph"]["inputs"].push_back({{"as_int", 7}});
    j["graph_module"]["signature"]["input_specs"].push_back(
        {{"constant_input", {{"name", "k"}, {"value", {{"as_int", 7}}}}}});
  }));
  EXPECT_EQ(program.inputs.back().kind, InputSpec::Kind::kConstantInput);
  EXPECT_EQ(std::get<std::int64_t>(program.inputs.back().argument.value), 7);
}

TEST(ProgramOutputs, NamesComeFromTheTree) {
  const auto names = [](const char* spec) {
    return parsed(with_json("dict_output", kModel,
                            [&](EditableJson& j) {
                              j["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = spec;
                              j["graph_module"]["treespec_namedtuple_fields"] = {
                                  {"a.Pair", {{"field_names", {"left", "right"}}}}};
                            }))
        .output_names;
  };
#define LEAF R"({"type": null, "context": null, "children_spec": []})"
  EXPECT_THAT(names(R"([1, {"type": "builtins.list", "context": "null", "children_spec": [)" LEAF "," LEAF
                    "," LEAF "]}]"),
              testing::ElementsAre("0", "1", "2"));
  EXPECT_THAT(names(R"([1, {"type": "collections.namedtuple", "context": "a.Pair", "children_spec": [)" LEAF
                    R"(, {"type": "builtins.dict", "context": "[7, \"k\"]", "children_spec": [)" LEAF "," LEAF
                    "]}]}]"),
              testing::ElementsAre("left", "right.7", "right.k"));
  EXPECT_THAT(
      names(R"([1, {"type": "a.Output", "context": "[[\"x\", \"y\", \"z\"], null]", "children_spec": [)" LEAF
            "," LEAF "," LEAF "]}]"),
      testing::ElementsAre("x", "y", "z"));
#undef LEAF
  EXPECT_THAT(names("[2, {}]"), testing::IsEmpty());  // without names the outputs are numbered
  EXPECT_THAT(names("x"), testing::IsEmpty());
}

TEST(ProgramFile, RangesAreReadAndChecked) {
  const auto program = parsed(mlp([](EditableJson& j) {
    j["range_constraints"] = {{"s0", {{"min_val", nullptr}, {"max_val", 5}}}};
  }));
  EXPECT_FALSE(program.ranges.at("s0").min);
  EXPECT_EQ(program.ranges.at("s0").max, 5);
  EXPECT_THAT(refusal(mlp([](EditableJson& j) {
                j["range_constraints"] = {{"s0", {{"min_val", 6}, {"max_val", 5}}}};
              })),
              HasSubstr("range of 's0' is empty"));
}

// A size that data decide, of a tensor made of another such size.
TEST(ProgramFile, BoundsBeyondIntegersAreNumbers) {
  const auto program = parsed(mlp([](EditableJson& j) {
    j["range_constraints"] = {{"u0", {{"min_val", 0}, {"max_val", 332041393326771929016.0}}}};
    j["graph_module"]["graph"]["nodes"].push_back(
        {{"target", "_operator.le"},
         {"inputs",
          {{{"name", "a"}, {"arg", {{"as_int", 3}}}, {"kind", 1}},
           {{"name", "b"}, {"arg", {{"as_int", 332041393326771929016.0}}}, {"kind", 1}}}},
         {"outputs", {{{"as_sym_bool", {{"as_name", "le"}}}}}},
         {"metadata", EditableJson::object()}});
    j["graph_module"]["graph"]["sym_bool_values"]["le"] = {
        {"as_expr", {{"expr_str", "Le(Symbol('u0'), Integer(5))"}}}};
  }));
  EXPECT_EQ(program.ranges.at("u0").min, 0);
  EXPECT_FALSE(program.ranges.at("u0").max);
  EXPECT_EQ(std::get<double>(program.graph.nodes.back().inputs[1].value.value), 332041393326771929016.0);
  EXPECT_THAT(refusal(mlp_node([](EditableJson& node) {
                node["inputs"].push_back({{"name", "b"}, {"arg", {{"as_int", 7.5}}}, {"kind", 1}});
              })),
              HasSubstr("where an integer is needed"));
}

TEST(ProgramFile, ConditionsOnSizesAreOverSymbols) {
  const auto given = [](const char* guard) {
    return parsed(mlp([&](EditableJson& j) {
      j["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = {
          {"as_expr", {{"expr_str", "Symbol('s0', integer=True)"}}}};
      j["guards_code"] = {guard, guard};
    }));
  };
  EXPECT_THAT(given("(L['x'].size()[0] % 2) == 0").guards, testing::ElementsAre("(s0 % 2) == 0"));
  EXPECT_THAT(given("L['flat_args'][0].size()[0] > 1*L[\"x\"].size()[1]").guards,
              testing::ElementsAre(testing::MatchesRegex("s0 > 1\\*[0-9]+")));
  for (const auto* text :
       {"L['y'].size()[0] == 1", "L['x'].size()[2] == 1", "L['x'].size()[999999999999999999999] == 1",
        "L['x'] == 1", "L['x'].size() == 1", "L[", "L['x'].size()[", "exit(L['x'].size()[0])", "L['x'].",
        "L['x'].size()[0] is None", "L['flat_args'][1].size()[0] > 1", ""}) {
    const auto program = given(text);
    EXPECT_TRUE(program.guards.empty()) << text;
    EXPECT_THAT(program.warnings, testing::ElementsAre(HasSubstr("against 2 conditions of the export")))
        << text;
  }
}

}  // namespace
}  // namespace wide::formats
