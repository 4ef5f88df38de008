#include "presets/case.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "presets/case_fields.h"
#include "presets/json_reader.h"

namespace wide::presets {

std::string CaseSpec::key() const {
  std::string sizes;
  for (const auto& [name, size] : shape)
    sizes += (sizes.empty() ? "" : ",") + name + "=" + std::to_string(size);
  return subject + "/n=" + std::to_string(n) + "/" + (sizes.empty() ? "-" : sizes) + "/" + dtype + "/" +
         device + "/" + mode + "/" + strategy;
}

bool CaseSpec::operator==(const CaseSpec& other) const {
  return to_json(*this) == to_json(other);
}

bool has_python_rivals(const CaseSpec& spec) {
  return std::any_of(spec.rivals.begin(), spec.rivals.end(), [](const std::string& rival) {
    return std::find(kPythonRivals.begin(), kPythonRivals.end(), rival) != kPythonRivals.end();
  });
}

nlohmann::json to_json(const CaseSpec& spec) {
  nlohmann::json json{{"subject", spec.subject},
                      {"kind", spec.kind},
                      {"n", spec.n},
                      {"shape", spec.shape},
                      {"dtype", spec.dtype},
                      {"device", spec.device},
                      {"mode", spec.mode},
                      {"strategy", spec.strategy},
                      {"rivals", spec.rivals},
                      {"stopping", to_json(spec.stopping)},
                      {"seed", spec.seed},
                      {"threads", spec.threads}};
  if (spec.shape.empty()) json["shape"] = nlohmann::json::object();
  if (spec.kind == "model") {
    json["model"] = spec.model;
    json["weights"] = spec.weights;
    if (!spec.inputs.empty()) json["inputs"] = spec.inputs;
    if (!spec.expect.empty()) json["expect"] = spec.expect;
  }
  return json;
}

CaseSpec spec_from_json(const nlohmann::json& json, std::string_view where) {
  JsonReader in(json, std::string(where));
  CaseSpec spec;
  spec.subject = in.at("subject").string();
  spec.kind = in.at("kind").one_of(kKinds);
  spec.n = in.at("n").integer(1, kMostMembers);
  for (const auto& [name, size] : in.at("shape").members()) spec.shape[name] = size.integer(0, kLargestSize);
  spec.dtype = in.at("dtype").one_of(kDtypes);
  spec.device = in.at("device").one_of(kDevices);
  spec.mode = in.at("mode").one_of(kModes);
  spec.strategy = in.at("strategy").string();
  spec.rivals = read_names(in.at("rivals"), kRivals);
  spec.stopping = read_stopping(in.at("stopping"), {});
  spec.seed = static_cast<std::uint64_t>(in.at("seed").integer(0, INT64_MAX));
  spec.threads = static_cast<int>(in.at("threads").integer(0, kMostThreads));
  if (spec.kind == "model") {
    spec.model = in.at("model").file_name();
    const auto weights = in.at("weights");
    if (!weights.json().empty()) {
      for (const auto& file : weights.elements()) spec.weights.push_back(file.file_name());
    }
  }
  if (spec.kind == "model") {
    if (const auto file = in.find("inputs")) spec.inputs = file->file_name();
    if (const auto file = in.find("expect")) spec.expect = file->file_name();
  }
  in.no_other_keys();
  return spec;
}

}  // namespace wide::presets
