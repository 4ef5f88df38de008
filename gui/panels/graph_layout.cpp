#include "gui/panels/graph_layout.h"

#include <algorithm>
#include <limits>
#include <map>

namespace wide::gui {
namespace {

// The outermost folded module that holds it; empty: none.
std::string box_of_module(const std::string& module, const std::set<std::string>& folded) {
  std::string best;
  for (const auto& path : folded) {
    if (lies_in(module, path) && (best.empty() || path.size() < best.size())) best = path;
  }
  return best;
}

// Longest way from an input. Boxes are in the order of their first node; a link back (a folded module that is
// left and entered again) does not count.
void set_layers(GraphPicture& picture) {
  auto links = picture.links;
  std::sort(links.begin(), links.end());
  for (const auto& [from, to] : links) {
    if (from < to) picture.boxes[to].layer = std::max(picture.boxes[to].layer, picture.boxes[from].layer + 1);
  }
  // Inputs stand right before who reads them first.
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    if (!picture.boxes[i].nodes.empty()) continue;
    int first = -1;
    for (const auto& [from, to] : links) {
      if (from == i && (first < 0 || picture.boxes[to].layer < first)) first = picture.boxes[to].layer;
    }
    picture.boxes[i].layer = std::max(0, first - 1);
  }
}

// A link over several layers takes a place in each, as if a box stood there, so that it is seen beside the
// others. Gives the places: layers beyond those of picture.boxes, and for every place what is before it.
struct Places {
  std::vector<int> layer;
  std::vector<double> row;
  std::vector<std::vector<std::size_t>> before;
};

Places places_of(const GraphPicture& picture) {
  Places places;
  for (const auto& box : picture.boxes) places.layer.push_back(box.layer);
  places.before.resize(places.layer.size());
  std::map<std::pair<std::size_t, int>, std::size_t> passing;  // one place for all links of a box
  for (const auto& [from, to] : picture.links) {
    auto last = from;
    for (int layer = picture.boxes[from].layer + 1; layer < picture.boxes[to].layer; ++layer) {
      const auto [found, added] = passing.emplace(std::pair(from, layer), places.layer.size());
      if (added) {
        places.layer.push_back(layer);
        places.before.push_back({last});
      }
      last = found->second;
    }
    places.before[to].push_back(last);
  }
  places.row.resize(places.layer.size(), 0);
  return places;
}

// Within a layer: near the middle of what is read from the layers before.
void set_rows(GraphPicture& picture) {
  auto places = places_of(picture);
  std::map<int, std::vector<std::size_t>> layers;
  for (std::size_t i = 0; i < places.layer.size(); ++i) layers[places.layer[i]].push_back(i);
  for (auto& [layer, members] : layers) {
    std::vector<std::pair<double, std::size_t>> wanted;
    for (const auto i : members) {
      double sum = 0;
      int count = 0;
      for (const auto from : places.before[i]) {
        if (places.layer[from] < layer) sum += places.row[from], ++count;
      }
      wanted.emplace_back(count > 0 ? sum / count : 0, i);
    }
    std::stable_sort(wanted.begin(), wanted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double middle = 0;
    for (const auto& [row, i] : wanted) middle += row / static_cast<double>(wanted.size());
    const double top = middle - static_cast<double>(wanted.size() - 1) / 2;
    for (std::size_t k = 0; k < wanted.size(); ++k)
      places.row[wanted[k].second] = top + static_cast<double>(k);
  }
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) picture.boxes[i].row = places.row[i];
}

}  // namespace

bool lies_in(const std::string& module, const std::string& outer) {
  return module == outer ||
         (module.size() > outer.size() && module.starts_with(outer) && module[outer.size()] == '.');
}

GraphPicture picture_of(const ModelView& model, const std::set<std::string>& folded, bool constants) {
  GraphPicture picture;
  std::map<std::string, std::size_t> boxes;
  const auto box = [&](const std::string& key, const std::string& module) {
    const auto [found, added] = boxes.emplace(key, picture.boxes.size());
    if (added) picture.boxes.push_back({key, module, {}, 0, 0, 0, 0});
    return found->second;
  };
  const auto left_out = [&](const NodeView& node) { return !constants && node.strategy == "constant"; };
  for (const auto& node : model.graph) {
    if (left_out(node)) continue;
    for (const auto& input : node.inputs) box("input " + input, "");
  }
  constexpr auto kNowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> home(model.graph.size(), kNowhere);
  std::set<std::pair<std::size_t, std::size_t>> links;
  for (std::size_t i = 0; i < model.graph.size(); ++i) {
    const auto& node = model.graph[i];
    if (left_out(node)) continue;
    const auto module = box_of_module(node.module, folded);
    home[i] = box(module.empty() ? "%" + node.name : "module " + module, module);
    picture.boxes[home[i]].nodes.push_back(i);
    for (const auto from : node.reads) {
      if (from < i && home[from] != kNowhere && home[from] != home[i]) links.emplace(home[from], home[i]);
    }
    for (const auto& input : node.inputs) links.emplace(boxes.at("input " + input), home[i]);
  }
  picture.links.assign(links.begin(), links.end());
  set_layers(picture);
  set_rows(picture);
  return picture;
}

void wrap(GraphPicture& picture, double wide, double high) {
  constexpr double kReadable = 0.7, kBetween = 0.6;  // of full size; between two lines, in boxes
  int layers = 0;
  for (const auto& box : picture.boxes) layers = std::max(layers, box.layer + 1);
  struct Line {
    double low = std::numeric_limits<double>::infinity(), top = -low;
    void take(const Line& other) { low = std::min(low, other.low), top = std::max(top, other.top); }
  };
  std::vector<Line> rows(static_cast<std::size_t>(layers));  // every layer holds a box
  for (const auto& box : picture.boxes) rows[static_cast<std::size_t>(box.layer)].take({box.row, box.row});
  const auto lines_of = [&](int columns) {
    std::vector<Line> lines(static_cast<std::size_t>((layers + columns - 1) / columns));
    for (int layer = 0; layer < layers; ++layer)
      lines[static_cast<std::size_t>(layer / columns)].take(rows[static_cast<std::size_t>(layer)]);
    std::erase_if(lines, [](const Line& line) { return line.low > line.top; });
    return lines;
  };
  const auto size_of = [&](int columns) {
    double height = 0;
    for (const auto& line : lines_of(columns)) height += line.top - line.low + 1 + kBetween;
    return std::min(wide / columns, high / height);
  };
  int best = std::max(1, layers);
  double largest = layers > 0 ? size_of(best) : 1;
  if (largest < kReadable) {
    for (int columns = layers - 1; columns >= 1; --columns) {
      const double size = size_of(columns);
      if (size > largest * 1.05) largest = size, best = columns;
    }
  }
  std::vector<double> middle;
  double down = 0;
  for (const auto& line : lines_of(best)) {
    middle.push_back(down - line.low);
    down += line.top - line.low + 1 + kBetween;
  }
  for (auto& box : picture.boxes) {
    box.x = box.layer % best;
    box.y = box.row + middle[static_cast<std::size_t>(box.layer / best)];
  }
}

int module_levels(const ModelView& model) {
  std::ptrdiff_t most = 0;
  for (const auto& path : modules_of(model))
    most = std::max(most, std::count(path.begin(), path.end(), '.') + 1);
  return static_cast<int>(most);
}

std::set<std::string> fold_to(const ModelView& model, int level) {
  std::set<std::string> folded;
  for (const auto& path : modules_of(model)) {
    if (std::count(path.begin(), path.end(), '.') == level) folded.insert(path);
  }
  return folded;
}

void unfold_once(const ModelView& model, std::set<std::string>& folded, const std::string& path) {
  folded.erase(path);
  std::string last;  // the child that was folded last: what lies in it is not the module's own
  for (const auto& inner : modules_of(model)) {
    if (inner == path || !lies_in(inner, path) || (!last.empty() && lies_in(inner, last))) continue;
    folded.insert(last = inner);
  }
}

bool fold_around(const ModelView& model, std::set<std::string>& folded, const std::string& module) {
  std::string best;
  for (const auto& path : modules_of(model)) {
    if (lies_in(module, path) && path.size() > best.size()) best = path;
  }
  if (best.empty()) return false;
  std::erase_if(folded, [&](const std::string& inner) { return lies_in(inner, best); });
  folded.insert(best);
  return true;
}

namespace {

constexpr int kFewTimes = 2;  // a residual around it, a mask before it

// A module that is left and entered again would be one box linked with all around it: it is opened by a
// level.
void open_entered_again(const ModelView& model, std::set<std::string>& folded) {
  for (;;) {
    std::map<std::string, int> entered;
    std::string last;
    for (const auto& node : model.graph) {
      if (node.strategy == "constant") continue;
      const auto box = box_of_module(node.module, folded);
      if (box != last && !box.empty()) ++entered[box];
      last = box;
    }
    const auto found =
        std::find_if(entered.begin(), entered.end(), [](const auto& one) { return one.second > kFewTimes; });
    if (found == entered.end()) return;
    unfold_once(model, folded, found->first);
  }
}

}  // namespace

std::set<std::string> fold_all(const ModelView& model) {
  constexpr std::size_t kFew = 5;
  const auto modules = modules_of(model);
  std::set<std::string> deepest;
  for (std::ptrdiff_t dots = 0;; ++dots) {
    std::set<std::string> folded;
    for (const auto& path : modules) {
      if (std::count(path.begin(), path.end(), '.') == dots) folded.insert(path);
    }
    if (folded.empty()) return deepest;
    open_entered_again(model, folded);
    if (picture_of(model, folded, false).boxes.size() >= kFew) return folded;
    deepest = std::move(folded);
  }
}

std::vector<std::string> modules_of(const ModelView& model) {
  std::map<std::string, int> count;
  for (const auto& node : model.graph) {
    auto path = node.module;
    while (!path.empty()) {
      ++count[path];
      const auto dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
    }
  }
  std::vector<std::string> paths;
  for (const auto& [path, nodes] : count) {
    if (nodes > 1) paths.push_back(path);
  }
  return paths;
}

}  // namespace wide::gui
