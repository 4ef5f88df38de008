#include "support.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <ranges>
#include <sstream>

#include "formats/error.h"
#include "formats/exported_program.h"
#include "formats/safetensors.h"

namespace wide::formats::test {
namespace {

void check_message(const Error& error, std::string_view file) {
  const std::string message = error.what();
  EXPECT_EQ(error.stage(), "load");
  EXPECT_EQ(message.rfind(file, 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 1000u) << message;
}

}  // namespace

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> roots = {WIDE_CORPUS_DIR};
  if (const char* more = std::getenv("WIDEBENCH_CORPUS")) {
    std::istringstream stream(more);
    for (std::string root; std::getline(stream, root, ':');)
      if (!root.empty()) roots.push_back(root);
  }
  std::map<std::string, std::filesystem::path> folders;  // a model that stands in several corpora once
  for (const auto& root : roots)
    for (const auto& entry : std::filesystem::directory_iterator(root))
      if (std::filesystem::exists(entry.path() / "model.pt2"))
        folders.emplace(entry.path().filename(), entry.path());
  const auto paths = std::views::values(folders);
  return {paths.begin(), paths.end()};
}

std::filesystem::path model_folder(std::string_view name) {
  return std::filesystem::path(WIDE_CORPUS_DIR) / name;
}

std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string with_member(std::string_view model, std::string_view suffix,
                        const std::function<void(std::string&)>& change) {
  auto parts = unzip(slurp(model_folder(model) / "model.pt2"));
  const auto part = std::ranges::find_if(parts, [&](const ZipPart& p) { return p.name.ends_with(suffix); });
  if (part == parts.end()) throw std::runtime_error("no such member");
  change(part->bytes);
  return zip(parts);
}

std::string with_json(std::string_view model, std::string_view suffix,
                      const std::function<void(EditableJson&)>& change) {
  return with_member(model, suffix, [&](std::string& text) {
    EditableJson json = EditableJson::parse(text);
    change(json);
    text = json.dump();
  });
}

std::string refusal(std::string_view archive) {
  try {
    parse_exported_program(bytes_of(archive), "m.pt2");
    return "";
  } catch (const Error& error) {
    check_message(error, "m.pt2: ");
    return error.what();
  }
}

std::string safetensors_refusal(std::string_view file) {
  try {
    Safetensors::parse(bytes_of(file), "w.safetensors");
    return "";
  } catch (const Error& error) {
    check_message(error, "w.safetensors: ");
    return error.what();
  }
}

}  // namespace wide::formats::test
