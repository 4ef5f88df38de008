#include "core/bundle/plan_file.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <type_traits>

#include "core/bundle/reader.h"
#include "formats/document.h"
#include "formats/fault.h"
#include "formats/file.h"

namespace wide {
namespace {

using nlohmann::json;

constexpr int kPlanVersion = 1;
constexpr std::uintmax_t kLargestPlan = 256 << 20;

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

std::vector<Layout> layouts(const Reader& in, const json& from, const char* key) {
  std::vector<Layout> list;
  for (const auto& item : in.get(from, key, json::value_t::array)) {
    const auto layout = item.is_string() ? find_layout(item.get<std::string>()) : std::nullopt;
    if (!layout) in.fail(formats::quote(item.dump()) + " is no layout");
    list.push_back(*layout);
  }
  return list;
}

std::vector<NodeChoice> nodes(const Reader& in, const json& from, const char* key) {
  std::vector<NodeChoice> list;
  for (const auto& item : in.get(from, key, json::value_t::array)) {
    list.push_back({in.text(item, "value"), in.text(item, "strategy"), layouts(in, item, "operands"),
                    layouts(in, item, "results")});
  }
  return list;
}

}  // namespace

json to_json(const StoredPlan& plan) {
  json schedule;
  Schedule::each(plan.schedule, [&](const char* name, auto number, int, int) { schedule[name] = number; });
  return {{"schema_version", kPlanVersion},
          {"members", plan.members},
          {"schedule", std::move(schedule)},
          {"nodes", nodes_json(plan.nodes)},
          {"rest", nodes_json(plan.rest)}};
}

StoredPlan plan_from_json(const json& document, std::string_view where) {
  constexpr std::int64_t kMost = 1 << 20;
  const Reader in("plan", where, "save the plan anew with `widebench plan -o FILE`");
  in.check_version(document, kPlanVersion);
  StoredPlan plan;
  plan.members = in.integer(document, "members", 1, kMost);
  const auto& schedule = in.get(document, "schedule", json::value_t::object);
  Schedule::each(plan.schedule, [&](const char* name, auto& number, int least, int most) {
    number = static_cast<std::remove_reference_t<decltype(number)>>(in.integer(schedule, name, least, most));
  });
  plan.nodes = nodes(in, document, "nodes");
  plan.rest = nodes(in, document, "rest");
  return plan;
}

StoredPlan read_plan(const std::filesystem::path& file) {
  const auto name = formats::display_name(file);
  const auto document = formats::naming_file("plan", name, [&] {
    std::error_code failed;
    if (std::filesystem::file_size(file, failed) > kLargestPlan && !failed)
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

}  // namespace wide
