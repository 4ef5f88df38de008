#pragma once
// Real files of the corpus, and archives built byte by byte to be bad in one way.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/temporary_folder.h"
#include "zip_builder.h"

namespace wide::formats::test {

/// For building and editing; the parsers have a type of their own.
using EditableJson = nlohmann::json;

/// Folders that hold a model.pt2: those of tests/corpus, and of each folder in $WIDEBENCH_CORPUS
/// (colon-separated).
std::vector<std::filesystem::path> corpus();

/// A model of tests/corpus.
std::filesystem::path model_folder(std::string_view name);

std::string slurp(const std::filesystem::path& path);

using wide::test::TemporaryFolder;

/// The model of a corpus folder with the member whose name ends with `suffix` changed, checksums right.
std::string with_member(std::string_view model, std::string_view suffix,
                        const std::function<void(std::string&)>& change);

/// The same for a member that is JSON.
std::string with_json(std::string_view model, std::string_view suffix,
                      const std::function<void(EditableJson&)>& change);

/// The message of the wide::Error that parsing `archive` as "m.pt2" throws; empty when it parses. Fails the
/// test when the message is not one line that begins with the file.
std::string refusal(std::string_view archive);

/// The same for a safetensors file, as "w.safetensors".
std::string safetensors_refusal(std::string_view file);

}  // namespace wide::formats::test
