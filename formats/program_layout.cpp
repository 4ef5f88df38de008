// Recognises what else people give as a .pt2, to say what it is instead of what it lacks.

#include <algorithm>
#include <span>

#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool looks_like_text(std::string_view head) {
  return std::ranges::all_of(head, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
  });
}

void refuse_non_zip(std::span<const std::byte> file) {
  const std::string_view text = text_of(file);
  const std::string try_this = "; give a file written by torch.export.save";
  if (text.empty()) throw Fault("is empty" + try_this);
  if (text.starts_with("PK\3\4")) return;
  if (text.starts_with("PK\5\6")) throw Fault("is a zip archive without members" + try_this);
  if (text.size() >= 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
    throw Fault("is a pickle, which could run code, not a .pt2 archive" + try_this);
  if (text.size() > 8 && text[8] == '{')
    throw Fault("is a safetensors file, not a .pt2 archive; give it as weights");
  if (looks_like_text(text.substr(0, 512))) throw Fault("is text, not a .pt2 archive" + try_this);
  throw Fault("is not a zip archive, as every .pt2 is (damaged at its start?)" + try_this);
}

/// The part of a member's name below the root folder.
std::string_view below_root(std::string_view name) {
  const auto slash = name.find('/');
  return slash == name.npos ? name : name.substr(slash + 1);
}

bool any(const std::vector<ZipMember>& members, bool (*matches)(std::string_view)) {
  return std::ranges::any_of(members, matches, [](const ZipMember& m) { return std::string_view(m.name); });
}

bool is_old_program(std::string_view name) {
  return name == "serialized_exported_program.json" || below_root(name) == "serialized_exported_program.json";
}
bool is_pickled_weights(std::string_view name) {
  const auto below = below_root(name);
  return (below.starts_with("data/weights/") || below.starts_with("data/constants/")) &&
         below.ends_with(".pt");
}
bool is_model(std::string_view name) {
  return below_root(name).starts_with("models/") && name.ends_with(".json");
}
bool is_compiled(std::string_view name) {
  return below_root(name).starts_with("data/aotinductor/");
}
bool is_script(std::string_view name) {
  return below_root(name) == "constants.pkl" || below_root(name).starts_with("code/");
}
bool is_checkpoint(std::string_view name) {
  return below_root(name) == "data.pkl";
}

}  // namespace

void refuse_other_kinds(std::span<const std::byte> file) {
  refuse_non_zip(file);
  const auto members = read_zip_directory(file);
  if (any(members, is_old_program))
    throw Fault(
        "was saved by torch 2.7 or older, whose weights are pickles that could run code; re-save it with "
        "torch >= 2.11");
  if (any(members, is_pickled_weights))
    throw Fault(
        "holds its weights as pickles, as torch 2.8 saved them, which could run code; re-save it with torch "
        ">= 2.11");
  if (any(members, is_model)) return;
  if (any(members, is_script))
    throw Fault(
        "is a TorchScript archive, which is executable code, not a torch.export program; export the model "
        "with torch.export.save");
  if (any(members, is_checkpoint))
    throw Fault(
        "is a pickled checkpoint of torch.save, which could run code; save the weights as safetensors and "
        "the model with torch.export.save");
  if (any(members, is_compiled))
    throw Fault("is an AOTInductor package, which is compiled code; export the model with torch.export.save");
  throw Fault("holds no models/*.json; give a file written by torch.export.save of torch >= 2.11");
}

}  // namespace wide::formats
