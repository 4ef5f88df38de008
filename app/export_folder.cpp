#include "app/export_folder.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "app/graph_json.h"
#include "app/tensor_files.h"
#include "core/aten/torch_bridge.h"
#include "formats/error.h"
#include "formats/packed.h"
#include "results/report.h"

namespace wide::app {
namespace {

constexpr const char *kInputs = "inputs.safetensors", *kOutputs = "outputs.safetensors",
                     *kDocument = "model.json";

using Tensors = std::vector<std::pair<std::string, at::Tensor>>;

Tensors input_tensors(const WideModel& model, std::span<const ModelInput> inputs) {
  Tensors tensors;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto key = "input." + std::to_string(input_number(model, k));
    if (!inputs[k].mapped) {
      tensors.emplace_back(key, inputs[k].tensor.contiguous());
      continue;
    }
    for (std::int64_t i = 0; i < model.members(); ++i) {
      tensors.emplace_back(model.member_list()[static_cast<std::size_t>(i)].name + "." + key,
                           inputs[k].member(i).contiguous());
    }
  }
  return tensors;
}

// What each member gives alone: the reference of every way to run it.
Tensors output_tensors(WideModel& model, std::span<const ModelInput> inputs) {
  Tensors tensors;
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto alone = model.run_alone(i, inputs);
    for (std::size_t k = 0; k < alone.outputs.size(); ++k) {
      if (!alone.outputs[k].isTensor()) continue;
      const auto& member = model.member_list()[static_cast<std::size_t>(i)].name;
      tensors.emplace_back(member + ".output." + std::to_string(k), alone.outputs[k].toTensor().contiguous());
    }
  }
  return tensors;
}

bool in_state_dict(const GraphInput& input) {
  return input.kind == InputKind::kParameter || (input.kind == InputKind::kBuffer && input.persistent);
}

std::string file_of(const Member& member) {
  return member.name + ".safetensors";
}

// Tied weights may share memory; files keep each name's own bytes.
template <class Wanted>
std::string write_weights(const std::filesystem::path& folder, const Graph& graph, const Member& member,
                          const Wanted& wanted) {
  Tensors tensors;
  for (const auto& input : graph.inputs) {
    if (wanted(input)) tensors.emplace_back(input.target, member.tensors.at(input.target).contiguous());
  }
  const auto file = file_of(member);
  std::filesystem::create_directories((folder / file).parent_path());
  write_tensors(folder / file, tensors);
  return file;
}

bool any_packed(const std::vector<std::string>& checkpoints) {
  return std::ranges::any_of(
      checkpoints, [](const std::string& file) { return formats::packed_members(file).has_value(); });
}

// A file for each member: checkpoints as they lie, or what was packed together in files of their own.
std::vector<std::string> checkpoints_of(const std::filesystem::path& folder, const ExportSource& source,
                                        const WideModel& model) {
  std::vector<std::string> files;
  if (any_packed(source.weights)) {
    for (const auto& member : model.member_list())
      files.push_back(write_weights(folder, model.graph(), member, in_state_dict));
  } else {
    for (const auto& file : source.weights) files.push_back(std::filesystem::absolute(file).string());
  }
  return files;
}

}  // namespace

std::vector<std::filesystem::path> exported_files(const std::filesystem::path& folder,
                                                  const ExportSource& source, const WideModel& model) {
  std::vector<std::filesystem::path> files = {folder / kInputs, folder / kOutputs, folder / kDocument};
  if (source.model.empty() || any_packed(source.weights))
    for (const auto& member : model.member_list()) files.push_back(folder / file_of(member));
  return files;
}

void write_export(const std::filesystem::path& folder, const ExportSource& source, WideModel& model,
                  std::span<const ModelInput> inputs) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error("export", folder.string() + ": cannot be made: " + failed.message());
  auto document = source.about;
  document["schema_version"] = kExportSchemaVersion;
  document["subject"] = source.subject;
  document["inputs"] = kInputs;
  document["outputs"] = kOutputs;
  document["members"] = nlohmann::json::array();
  for (const auto& member : model.member_list()) document["members"].push_back(member.name);
  if (source.model.empty()) {
    document["graph"] = to_json(model.graph());
    document["weights"] = nlohmann::json::array();
    const auto is_weight = [](const GraphInput& input) { return input.kind != InputKind::kUser; };
    for (const auto& member : model.member_list())
      document["weights"].push_back(write_weights(folder, model.graph(), member, is_weight));
  } else {
    document["model"] = std::filesystem::absolute(source.model).string();
    document["weights"] = checkpoints_of(folder, source, model);
  }
  write_tensors(folder / kInputs, input_tensors(model, inputs));
  write_tensors(folder / kOutputs, output_tensors(model, inputs));
  results::write_report(folder / kDocument, document);
}

}  // namespace wide::app
