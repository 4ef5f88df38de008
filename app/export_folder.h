#pragma once
// A model, its members' weights, inputs and outputs as a folder that other programs can run.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/model/wide_model.h"

namespace wide::app {

inline constexpr int kExportSchemaVersion = 1;

/// Where the model comes from.
struct ExportSource {
  std::string subject;                              ///< zoo subject, or a name for the model
  std::string model;                                ///< path of the .pt2; empty: the graph itself is written
  std::vector<std::string> weights;                 ///< with `model`: the checkpoints, one per member
  nlohmann::json about = nlohmann::json::object();  ///< more about it (shape, dtype, seed), kept as it is
};

/// The files that write_export() will write.
std::vector<std::filesystem::path> exported_files(const std::filesystem::path& folder,
                                                  const ExportSource& source, const WideModel& model);

/// Writes into `folder` (made when it is not there; its files are replaced):
/// - model.json: schema_version, subject, members, weights, inputs, outputs, and `graph` or `model`;
/// - inputs.safetensors: `input.K` where all members share it, else `MEMBER.input.K`, as `widebench run`
///   reads them;
/// - outputs.safetensors: `MEMBER.output.K` of each member's own run;
/// - MEMBER.safetensors: a zoo member's weights, or those of a packed checkpoint's members. Of a user's model
///   nothing else is copied: the paths of the .pt2 and its checkpoints are written, absolute.
/// Throws wide::Error ("export", "write") naming the file.
void write_export(const std::filesystem::path& folder, const ExportSource& source, WideModel& model,
                  std::span<const ModelInput> inputs);

}  // namespace wide::app
