#include "core/frontend/members.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "core/aten/torch_bridge.h"
#include "core/frontend/capture.h"
#include "core/frontend/torchscript.h"
#include "core/ir/text.h"
#include "formats/error.h"
#include "formats/exported_program.h"
#include "formats/packed.h"
#include "formats/safetensors.h"

namespace wide {
namespace {

namespace fs = std::filesystem;

std::string describe(const at::Tensor& tensor) {
  return dtype_name(tensor.scalar_type()) + shape_text(tensor.sizes());
}

std::string place(const void* storage, std::int64_t offset, at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::ostringstream text;
  text << storage << '+' << offset << sizes << strides;
  return text.str();
}

// A model file: its graph, and the tensors that come with it.
struct Source {
  fs::path file;
  Graph graph;
  std::map<std::string, at::Tensor> tensors;  ///< parameters, buffers and constants by fqn
  std::set<std::string> weights;              ///< what a state dict may hold; constants it does not
  std::map<std::string, std::string> places;  ///< equal for weights that are one tensor under several names
  bool buffers_optional = false;              ///< the file does not say which buffers a state dict leaves out
  std::vector<std::string> warnings;
};

// capture() knows the node; the user also wants the file.
Graph capture_file(const formats::ExportedProgram& program, const fs::path& file) {
  try {
    return capture(program, file.stem().string());
  } catch (const Error& error) {
    throw Error(error.stage(), file.string() + ": " + error.what());
  }
}

Source read_program(const fs::path& file) {
  const auto program = formats::read_exported_program(file);
  Source source{file, capture_file(program, file), {}, {}, {}, false, {}};
  for (const auto& warning : program.warnings) source.warnings.push_back(file.string() + ": " + warning);
  for (const auto& [fqn, stored] : program.weights) {
    source.tensors.emplace(fqn, to_tensor(stored));
    source.weights.insert(fqn);
    source.places[fqn] = place(stored.storage.get(), stored.storage_offset, stored.sizes, stored.strides);
  }
  for (const auto& [fqn, stored] : program.constants) source.tensors.emplace(fqn, to_tensor(stored));
  return source;
}

Source read_torchscript(const fs::path& file, const LoadOptions& options) {
  if (!options.trust) {
    throw Error("load", file.string() +
                            ": is TorchScript, which is executable code; pass --trust if you trust where "
                            "it comes from, or export the model with torch.export");
  }
  Source source;
  source.file = file;
  source.graph = capture_torchscript(file, file.stem().string(), source.tensors);
  source.buffers_optional = true;
  std::set<std::string> constants;
  for (const auto& input : source.graph.inputs) {
    if (input.kind == InputKind::kConstant) constants.insert(input.target);
  }
  for (const auto& [fqn, tensor] : source.tensors) {
    if (constants.contains(fqn)) continue;
    source.weights.insert(fqn);
    if (tensor.numel() > 0)
      source.places[fqn] = place(tensor.const_data_ptr(), 0, tensor.sizes(), tensor.strides());
  }
  return source;
}

Source read_source(const fs::path& file, const LoadOptions& options) {
  std::error_code failed;
  if (fs::is_directory(file, failed)) {
    throw Error("load",
                file.string() +
                    ": is a directory without bundle.json; give a model's .pt2 file, or a folder that "
                    "`widebench bundle` wrote");
  }
  return is_torchscript(file) ? read_torchscript(file, options) : read_program(file);
}

std::string some_of(const std::set<std::string>& names) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& name : names) {
    if (shown == 3) return text + " and " + std::to_string(names.size() - shown) + " more";
    text.append(shown++ ? ", '" : "'").append(name).append("'");
  }
  return text;
}

using Entries = std::vector<formats::SafetensorsEntry>;

// The tensors of a checkpoint, checked against the program's own.
class CheckpointReader {
 public:
  explicit CheckpointReader(const Source& source) : source_(source) {
    for (const auto& input : source.graph.inputs) {
      if (input.kind == InputKind::kParameter) wanted_.insert(input.target);
      if (input.kind == InputKind::kBuffer && input.persistent) wanted_.insert(input.target);
      if (input.kind == InputKind::kBuffer && source.buffers_optional) optional_.insert(input.target);
    }
  }

  // `entries` are sorted by name; `file` says where they are from.
  std::map<std::string, at::Tensor> read(const std::string& file, const Entries& entries,
                                         std::vector<std::string>& warnings, SeenTensors& seen,
                                         bool packed = false) const {
    auto tensors = source_.tensors;
    std::set<std::string> missing, extra, kept;
    for (const auto& entry : entries) {
      // A state dict also holds what the graph does not use, and `widebench pack` constants that members of
      // several programs have otherwise.
      if (!source_.weights.contains(entry.name) && !wanted_.contains(entry.name) &&
          !(packed && source_.tensors.contains(entry.name))) {
        extra.insert(entry.name);
        continue;
      }
      auto tensor = to_tensor(entry, seen);
      check(file, entry.name, tensor, source_.tensors.at(entry.name));
      tensors[entry.name] = std::move(tensor);
    }
    for (const auto& name : wanted_) {
      if (has(entries, name) || fill_from_twin(entries, name, tensors)) continue;
      (optional_.contains(name) ? kept : missing).insert(name);
    }
    complain(file, missing, extra);
    if (!kept.empty()) {
      warnings.push_back(file + ": lacks the buffers " + some_of(kept) + "; those of " +
                         source_.file.string() + " are used");
    }
    return tensors;
  }

 private:
  static bool has(const Entries& entries, const std::string& name) {
    return std::ranges::binary_search(entries, name, {}, &formats::SafetensorsEntry::name);
  }
  void check(const std::string& file, const std::string& name, const at::Tensor& given,
             const at::Tensor& own) const {
    if (given.sizes() == own.sizes() && given.scalar_type() == own.scalar_type()) return;
    throw Error("load", file + ": tensor '" + name + "' is " + describe(given) + ", in " +
                            source_.file.string() + " it is " + describe(own) +
                            "; give a checkpoint of this model");
  }
  // safetensors' save_model keeps one name of a tied weight; its twins have the same value.
  bool fill_from_twin(const Entries& entries, const std::string& name,
                      std::map<std::string, at::Tensor>& tensors) const {
    const auto wanted = source_.places.find(name);
    if (wanted == source_.places.end()) return false;
    for (const auto& [twin, where] : source_.places) {
      if (twin == name || where != wanted->second || !has(entries, twin)) continue;
      tensors[name] = tensors.at(twin);
      return true;
    }
    return false;
  }
  void complain(const std::string& file, const std::set<std::string>& missing,
                const std::set<std::string>& extra) const {
    if (missing.empty() && extra.empty()) return;
    std::string text = file + ": ";
    if (!missing.empty()) text += "lacks " + some_of(missing) + ", which " + source_.file.string() + " has";
    if (!extra.empty()) {
      text += (missing.empty() ? "" : "; ") + std::string("has ") + some_of(extra) + ", which " +
              source_.file.string() + " lacks";
    }
    throw Error("load", text + "; give a checkpoint of this model");
  }

  const Source& source_;
  std::set<std::string> wanted_, optional_;
};

// Structure without the name: what members of one architecture share.
std::string structure(Graph graph) {
  graph.name.clear();
  for (auto& node : graph.nodes) node.module_path.clear();
  return print(graph);
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::size_t start = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '\n') start = i + 1;
  }
  const auto line = [&](const std::string& text) {
    return text.substr(start, text.find('\n', start) - start);
  };
  std::string text = "'";
  return text.append(line(a)).append("' against '").append(line(b)).append("'");
}

LoadedModel load_programs(const std::vector<fs::path>& models, const LoadOptions& options) {
  LoadedModel loaded;
  const auto names = member_names(models);
  std::string first;
  for (std::size_t i = 0; i < models.size(); ++i) {
    auto source = read_source(models[i], options);
    loaded.warnings.insert(loaded.warnings.end(), source.warnings.begin(), source.warnings.end());
    const auto text = structure(source.graph);
    if (i == 0) {
      first = text;
      loaded.graph = std::move(source.graph);
    } else if (text != first) {
      throw Error("load", models[i].string() + ": is another architecture than " + models[0].string() + ": " +
                              first_difference(text, first));
    }
    loaded.members.push_back({names[i], std::move(source.tensors)});
  }
  return loaded;
}

// Members of packed files have the names that they were packed with.
void check_names(const std::vector<Member>& members) {
  std::set<std::string> seen;
  for (const auto& member : members) {
    if (!seen.insert(member.name).second) {
      throw Error(
          "load",
          "two members have the name '" + member.name +
              "', one of them in a packed file; give either that file or the checkpoints that are in it, "
              "or unpack it and rename one");
    }
  }
}

bool equal_files(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  std::ifstream x(a, std::ios::binary), y(b, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return std::equal(Bytes(x), Bytes(), Bytes(y), Bytes());
}

}  // namespace

LoadedModel load(const std::vector<fs::path>& models, const std::vector<fs::path>& weights,
                 const LoadOptions& options) {
  if (models.empty()) throw Error("load", "no model given; name a .pt2 file with --model");
  if (weights.empty()) return load_programs(models, options);
  if (models.size() > 1) {
    throw Error("load",
                "several models and checkpoints: give one model with --weights, or several models alone");
  }
  const auto source = read_source(models[0], options);
  LoadedModel loaded;
  loaded.warnings = source.warnings;
  loaded.graph = source.graph;
  const CheckpointReader reader(source);
  const auto names = member_names(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto file = formats::Safetensors::read(weights[i]);
    SeenTensors seen;
    if (const auto packed = formats::Packed::of(file, weights[i].string())) {
      for (std::size_t k = 0; k < packed->members().size(); ++k) {
        const auto member = packed->member(k);
        loaded.members.push_back(
            {member.name, reader.read(member.place, member.entries, loaded.warnings, seen, true)});
      }
    } else {
      loaded.members.push_back(
          {names[i], reader.read(weights[i].string(), file.entries(), loaded.warnings, seen)});
    }
  }
  check_names(loaded.members);
  return loaded;
}

LoadedProgram load_program(std::vector<std::byte> file, const std::string& name,
                           const std::set<std::string>& given) {
  const auto program = formats::parse_exported_program(std::move(file), name);
  LoadedProgram loaded{capture_file(program, name), {}, {}};
  for (const auto& warning : program.warnings) loaded.warnings.push_back(name + ": " + warning);
  for (const auto* stored : {&program.weights, &program.constants}) {
    for (const auto& [fqn, tensor] : *stored) {
      if (!given.contains(fqn)) loaded.tensors.emplace(fqn, to_tensor(tensor));
    }
  }
  return loaded;
}

Graph load_graph(std::vector<std::byte> file, const std::string& name) {
  return capture_file(formats::parse_exported_program(std::move(file), name), name);
}

std::string architecture_difference(const Graph& a, const Graph& b) {
  const auto x = structure(a), y = structure(b);
  return x == y ? "" : first_difference(x, y);
}

std::set<std::string> tensor_names(const Graph& graph) {
  std::set<std::string> names;
  for (const auto& input : graph.inputs) {
    if (input.kind != InputKind::kUser) names.insert(input.target);
  }
  return names;
}

void check_member(const Graph& graph, const Member& member) {
  for (const auto& input : graph.inputs) {
    if (input.kind == InputKind::kUser) continue;
    const auto found = member.tensors.find(input.target);
    if (found == member.tensors.end())
      throw Error("load", "member '" + member.name + "' lacks the tensor '" + input.target +
                              "'; give members of one architecture");
    const auto& type = graph.values[static_cast<std::size_t>(input.value)].type;
    if (!type) continue;
    const auto& tensor = found->second;
    const bool same_sizes = std::ranges::equal(type->sizes, tensor.sizes(),
                                               [](const formats::SymbolicInt& size, std::int64_t own) {
                                                 const auto* number = std::get_if<std::int64_t>(&size);
                                                 return !number || *number == own;
                                               });
    if (same_sizes && tensor.scalar_type() == type->dtype) continue;
    std::string sizes;
    for (const auto& size : type->sizes) {
      const auto* number = std::get_if<std::int64_t>(&size);
      sizes += (sizes.empty() ? "" : ", ") + (number ? std::to_string(*number) : std::string("?"));
    }
    throw Error("load", "member '" + member.name + "', tensor '" + input.target + "': is " +
                            describe(tensor) + ", the model has " + dtype_name(type->dtype) + "[" + sizes +
                            "]; " + (same_sizes ? "cast it" : "give members of one architecture"));
  }
}

std::vector<std::string> member_names(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto stem = files[i].stem().string();
    std::string name = stem;
    int copies = 1;
    bool other = false;
    for (std::size_t k = 0; k < files.size(); ++k) {
      if (k == i || files[k].stem() != files[i].stem()) continue;
      if (!equal_files(files[k], files[i])) {
        other = true;
      } else if (k < i) {
        ++copies;
      }
    }
    if (other) name = fs::absolute(files[i]).parent_path().filename().string().append("/").append(stem);
    if (copies > 1) name.append("#").append(std::to_string(copies));
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error("load", files[i].string() + ": another file gives the member name '" + name +
                              "' too; rename one of them");
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace wide
