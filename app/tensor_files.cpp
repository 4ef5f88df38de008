#include "app/tensor_files.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/aten/torch_bridge.h"
#include "core/passes/specialize.h"
#include "formats/error.h"

namespace wide::app {
namespace {

// "seed0#2" -> "seed0": a file given twice reads and is compared like the first.
std::string key_name(const std::string& member) {
  const auto mark = member.rfind('#');
  const bool numbered = mark != std::string::npos && mark + 1 < member.size() &&
                        member.find_first_not_of("0123456789", mark + 1) == std::string::npos;
  return numbered ? member.substr(0, mark) : member;
}

const formats::SafetensorsEntry* find(const formats::Safetensors& file, const std::string& member,
                                      const std::string& rest) {
  if (const auto* entry = file.find(member + rest)) return entry;
  return file.find(key_name(member) + rest);
}

// A tensor output of one member, or a number as a scalar; undefined for None.
at::Tensor value_of(const ModelOutput& output, std::int64_t member) {
  if (!output.constant) return output.member(member).contiguous();
  if (const auto* integer = std::get_if<std::int64_t>(&output.constant->value))
    return at::scalar_tensor(*integer, at::kLong);
  if (const auto* real = std::get_if<double>(&output.constant->value))
    return at::scalar_tensor(*real, at::kDouble);
  if (const auto* flag = std::get_if<bool>(&output.constant->value))
    return at::scalar_tensor(*flag, at::kBool);
  return {};
}

bool has_input(const formats::Safetensors& file, const WideModel& model, std::int64_t number) {
  const auto key = "input." + std::to_string(number);
  if (file.find(key)) return true;
  const auto& members = model.member_list();
  return std::all_of(members.begin(), members.end(),
                     [&](const Member& member) { return find(file, member.name, "." + key) != nullptr; });
}

// Files of before constants counted are numbered by tensors alone.
std::vector<std::int64_t> numbers_in(const formats::Safetensors& file, const WideModel& model) {
  std::vector<std::int64_t> places, tensors;
  for (std::size_t k = 0; k < model.user_inputs().size(); ++k) {
    places.push_back(input_number(model, k));
    tensors.push_back(static_cast<std::int64_t>(k));
  }
  const auto complete = [&](const std::vector<std::int64_t>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](std::int64_t number) { return has_input(file, model, number); });
  };
  return !complete(places) && complete(tensors) ? tensors : places;
}

}  // namespace

std::int64_t input_number(const WideModel& model, std::size_t k) {
  const auto place = model.user_inputs()[k].place;
  return place >= 0 ? place : static_cast<std::int64_t>(k);
}

std::vector<ModelInput> read_inputs(const std::filesystem::path& path, const WideModel& model) {
  const auto file = formats::Safetensors::read(path);
  const auto numbers = numbers_in(file, model);
  std::vector<ModelInput> inputs;
  for (std::size_t k = 0; k < model.user_inputs().size(); ++k) {
    const auto rest = ".input." + std::to_string(numbers[k]);
    std::vector<at::Tensor> tensors;
    std::string missing;
    for (const auto& member : model.member_list()) {
      if (const auto* entry = find(file, member.name, rest)) {
        tensors.push_back(to_tensor(*entry));
        check_input(model.graph(), model.user_inputs()[k], tensors.back(),
                    path.string() + ": '" + entry->name + "'");
      } else if (missing.empty()) {
        missing = member.name + rest;
      }
    }
    if (tensors.size() == model.member_list().size()) {
      inputs.push_back(ModelInput::per_member(tensors, path.string() + ": '*" + rest + "'"));
      continue;
    }
    const auto* shared = file.find(rest.substr(1));
    if (!shared || !tensors.empty()) {
      throw Error("run", path.string() + ": lacks '" + missing + "'" +
                             (tensors.empty() ? " (and '" + rest.substr(1) + "' for all members)" : "") +
                             "; inputs are named input.K or MEMBER.input.K");
    }
    auto tensor = to_tensor(*shared);
    check_input(model.graph(), model.user_inputs()[k], tensor, path.string() + ": '" + shared->name + "'");
    inputs.push_back(ModelInput::shared(std::move(tensor)));
  }
  return inputs;
}

void write_outputs(const std::filesystem::path& file, const WideModel& model,
                   const std::vector<ModelOutput>& outputs) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (std::int64_t i = 0; i < model.members(); ++i) {
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      auto value = value_of(outputs[k], i);
      if (!value.defined()) continue;
      tensors.emplace_back(
          model.member_list()[static_cast<std::size_t>(i)].name + ".output." + std::to_string(k),
          std::move(value));
    }
  }
  write_tensors(file, tensors);
}

void write_buffers(const std::filesystem::path& file, const WideModel& model) {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (std::int64_t i = 0; i < model.members(); ++i) {
    for (const auto& [fqn, tensor] : model.buffers()) {
      tensors.emplace_back(model.member_list()[static_cast<std::size_t>(i)].name + ".buffer." + fqn,
                           tensor.select(0, i).contiguous());
    }
  }
  write_tensors(file, tensors);
}

std::vector<Expectation> compare_outputs(const std::filesystem::path& path, const WideModel& model,
                                         const std::vector<ModelOutput>& outputs, const Graph& graph,
                                         std::optional<double> rtol, std::optional<double> atol) {
  const auto file = formats::Safetensors::read(path);
  std::vector<Expectation> results;
  const auto precisions = user_precisions(graph);
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto& member = model.member_list()[static_cast<std::size_t>(i)].name;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const auto got = value_of(outputs[k], i);
      if (!got.defined()) continue;
      const auto rest = ".output." + std::to_string(k);
      const auto* entry = find(file, member, rest);
      if (!entry && outputs[k].constant) continue;  // a number that the file need not hold
      if (!entry) throw Error("expect", path.string() + ": lacks '" + member + rest + "'");
      const auto expected = to_tensor(*entry);
      auto bound = tolerance(precisions[k], magnitude(expected));
      if (rtol) bound.relative = *rtol;
      if (rtol || atol) bound.absolute = atol.value_or(0), bound.by_size = false;
      results.push_back({member, k, compare(got, expected, bound), bound, describe(precisions[k])});
    }
    const auto more = ".output." + std::to_string(outputs.size());
    if (find(file, member, more))
      throw Error("expect", path.string() + ": has '" + member + more + "', and the model has " +
                                std::to_string(outputs.size()) + " outputs; name the file of this model");
  }
  return results;
}

std::vector<std::string> members_only_expected(const std::filesystem::path& path, const WideModel& model) {
  std::set<std::string> known;
  for (const auto& member : model.member_list()) known.insert({member.name, key_name(member.name)});
  std::vector<std::string> names;
  const auto file = formats::Safetensors::read(path);
  for (const auto& entry : file.entries()) {
    const auto mark = entry.name.rfind(".output.");
    if (mark == std::string::npos) continue;
    if (auto name = entry.name.substr(0, mark); known.insert(name).second) names.push_back(std::move(name));
  }
  return names;
}

ProofCheck check_expected(const std::filesystem::path& file, WideModel& model,
                          std::span<const ModelInput> inputs) {
  model.reset();
  const auto outputs = model.forward(inputs);
  ProofCheck check{.what = "expected outputs", .text = "there are none"};
  for (const auto& one : compare_outputs(file, model, outputs, model.build(inputs).canonical, {}, {})) {
    const auto& difference = one.difference;
    const bool worse = !difference.agrees && check.passed;
    if (worse || check.member.empty() ||
        (difference.agrees == check.passed && !(difference.max_abs <= check.max_abs))) {
      check.member = one.member;
      check.max_abs = difference.max_abs, check.tolerance = difference.allowed;
      check.text = "member " + one.member + ", output " + std::to_string(one.output) + ", " +
                   difference.text + "; bound by " + one.precision;
    }
    check.max_rel =
        std::isnan(difference.max_rel) ? difference.max_rel : std::max(check.max_rel, difference.max_rel);
    check.passed = check.passed && difference.agrees;
  }
  check.passed = check.passed && !check.member.empty();
  model.reset();
  return check;
}

}  // namespace wide::app
