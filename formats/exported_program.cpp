#include "formats/exported_program.h"

#include <algorithm>
#include <set>

#include "formats/archive.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr std::uint64_t kEnoughToName = 4096;  // bytes that are read of what is no archive, to say what it is
constexpr std::int64_t kSchemaMajor = 8, kNewestMinor = 20;

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The folder that all members lie in, with its "/".
std::string root_of(const Archive& archive) {
  std::string root;
  for (const auto& [name, member] : archive.members()) {
    const auto slash = name.find('/');
    const std::string folder = name.substr(0, slash == name.npos ? 0 : slash + 1);
    if (root.empty()) root = folder;
    if (folder.empty() || folder != root)
      throw Fault("member " + quote(name) +
                  " is not in one root folder with the others; export the model again");
  }
  return root;
}

void check_marker(const Archive& archive, const std::string& name, std::string_view wanted, bool required) {
  if (!required && !archive.has(name)) return;
  const auto bytes = archive.read(name);
  std::string_view text = text_of(bytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text != wanted)
    throw Fault(name + ": is " + quote(text) + " where only '" + std::string(wanted) +
                "' is supported; re-save the model with torch >= 2.11 on a common machine");
}

std::string model_name(const Archive& archive, const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& [name, member] : archive.members())
    if (name.starts_with(folder) && name.ends_with(".json") && name.find('/', folder.size()) == name.npos)
      names.push_back(name.substr(folder.size(), name.size() - folder.size() - 5));
  if (names.size() == 1) return names[0];
  if (std::ranges::find(names, "model") != names.end()) return "model";
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + quote(name);
  throw Fault("holds " + std::to_string(names.size()) + " programs, none named 'model' (" + list +
              "); export one model per file");
}

void parse_versions(const Json& json, ExportedProgram& program, ProgramParsing& parsing) {
  const Json& version = member(json, "schema_version");
  const auto major = as_integer(member(version, "major"), "major"),
             minor = as_integer(member(version, "minor"), "minor");
  const Json* torch = optional_member(json, "torch_version");
  program.torch_version = torch ? as_text(*torch, "torch_version") : "<=2.4";
  parsing.versions = "schema " + std::to_string(major) + "." + std::to_string(minor) + " of torch " +
                     quote(program.torch_version);
  if (major != kSchemaMajor)
    throw Fault(parsing.versions +
                " is not supported, only schema 8.x; re-save the model with torch 2.11 to 2.15");
  if (minor < 0 || minor > 1'000'000)
    throw Fault(parsing.versions + " is no version; export the model again");
  program.schema_major = static_cast<int>(major);
  program.schema_minor = static_cast<int>(minor);
  if (minor > kNewestMinor)
    program.warnings.push_back(parsing.versions + " is newer than the known 8." +
                               std::to_string(kNewestMinor));
}

std::map<std::string, Range> parse_ranges(const Json& json) {
  std::map<std::string, Range> ranges;
  const auto is_bound = [](const Json* bound) { return bound && !is_beyond_integers(*bound); };
  for (const auto& [symbol, bounds] : as_object(json, "range_constraints")) {
    Range range;
    const Json *min = optional_member(bounds, "min_val"), *max = optional_member(bounds, "max_val");
    if (is_bound(min)) range.min = as_integer(*min, "min_val");
    if (is_bound(max)) range.max = as_integer(*max, "max_val");
    if (range.min && range.max && *range.min > *range.max)
      throw Fault("range of " + quote(symbol) + " is empty; export the model again");
    ranges.emplace(symbol, range);
  }
  return ranges;
}

/// What the graph writes must be something that it was given.
void check_written(const ExportedProgram& program) {
  using Kind = InputSpec::Kind;
  for (const auto& output : program.outputs) {
    if (output.kind != OutputSpec::Kind::kBufferMutation) continue;
    const bool given = std::ranges::any_of(program.inputs, [&](const InputSpec& input) {
      return input.kind != Kind::kUserInput && input.kind != Kind::kConstantInput &&
             input.target == output.target;
    });
    if (!given)
      throw Fault("the graph writes " + quote(output.target) +
                  ", which is no parameter or buffer among its inputs; export the model again");
  }
}

void parse_program(const Json& json, ExportedProgram& program, ProgramParsing& parsing) {
  parse_versions(json, program, parsing);
  const Json& module = member(json, "graph_module");
  program.graph = parse_graph(member(module, "graph"), parsing, 0);
  const Json& signature = member(module, "signature");
  program.inputs = parse_input_specs(signature, program.graph, parsing);
  program.outputs = parse_output_specs(signature, program.graph, parsing);
  take_out_tokens(program);
  check_written(program);
  program.ranges = parse_ranges(member(json, "range_constraints"));
  parse_guards(json, program);
  const auto user_outputs =
      std::ranges::count(program.outputs, OutputSpec::Kind::kUserOutput, &OutputSpec::kind);
  try {
    program.output_names = parse_output_names(module, static_cast<std::size_t>(user_outputs));
  } catch (const Fault& fault) {  // names are a convenience: without them the outputs are numbered
    program.warnings.push_back(std::string("outputs have no names: ") + fault.what());
  }
}

/// A parameter or buffer, as stored, must be what the graph says of it.
void check_stored(const ExportedProgram& program, const InputSpec& spec) {
  auto found = program.weights.find(spec.target);
  if (found == program.weights.end()) {
    found = program.constants.find(spec.target);
    if (found == program.constants.end())
      throw Fault("tensor " + quote(spec.target) +
                  " is named in the signature but not stored; export the model again");
  }
  const StoredTensor& stored = found->second;
  const TensorMeta& meta = program.graph.tensors.at(std::get<TensorName>(spec.argument.value).name);
  const bool same_sizes =
      std::ranges::equal(stored.sizes, meta.sizes, [](std::int64_t size, const SymbolicInt& other) {
        const auto* number = std::get_if<std::int64_t>(&other);
        return !number || *number == size;
      });
  if (stored.dtype != meta.dtype || !same_sizes)
    throw Fault(
        "tensor " + quote(spec.target) + " is stored with another shape or type than the graph has for it (" +
        std::string(name(stored.dtype)) + ", " + std::string(name(meta.dtype)) + "); export the model again");
}

void read_tensors(const Archive& archive, const std::string& root, const std::string& model,
                  ExportedProgram& program, const ProgramParsing& parsing) {
  program.weights =
      read_stored_tensors(archive, root + "data/weights/", model + "_weights_config.json", parsing);
  const std::string constants = root + "data/constants/", config = model + "_constants_config.json";
  if (archive.has(constants + config))
    program.constants = read_stored_tensors(archive, constants, config, parsing);
  for (const auto& spec : program.inputs)
    if (spec.kind != InputSpec::Kind::kUserInput && spec.kind != InputSpec::Kind::kConstantInput)
      check_stored(program, spec);
}

/// Every member, also those that nothing reads: a damaged file is refused as a whole.
void verify_members(const Archive& archive, ExportedProgram& program) {
  std::size_t unverified = 0;
  for (const auto& [name, member] : archive.members()) {
    archive.verify(name);
    unverified += Archive::unverified(member);
  }
  if (unverified > 0)
    program.warnings.push_back(std::to_string(unverified) +
                               (unverified == 1 ? " member has" : " members have") +
                               " no checksum: damage goes unseen");
}

ExportedProgram parse(std::vector<std::byte> file) {
  refuse_other_kinds(file);
  const Archive archive(std::move(file));
  const std::string root = root_of(archive);
  ExportedProgram program;
  verify_members(archive, program);
  check_marker(archive, root + "archive_format", "pt2", true);
  check_marker(archive, root + "archive_version", "0", true);
  check_marker(archive, root + "byteorder", "little", false);
  const std::string model = model_name(archive, root + "models/");
  const std::string place = root + "models/" + model + ".json";
  ProgramParsing parsing;
  const auto bytes = archive.read(place);
  within([&] { return quote(place); }, [&] { parse_program(parse_json(text_of(bytes)), program, parsing); });
  read_tensors(archive, root, model, program, parsing);
  read_samples(archive, root + "data/sample_inputs/" + model + ".pt", program);
  return program;
}

}  // namespace

ExportedProgram read_exported_program(const std::filesystem::path& path) {
  return naming_file("load", display_name(path), [&] {
    const OpenFile file(path);
    auto first = file.read(0, std::min(kEnoughToName, file.size()));
    const bool is_zip = text_of(first).starts_with("PK");
    return parse(is_zip ? file.read(0, file.size()) : std::move(first));
  });
}

ExportedProgram parse_exported_program(std::vector<std::byte> file, std::string_view name) {
  return naming_file("load", name, [&] { return parse(std::move(file)); });
}

}  // namespace wide::formats
