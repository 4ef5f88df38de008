#include "app/plan_file.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>

#include "formats/document.h"
#include "formats/fault.h"
#include "formats/file.h"

namespace wide::app {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::uintmax_t kLargest = 256 << 20;

json layouts_json(const std::vector<Layout>& layouts) {
  auto list = json::array();
  for (const auto layout : layouts) list.push_back(name(layout));
  return list;
}

json nodes_json(const std::vector<NodeChoice>& nodes) {
  auto list = json::array();
  for (const auto& node : nodes) {
    list.push_back({{"value", node.value},
                    {"strategy", node.strategy},
                    {"operands", layouts_json(node.operands)},
                    {"results", layouts_json(node.results)}});
  }
  return list;
}

// The reader knows no path of its own: errors name the file and the key.
class Reader {
 public:
  explicit Reader(std::string_view where) : where_(where) {}

  const json& get(const json& from, const char* key, json::value_t type) const {
    const auto found = from.is_object() ? from.find(key) : from.end();
    if (found == from.end() ||
        (found->type() != type && !(type == json::value_t::number_integer && found->is_number_integer())))
      throw Error("plan", fmt::format("{}: \"{}\" is missing or of the wrong kind; save the plan anew with "
                                      "`widebench plan -o FILE`",
                                      where_, key));
    return *found;
  }
  std::int64_t integer(const json& from, const char* key, std::int64_t least, std::int64_t most) const {
    const auto value = get(from, key, json::value_t::number_integer).get<std::int64_t>();
    if (value < least || value > most)
      throw Error("plan", fmt::format("{}: \"{}\" is {}, not in {}…{}", where_, key, value, least, most));
    return value;
  }
  std::string text(const json& from, const char* key) const {
    return get(from, key, json::value_t::string).get<std::string>();
  }
  std::vector<Layout> layouts(const json& from, const char* key) const {
    std::vector<Layout> list;
    for (const auto& item : get(from, key, json::value_t::array)) {
      const auto layout = item.is_string() ? find_layout(item.get<std::string>()) : std::nullopt;
      if (!layout)
        throw Error("plan", fmt::format("{}: {} is no layout", where_, formats::quote(item.dump())));
      list.push_back(*layout);
    }
    return list;
  }
  std::vector<NodeChoice> nodes(const json& from, const char* key) const {
    std::vector<NodeChoice> list;
    for (const auto& item : get(from, key, json::value_t::array)) {
      list.push_back(
          {text(item, "value"), text(item, "strategy"), layouts(item, "operands"), layouts(item, "results")});
    }
    return list;
  }

 private:
  std::string where_;
};

}  // namespace

json to_json(const StoredPlan& plan) {
  json schedule;
  Schedule::each(plan.schedule, [&](const char* name, auto number, int, int) { schedule[name] = number; });
  return {{"schema_version", kVersion},
          {"members", plan.members},
          {"schedule", std::move(schedule)},
          {"nodes", nodes_json(plan.nodes)},
          {"rest", nodes_json(plan.rest)}};
}

StoredPlan plan_from_json(const json& document, std::string_view where) {
  constexpr std::int64_t kMost = 1 << 20;
  const Reader in(where);
  if (const auto version = in.integer(document, "schema_version", 1, INT32_MAX); version != kVersion) {
    throw Error("plan", fmt::format("{}: a plan of version {}, this program reads {}; make a new plan", where,
                                    version, kVersion));
  }
  StoredPlan plan;
  plan.members = in.integer(document, "members", 1, kMost);
  const auto& schedule = in.get(document, "schedule", json::value_t::object);
  Schedule::each(plan.schedule, [&](const char* name, auto& number, int least, int most) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(in.integer(schedule, name, least, most));
  });
  plan.nodes = in.nodes(document, "nodes");
  plan.rest = in.nodes(document, "rest");
  return plan;
}

StoredPlan read_plan(const std::filesystem::path& file) {
  const auto name = formats::display_name(file);
  const auto document = formats::naming_file("plan", name, [&] {
    std::error_code failed;
    if (std::filesystem::file_size(file, failed) > kLargest && !failed)
      throw formats::Fault("too large to be a plan");
    const auto bytes = formats::read_file(file);
    return formats::parse_document({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  return plan_from_json(document, name);
}

void write_plan(const std::filesystem::path& file, const StoredPlan& plan) {
  const auto text = to_json(plan).dump(1) + "\n";
  formats::naming_file("plan", formats::display_name(file),
                       [&] { formats::replace_file(file, std::array{std::as_bytes(std::span(text))}); });
}

}  // namespace wide::app
