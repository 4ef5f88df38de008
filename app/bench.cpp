#include "app/bench.h"

#include <algorithm>
#include <filesystem>

#include "app/model_title.h"
#include "formats/error.h"

namespace wide::gui {
namespace {

namespace fs = std::filesystem;

bool is_model(const fs::path& path) {
  return path.extension() == ".pt2" || path.extension() == ".pt";
}

bool is_checkpoint(const fs::path& path) {
  const auto stem = path.stem().string();
  return path.extension() == ".safetensors" && stem != "golden" && stem != "inputs" && stem != "outputs";
}

// The files of a folder, by name; of a file, itself.
std::vector<fs::path> files_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (is_model(entry->path()) || is_checkpoint(entry->path())) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::string title(const ModelSource& source) {
  if (!source.subject.empty()) return source.subject;
  if (source.models.empty()) return {};
  return app::model_title(source.models.front());
}

std::string shell_quoted(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=,:+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  text += '\'';
  return text;
}

std::string arguments(const ModelSource& source) {
  std::string text;
  if (!source.subject.empty()) {
    text = source.subject;
    text += " -n ";
    text += std::to_string(source.copies);
    return text;
  }
  text = "--model";
  for (const auto& model : source.models) text.append(" ").append(shell_quoted(model));
  if (source.weights.empty()) {
    if (source.models.size() == 1) text.append(" -n ").append(std::to_string(source.copies));
  } else {
    text += " --weights";
    for (const auto& weights : source.weights) text.append(" ").append(shell_quoted(weights));
  }
  return text;
}

std::string arguments(const BuildWish& wish) {
  std::string text;
  if (wish.all != "auto") text.append(" -s ").append(wish.all);
  for (const auto* choices : {&wish.by_kind, &wish.by_value}) {
    for (const auto& [what, strategy] : *choices) {
      std::string choice = what;
      choice.append("=").append(strategy);
      text.append(" -s ").append(shell_quoted(choice));
    }
  }
  if (wish.mode != "eager") text.append(" --mode ").append(wish.mode);
  return text;
}

std::string strategy_word(const BuildWish& wish) {
  std::string text = wish.all;
  for (const auto* choices : {&wish.by_kind, &wish.by_value}) {
    for (const auto& [what, strategy] : *choices) text.append("+").append(what).append("=").append(strategy);
  }
  return text.starts_with("auto+") ? text.substr(5) : text;
}

ModelSource source_of(const std::vector<std::string>& paths, const ModelSource& open) {
  ModelSource source;
  for (const auto& path : paths) {
    for (const auto& file : files_of(path)) {
      if (is_model(file)) {
        source.models.push_back(file.string());
      } else if (is_checkpoint(file)) {
        source.weights.push_back(file.string());
      } else {
        throw Error(
            "load",
            file.string() +
                " is neither a model (.pt2) nor a checkpoint (.safetensors); open an exported model, or "
                "the folder that holds one");
      }
    }
  }
  if (source.models.empty()) {
    if (source.weights.empty() || open.models.empty()) {
      throw Error("load",
                  "there is no exported model (.pt2) among these; open one first, then its checkpoints "
                  "(.safetensors)");
    }
    source.models = open.models;
    auto weights = open.weights;
    for (auto& file : source.weights) {
      if (std::find(weights.begin(), weights.end(), file) == weights.end())
        weights.push_back(std::move(file));
    }
    source.weights = std::move(weights);
  }
  source.copies = open.copies;
  return source;
}

std::string source_of_kernel(const std::string& call) {
  for (const auto& [name, file] : {std::pair{"wide::scale_shift", "rows"},
                                   {"wide::normalize_rows", "rows"},
                                   {"wide::small_gemm", "small_gemm"},
                                   {"wide::packed_gemm", "packed_gemm"},
                                   {"wide::activation", "activate"},
                                   {"wide::col2im", "col2im"}}) {
    if (call == name) return std::string("primitives/kernels/").append(file).append(".cpp");
  }
  return "";
}

const NodeView* ModelView::find(const std::string& node) const {
  const auto found =
      std::find_if(graph.begin(), graph.end(), [&](const NodeView& one) { return one.name == node; });
  return found == graph.end() ? nullptr : &*found;
}

double ModelView::weights_for(std::int64_t n) const {
  const auto have = static_cast<double>(std::max<std::size_t>(members.size(), 1));
  const auto one = static_cast<double>(member_bytes);
  if (members.size() < 2) return one * static_cast<double>(n);
  // kept = common + have * own, and one member alone = common + own.
  const double own = std::max(0.0, (static_cast<double>(kept_bytes) - one) / (have - 1));
  return std::max(0.0, one - own) + own * static_cast<double>(n);
}

}  // namespace wide::gui
